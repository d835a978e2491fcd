/**
 * One bench run: starts stores and servers, gives all servers the same load in turn, round after round, and
 * ends them.
 *
 * Servers, load and suite are processes of their own. Invariant: however the run ends, it ends everything it
 * started, removes the folder, and returns what was measured until then.
 */
import type { Options } from './arguments.ts';
import { openLoad } from './load/load.ts';
import type { Load } from './load/order.ts';
import { describeMachine } from './machine/machine.ts';
import { canPlace, type Placement } from './machine/places.ts';
import { measureSyncMs } from './machine/sync.ts';
import { measureIdle } from './measure/idle.ts';
import { watchMoments } from './measure/moments.ts';
import { measureRound, type Target } from './measure/round.ts';
import { countAcceptedVotes } from './peers/check.ts';
import {
  measuresEmbedded,
  planSeconds,
  planTurns,
  selectLoadScenarios,
  selectPeers,
  sumUsedSeconds,
  sumWarmUpSeconds,
  type Turn,
  usersPerConnection,
  warmUp,
} from './plan.ts';
import type { Live } from './report/live.ts';
import {
  collectRatios,
  type Idle,
  type Moment,
  type Races,
  type Result,
  type Sample,
  type SteadyRow,
  toScenarioFigures,
} from './report/result.ts';
import { collectSteadyRatios } from './report/steady.ts';
import { findScenario } from './scenarios/all.ts';
import { createDirectory, type Directory } from './scenarios/directory.ts';
import type { LoadScenarioName } from './scenarios/scenario.ts';
import { type Contestants, type ServerName, serverNames, startContestants } from './servers/contestants.ts';
import type { ServerProcess } from './servers/process.ts';
import { changedSettings, createFolder } from './servers/rollcall.ts';
import { openStores, type Stores } from './servers/stores.ts';
import { countSteadyUsers, measureSteady, type SteadyPlan, steadyScenarios } from './steady/measure.ts';

const racesAtOnce = 1_000;
const idleConnections = 10_000;
/** Both at once, so that a quick run stays quick; `npm run bench -- load` takes turns. */
const planSteady = ({ scenarios }: Options): SteadyPlan => ({
  servers: ['rollcall', 'fastify-sql'],
  scenarios: steadyScenarios.filter((name) => scenarios.includes(name)),
  rates: [50],
  rounds: 1,
  seconds: 10,
  lowSeconds: 12,
  atOnce: true,
});

interface Run {
  readonly options: Options;
  readonly live: Live;
  readonly begunMs: number;
  readonly signal: AbortSignal;
  /** The requested placements that this machine allows; `null`: it allows none. */
  readonly placements: readonly (Placement | null)[];
  /** What the servers hold; its last users vote only in `steadyDirectory`. */
  readonly wholeDirectory: Directory;
  readonly directory: Directory;
  readonly steadyDirectory: Directory;
  readonly steadyPlan: SteadyPlan;
  readonly load: Load;
  readonly samples: Sample[];
  readonly moments: Moment[];
  readonly idle: Idle[];
  readonly steady: SteadyRow[];
  readonly problems: string[];
  races: Races | null;
  betweenMs: number;
}

/** Measures what it can before `signal` aborts or something fails. Rejects when nothing was measured. */
export const runSuite = async (options: Options, live: Live, signal: AbortSignal): Promise<Result> => {
  const machine = describeMachine();
  const users = usersPerConnection(options) * options.connections;
  const steadyPlan = planSteady(options);
  const more = countSteadyUsers(steadyPlan, options.bots);
  const wholeDirectory = createDirectory({ bots: options.bots, users: users + more });
  const directory = { ...wholeDirectory, users: wholeDirectory.users.slice(0, users) };
  const load = openLoad(options.load, options.rate, directory);
  const run: Run = {
    options,
    live,
    begunMs: performance.now(),
    signal,
    placements: canPlace() ? options.placements : [null],
    wholeDirectory,
    directory,
    steadyDirectory: { ...wholeDirectory, users: wholeDirectory.users.slice(users) },
    steadyPlan,
    load,
    samples: [],
    moments: [],
    idle: [],
    steady: [],
    problems: [],
    races: null,
    betweenMs: 0,
  };
  try {
    // The load ends before its servers, also when it is interrupted.
    await withServers(run, (servers, stores) => measureAll(run, servers, stores).finally(load.close));
  } catch (error) {
    if (!signal.aborted && run.samples.length === 0) throw error;
    if (!signal.aborted) run.problems.push(`the rest: ${(error as Error).message}`);
  } finally {
    await load.close();
  }
  return buildResult(run, machine);
};

const buildResult = (run: Run, machine: Result['machine']): Result => {
  const { options, samples } = run;
  const scenarios = selectLoadScenarios(options)
    .filter((name) => samples.some(({ scenario }) => scenario === name))
    .map((name) => toScenarioFigures(name, samples, serverNames));
  const steady = run.steady.length === 0 ? null : { rows: run.steady, syncMs: measureSyncMs() };
  return {
    version: 2,
    machine,
    stores: options.stores,
    load: run.load.name,
    placements: run.placements.map((placement) => placement ?? 'free'),
    connections: options.connections,
    rate: options.rate,
    measureSeconds: options.measureSeconds,
    settings: changedSettings,
    ratios: { ...collectRatios(scenarios), ...(steady !== null && collectSteadyRatios(steady)) },
    scenarios,
    steady,
    races: run.races,
    idle: run.idle,
    moments: run.moments,
    samples,
    interrupted: run.signal.aborted,
    problems: run.problems,
  };
};

const withServers = async (
  run: Run,
  task: (servers: Contestants, stores: Stores) => Promise<void>,
): Promise<void> => {
  const { options, live, wholeDirectory: directory } = run;
  const folder = createFolder();
  const peers = selectPeers(options);
  const started = new Map<ServerName, ServerProcess>();
  live.print(`Starting ${options.stores === 'redis' ? 'Redis, Postgres and ' : ''}the servers …`);
  const stores = await openStores(options.stores, peers.length > 0);
  try {
    const embedded = selectLoadScenarios(options).some((name) => measuresEmbedded(options, name));
    const wanted = { stores, directory, folder, peers, embedded, profileDir: options.profileDir };
    const servers = await untilAborted(run.signal, startContestants(wanted, started));
    live.print(`All ${servers.size} do their work (bench/peers/check.ts).`);
    await task(servers, stores);
  } finally {
    // Only a profile needs an orderly end, because the stores are removed too.
    if (options.profileDir === null) for (const server of started.values()) server.child.kill('SIGKILL');
    await Promise.all([...started.values()].map((server) => server.stop()));
    await stores.close();
    folder.remove();
  }
};

const measureAll = async (run: Run, servers: Contestants, stores: Stores): Promise<void> => {
  const server = servers.get('rollcall');
  const watching = run.options.quick || server === undefined ? null : watchMoments(server, run.moments);
  try {
    await measureInTurn(run, servers, stores);
  } finally {
    watching?.stop();
  }
};

const measureInTurn = async (run: Run, servers: Contestants, stores: Stores): Promise<void> => {
  for (const name of selectLoadScenarios(run.options)) {
    await measureScenario(run, name, { servers, stores });
    if (run.signal.aborted) return;
  }
  await measureSteadily(run, servers, stores);
  if (run.options.races) run.races = await measureRaces(run, servers);
  if (run.options.scenarios.includes('idle')) await measureIdleOnes(run, servers);
};

const measureSteadily = async (run: Run, servers: Contestants, stores: Stores): Promise<void> => {
  const { live, signal, steadyDirectory: directory, steadyPlan, steady } = run;
  if (!steadyPlan.servers.every((name) => servers.has(name))) return;
  live.print('50 requests a second, evenly over all bots:');
  const world = { servers, stores, directory, live, signal, usedSeconds: 0 };
  await untilAborted(signal, measureSteady(world, steadyPlan, steady));
};

interface World {
  readonly servers: Contestants;
  readonly stores: Stores;
}

const measureScenario = async (run: Run, name: LoadScenarioName, world: World): Promise<void> => {
  const { options, live, placements } = run;
  live.print(`${name}: ${findScenario(name).summary}`);
  const servers = new Set(planTurns(options, placements, { name, round: 0 }).map(({ server }) => server));
  const untilMs = computeDeadlineMs(run, name);
  stepTo(run, name, 0);
  const nowMs = performance.now();
  const warmUntilMs = nowMs + (untilMs - nowMs) * warmUp.shareMax;
  for (const server of servers) await warmUpServer(run, { name, server, world, untilMs: warmUntilMs });
  for (let round = 1; round <= options.rounds; round++) {
    const turns = planTurns(options, placements, { name, round });
    const seconds = (untilMs - performance.now()) / 1_000;
    const left = { round, turns: turns.length, seconds, betweenSeconds: betweenSecondsOf(run) };
    const measureSeconds = planSeconds(options, left);
    if (measureSeconds === 0) return;
    for (const turn of turns) {
      if (run.signal.aborted) return;
      await measureTurn(run, world, { ...turn, name, round, measureSeconds });
    }
    stepTo(run, name, round);
  }
};

/** The progress of the run in turns: `rounds` of this scenario are done; warm-up counts as one more. */
const stepTo = ({ options, placements, live }: Run, name: LoadScenarioName, rounds: number): void => {
  const turnsIn = (one: LoadScenarioName): number =>
    planTurns(options, placements, { name: one, round: 1 }).length;
  const names = selectLoadScenarios(options);
  const sum = (some: readonly LoadScenarioName[]): number =>
    some.reduce((turns, one) => turns + turnsIn(one), 0) * (options.rounds + 1);
  const done = rounds === 0 ? 0 : (rounds + 1) * turnsIn(name);
  live.step(sum(names.slice(0, names.indexOf(name))) + done, sum(names));
};

interface RoundTurn extends Turn {
  readonly name: LoadScenarioName;
  readonly round: number;
  readonly measureSeconds: number;
}

const measureTurn = async (run: Run, { servers, stores }: World, turn: RoundTurn): Promise<void> => {
  const { options, live, signal } = run;
  const { server, placement, name, round, measureSeconds } = turn;
  const process = servers.get(server);
  if (process === undefined) return;
  live.show(`${name}, round ${round} of ${options.rounds}: ${server} …`);
  const usedSeconds = sumUsedSeconds(options, turn);
  const loadRound = 2 * round + (placement === 'free' ? 1 : 0);
  const target: Target = { scenario: name, round: loadRound, usedSeconds, server, process, placement };
  const means = { ...run, options: { ...options, measureSeconds } };
  const begunMs = performance.now();
  const sample = { ...(await untilAborted(signal, measureRound(means, stores, target))), round };
  run.betweenMs += performance.now() - begunMs - (options.warmupSeconds + measureSeconds) * 1_000;
  run.samples.push(sample);
  live.print(formatSample(sample));
};

/** The time of a turn beside its measured time: starting a generator, building requests. */
const betweenSecondsOf = ({ betweenMs, samples }: Run): number =>
  betweenMs / 1_000 / Math.max(1, samples.length);

/** When a scenario of a run with a time limit should end. */
const computeDeadlineMs = ({ options, begunMs }: Run, name: LoadScenarioName): number => {
  if (options.secondsMax === 0) return Number.POSITIVE_INFINITY;
  const names = selectLoadScenarios(options);
  const weightOf = (one: LoadScenarioName): number =>
    planTurns(options, options.placements, { name: one, round: 1 }).length;
  const left = names.slice(names.indexOf(name)).reduce((sum, one) => sum + weightOf(one), 0);
  const nowMs = performance.now();
  return nowMs + ((begunMs + options.secondsMax * 1_000 - nowMs) * weightOf(name)) / left;
};

interface Cold {
  readonly name: LoadScenarioName;
  readonly server: ServerName;
  readonly world: World;
  /** After this time each server gets one warm-up round only: the machine is slow. */
  readonly untilMs: number;
}

/**
 * Warm-up rounds, which do not count: entities are activated, sessions and profiles are read, code is
 * compiled. As many as a number of requests takes, up to a maximum for a slow server. They send other
 * requests than the measured rounds, because a repeated visit costs less than a new one.
 */
const warmUpServer = async (run: Run, { name, server, world, untilMs }: Cold): Promise<void> => {
  const process = world.servers.get(server);
  if (process === undefined) return;
  const means = { ...run, options: { ...run.options, measureSeconds: warmUp.seconds, rate: 0 } };
  const turnsMax = warmUp.turnsMax[warmUpKindOf(server)];
  let requests = 0;
  for (let turn = 0; turn < turnsMax && requests < warmUp.requests; turn++) {
    if (run.signal.aborted || (turn > 0 && performance.now() > untilMs)) return;
    run.live.show(`${name}: warming up ${server} …`);
    const target: Target = {
      scenario: name,
      round: 1_000 + turn,
      usedSeconds: sumWarmUpSeconds(run.options, name, turn),
      server,
      process,
      placement: run.placements[0] ?? null,
    };
    requests += (await untilAborted(run.signal, measureRound(means, world.stores, target))).load.requests;
  }
};

const warmUpKindOf = (server: ServerName): keyof typeof warmUp.turnsMax => {
  if (server === 'bare') return 'bare';
  return server === 'rollcall' || server === 'rollcall-embedded' ? 'rollcall' : 'peer';
};

const formatSample = ({ round, placement, server, load, cpuUs }: Sample): string =>
  `  ${round} ${placement.padEnd(8)} ${server.padEnd(17)}` +
  ` ${String(Math.round(load.requestsPerSecond)).padStart(7)} requests/s` +
  `  p99 ${(load.latencyMs[4] ?? 0).toFixed(1)} ms  CPU ${cpuUs.toFixed(1)} µs`;

/** Measures ten thousand silent connections. Reports when the machine does not allow them. */
const measureIdleOnes = async (
  { live, directory, idle, signal }: Run,
  servers: Contestants,
): Promise<void> => {
  const path = `/bots/${directory.bots[0]?.id}`;
  for (const name of ['bare', 'rollcall'] as const) {
    const server = servers.get(name);
    if (server === undefined || signal.aborted) continue;
    live.show(`idle: ${idleConnections} connections to ${name} …`);
    try {
      const found = await measureIdle(name, server, { connections: idleConnections, path });
      idle.push(found);
      live.print(`idle: ${name} uses ${Math.round(found.bytesPerConnection)} bytes for each connection`);
    } catch (error) {
      live.print(`idle: not measured (${String(error)}); see ulimit -n`);
    }
  }
};

/** Sends a thousand simultaneous votes of one user for one bot and counts the accepted ones. */
const measureRaces = async ({ live, directory }: Run, servers: Contestants): Promise<Races> => {
  const through: Partial<Record<ServerName, number>> = {};
  for (const name of ['rollcall', 'fastify-redis', 'fastify-sql'] as const) {
    const server = servers.get(name);
    if (server === undefined) continue;
    through[name] = await countAcceptedVotes(server.url, directory, racesAtOnce);
    live.print(`races: ${name} accepted ${through[name]} of ${racesAtOnce} simultaneous votes`);
  }
  return { atOnce: racesAtOnce, through };
};

/** Resolves as the task does, or rejects on the signal. What the task started ends with the process. */
const untilAborted = async <Value>(signal: AbortSignal, task: Promise<Value>): Promise<Value> => {
  let stop = (): void => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(new Error('interrupted'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([task, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
    task.catch(() => {
      // The caller ends the load, and with it the round.
    });
  }
};
