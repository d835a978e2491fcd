/**
 * A run of the suite: gives all servers the same load in turn, scenario after scenario, round after round.
 *
 * Servers, load and suite are processes of their own. However the run ends, what was measured until then is
 * reported.
 */
import { planSuite, type SuiteOptions, suiteOptions } from '../arguments.ts';
import { type Context, defineCommand } from '../command.ts';
import { openLoad } from '../load/load.ts';
import type { Load } from '../load/order.ts';
import { canPlace, type Placement } from '../machine/places.ts';
import { measureIdle } from '../measure/idle.ts';
import { watchMoments } from '../measure/moments.ts';
import { type Contestant, measureRound } from '../measure/round.ts';
import { countSteadyUsers, measureSteady, type SteadyPlan, steadyScenarios } from '../measure/steady.ts';
import { countAcceptedVotes } from '../peers/check.ts';
import {
  measuresEmbedded,
  planSeconds,
  planTurns,
  selectLoadScenarios,
  selectPeers,
  sumUsedSeconds,
  sumWarmUpSeconds,
  usersPerConnection,
  warmUp,
} from '../plan.ts';
import { latencyOf, type Row, rateOf, serverOf } from '../report/rows.ts';
import { describeSuite, type SuiteResult } from '../report/suite.ts';
import { formatGrouped } from '../report/table.ts';
import { findScenario } from '../scenarios/all.ts';
import { createDirectory, type Directory } from '../scenarios/directory.ts';
import type { LoadScenarioName } from '../scenarios/scenario.ts';
import { startContestants } from '../servers/contestants.ts';
import { openWorld } from '../servers/world.ts';
import { runTarget } from './target.ts';

const racesAtOnce = 1_000;
const idleConnections = 10_000;
const steadyServers = ['rollcall', 'fastify-sql'];
/** Both at once, so that a quick run stays quick; `npm run bench -- load` takes turns. */
const planSteady = ({ scenarios }: SuiteOptions): SteadyPlan => ({
  scenarios: steadyScenarios.filter((name) => scenarios.includes(name)),
  ...{ rates: [50], rounds: 1, seconds: 10, lowSeconds: 12, atOnce: 'all' },
});

interface Run extends Omit<SuiteResult, 'load'> {
  readonly context: Context;
  readonly contestants: readonly Contestant[];
  readonly directory: Directory;
  readonly load: Load;
  readonly begunMs: number;
  /** The requested placements that this machine allows; `null`: it allows none. */
  readonly placements: readonly (Placement | null)[];
  betweenMs: number;
}

/* --------------------------------------------------------------- a scenario */

/** When a scenario of a run with a time limit should end. */
const computeDeadlineMs = ({ options, begunMs }: Run, name: LoadScenarioName): number => {
  if (options.secondsMax === 0) return Number.POSITIVE_INFINITY;
  const all = selectLoadScenarios(options);
  const weightOf = (one: LoadScenarioName): number =>
    planTurns(options, options.placements, { name: one, round: 1 }).length;
  const left = all.slice(all.indexOf(name)).reduce((sum, one) => sum + weightOf(one), 0);
  const nowMs = performance.now();
  return nowMs + ((begunMs + options.secondsMax * 1_000 - nowMs) * weightOf(name)) / left;
};

/**
 * Warm-up rounds, which do not count: entities are activated, sessions and profiles are read, code is
 * compiled. As many as a number of requests takes, up to a maximum for a slow server, and one only after
 * `untilMs`: then the machine is slow. They send other requests than the measured rounds, because a repeated
 * visit costs less than a new one.
 */
const warmUpServer = async (run: Run, name: LoadScenarioName, [server, untilMs]: [Contestant, number]) => {
  const { options, load, placements, context } = run;
  const kind =
    server.name === 'bare'
      ? 'bare'
      : server.stores === null || server.name === 'rollcall'
        ? 'rollcall'
        : 'peer';
  let requests = 0;
  for (let turn = 0; turn < warmUp.turnsMax[kind] && requests < warmUp.requests; turn++) {
    if (turn > 0 && performance.now() > untilMs) return;
    context.live.show(`${name}: warming up ${server.name} …`);
    const row = await measureRound(load, server, {
      ...{ scenario: name, round: 1_000 + turn, connections: options.connections, rate: 0 },
      ...{ warmupSeconds: options.warmupSeconds, measureSeconds: warmUp.seconds },
      usedSeconds: sumWarmUpSeconds(options, name, turn),
      placement: placements[0] ?? null,
    });
    requests += row.requests;
  }
};

const formatRow = (row: Row): string =>
  `  ${row.round} ${row.load.padEnd(8)} ${row.server.padEnd(17)}` +
  ` ${String(Math.round(rateOf(row))).padStart(7)} requests/s` +
  `  p99 ${latencyOf(99)(row).toFixed(1)} ms  CPU ${serverOf(row).toFixed(1)} µs`;

interface Turn {
  readonly name: LoadScenarioName;
  readonly round: number;
  readonly placement: Placement | null;
}

const measureTurn = async (run: Run, server: Contestant, turn: Turn & { measureSeconds: number }) => {
  const { options, rows, context } = run;
  const { name, round, placement, measureSeconds } = turn;
  context.live.show(`${name}, round ${round} of ${options.rounds}: ${server.name} …`);
  const begunMs = performance.now();
  const { connections, rate, warmupSeconds } = options;
  const row = await measureRound(run.load, server, {
    ...{ scenario: name, placement, connections, rate, warmupSeconds, measureSeconds },
    round: 2 * round + (placement === 'free' ? 1 : 0),
    usedSeconds: sumUsedSeconds(options, turn),
  });
  run.betweenMs += performance.now() - begunMs - (warmupSeconds + measureSeconds) * 1_000;
  rows.push({ ...row, round });
  context.live.print(formatRow({ ...row, round }));
};

const measureScenario = async (run: Run, name: LoadScenarioName): Promise<void> => {
  const { options, placements, contestants, context } = run;
  context.live.print(`${name}: ${findScenario(name).summary}`);
  const isPlanned = new Set(planTurns(options, placements, { name, round: 0 }).map(({ server }) => server));
  const untilMs = computeDeadlineMs(run, name);
  const nowMs = performance.now();
  const warmUntilMs = nowMs + (untilMs - nowMs) * warmUp.shareMax;
  for (const one of contestants)
    if (isPlanned.has(one.name as never)) await warmUpServer(run, name, [one, warmUntilMs]);
  const all = selectLoadScenarios(options);
  for (let round = 1; round <= options.rounds; round++) {
    context.live.step(all.indexOf(name) * options.rounds + round - 1, all.length * options.rounds);
    const turns = planTurns(options, placements, { name, round });
    const seconds = (untilMs - performance.now()) / 1_000;
    // Beside its measured time, a turn starts a generator and builds requests.
    const betweenSeconds = run.betweenMs / 1_000 / Math.max(1, run.rows.length);
    const measureSeconds = planSeconds(options, { round, turns: turns.length, seconds, betweenSeconds });
    if (measureSeconds === 0) return;
    for (const { server, placement } of turns) {
      const found = contestants.find((one) => one.name === server);
      if (found !== undefined) await measureTurn(run, found, { name, round, placement, measureSeconds });
    }
  }
};

/* --------------------------------------------------------------- beside them */

/** Sends a thousand simultaneous votes of one user for one bot and counts the accepted ones. */
const measureRaces = async ({ contestants, directory, notes }: Run): Promise<void> => {
  for (const { name, process } of contestants) {
    if (!['rollcall', 'fastify-redis', 'fastify-sql'].includes(name)) continue;
    const accepted = await countAcceptedVotes(process.url, directory, racesAtOnce);
    const verdict = accepted === 1 ? '' : '; one would be correct';
    const sent = `${formatGrouped(racesAtOnce)} simultaneous votes of a user for one bot`;
    notes.push(`Of ${sent}, ${name} accepted ${accepted}${verdict}.`);
  }
};

/** Measures ten thousand silent connections. Reports when the machine does not allow them. */
const measureIdleOnes = async ({ contestants, directory, notes, context }: Run): Promise<void> => {
  const path = `/bots/${directory.bots[0]?.id}`;
  for (const { name, process } of contestants.filter((one) => ['bare', 'rollcall'].includes(one.name))) {
    context.live.show(`idle: ${idleConnections} connections to ${name} …`);
    const found = await measureIdle(process, { connections: idleConnections, path }).catch(String);
    notes.push(
      typeof found === 'string'
        ? `idle: not measured (${found}); see ulimit -n`
        : `${name} with ${formatGrouped(found.connections)} idle connections: ` +
            `${formatGrouped(found.bytesPerConnection)} bytes each.`,
    );
  }
};

const measureAll = async (run: Run, steadyDirectory: Directory): Promise<void> => {
  const { options, contestants, context, steady } = run;
  const { live, stop: signal } = context;
  const ours = contestants.find(({ name }) => name === 'rollcall');
  const watching = options.quick || ours === undefined ? null : watchMoments(ours.process, run.moments);
  for (const name of selectLoadScenarios(options)) await measureScenario(run, name);
  const both = contestants.filter(({ name }) => steadyServers.includes(name));
  if (both.length === steadyServers.length) {
    live.print('50 requests a second, evenly over all bots:');
    const world = { contestants: both, directory: steadyDirectory, live, signal };
    await measureSteady(world, planSteady(options), steady);
  }
  if (options.races) await measureRaces(run);
  if (options.scenarios.includes('idle')) await measureIdleOnes(run);
  watching?.stop();
};

/** Starts all servers and measures what it can before something fails. */
const runSuite = async (options: SuiteOptions, context: Context): Promise<void> => {
  const { stores, bots, profileDir } = options;
  const users = usersPerConnection(options) * options.connections;
  const more = countSteadyUsers(planSteady(options), bots);
  const whole = createDirectory({ bots, users: users + more });
  const directory = { ...whole, users: whole.users.slice(0, users) };
  const load = openLoad(options.load, options.rate, directory);
  const found: SuiteResult = {
    ...{ options, load: load.name, rows: [], steady: [], notes: [], moments: [], problems: [] },
  };
  context.report(() => describeSuite(found));
  const peers = selectPeers(options);
  context.live.print(`Starting ${stores === 'redis' ? 'Redis, Postgres and ' : ''}the servers …`);
  const world = await openWorld({ stores, bots, directory: whole, peers: peers.length > 0, profileDir });
  const embedded = selectLoadScenarios(options).some((name) => measuresEmbedded(options, name));
  const contestants = await startContestants(world, { peers, embedded });
  context.live.print(`All ${contestants.length} do their work (bench/peers/check.ts).`);
  const placements = canPlace() ? options.placements : [null];
  const run: Run = {
    ...{ ...found, context, contestants, directory, load, placements },
    ...{ begunMs: performance.now(), betweenMs: 0 },
  };
  try {
    await measureAll(run, { ...whole, users: whole.users.slice(users) });
  } catch (error) {
    if (found.rows.length === 0) throw error;
    found.problems.push(`the rest: ${(error as Error).message}`);
  } finally {
    // Before its servers.
    await load.close();
  }
};

export const suite = defineCommand({
  name: '',
  about: `\
Measures Rollcall next to a bare uWebSockets.js server and idiomatic peers (Fastify), in turn, on this
machine, with a Redis and a Postgres of its own. Under ten minutes.`,
  options: suiteOptions,
  outUsually: ({ quick }) =>
    quick ? null : `bench/results/${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}`,
  run: async (given, context) => {
    const options = planSuite(given);
    if (options.target === null) return runSuite(options, context);
    const found: SuiteResult = {
      ...{ options, load: 'autocannon', rows: [], steady: [], notes: [], moments: [], problems: [] },
    };
    context.report(() => describeSuite(found));
    await runTarget(found, options.target, context.live);
  },
});
