/**
 * One bench run: starts stores and servers, gives all servers the same load in turn, round after round, and
 * ends them.
 *
 * Servers, load and suite are processes of their own. Invariant: whatever happens, everything that was
 * started is ended and the folder removed; what was measured until then is returned. Called by main.ts.
 */
import type { Options } from './arguments.ts';
import { type Load, openAutocannon } from './load/autocannon.ts';
import { openWrk, wrkIsThere } from './load/wrk.ts';
import { measureIdle } from './measure/idle.ts';
import { describeMachine } from './measure/machine.ts';
import { watchMoments } from './measure/moments.ts';
import { canPlace, type Placement } from './measure/places.ts';
import { measureRound, type Target } from './measure/round.ts';
import { votesLetThrough } from './peers/check.ts';
import type { Live } from './report/live.ts';
import {
  type Idle,
  type Moment,
  type Races,
  type Result,
  ratiosOf,
  type Sample,
  scenarioFiguresOf,
} from './report/result.ts';
import { scenarioOf } from './scenarios/all.ts';
import { type LoadScenarioName, type PeerName, peerNames } from './scenarios/scenario.ts';
import { votesPerConnectionAndSecond } from './scenarios/vote.ts';
import { type Contestants, type ServerName, serverNames, startContestants } from './servers/contestants.ts';
import { createDirectory, type Directory } from './servers/directory.ts';
import type { ServerProcess } from './servers/process.ts';
import { changedSettings, createFolder } from './servers/rollcall.ts';
import { openStores, type Stores } from './stores/stores.ts';

const racesAtOnce = 1_000;
const idleConnections = 10_000;
/** Also where the time limit is over; the full run has many scenarios. */
const roundsMin = { quick: 3, full: 1 };
const warmUpRequests = 10_000;
const warmUpTurnsMax = { rollcall: 4, others: 2 };

interface Run {
  readonly options: Options;
  readonly live: Live;
  readonly begunMs: number;
  readonly signal: AbortSignal;
  /** What of the wanted ones this machine allows; `null`: cannot place. */
  readonly placements: readonly (Placement | null)[];
  readonly directory: Directory;
  readonly load: Load;
  readonly samples: Sample[];
  readonly moments: Moment[];
  readonly idle: Idle[];
  races: Races | null;
}

const openLoad = ({ load, rate }: Options, directory: Directory): Load => {
  const wrk = load === 'wrk' || (load === 'auto' && rate === 0 && wrkIsThere());
  return wrk ? openWrk(directory) : openAutocannon(directory);
};

/** Votes are used up: each user votes once for each bot, and no round repeats another's votes. */
const usersPerConnection = ({ rounds, bots, warmupSeconds, measureSeconds }: Options): number =>
  1 + Math.ceil(((rounds + 1) * 2 * (warmupSeconds + measureSeconds) * votesPerConnectionAndSecond) / bots);

const loadScenarios = ({ scenarios }: Options): readonly LoadScenarioName[] =>
  scenarios.filter((name) => name !== 'idle');

/** Measures everything, or as much as `signal` leaves time for. Rejects when a server cannot start. */
export const runSuite = async (options: Options, live: Live, signal: AbortSignal): Promise<Result> => {
  const machine = describeMachine();
  const users = usersPerConnection(options) * options.connections;
  const directory = createDirectory({ bots: options.bots, users });
  const load = openLoad(options, directory);
  const run: Run = {
    options,
    live,
    begunMs: performance.now(),
    signal,
    placements: canPlace() ? options.placements : [null],
    directory,
    load,
    samples: [],
    moments: [],
    idle: [],
    races: null,
  };
  try {
    // The load ends before its servers do, also when it is interrupted in the middle.
    await withServers(run, (servers, stores) => measureAll(run, servers, stores).finally(load.close));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await load.close();
  }
  return resultOf(run, machine);
};

const resultOf = (run: Run, machine: Result['machine']): Result => {
  const { options, samples } = run;
  const scenarios = loadScenarios(options)
    .filter((name) => samples.some(({ scenario }) => scenario === name))
    .map((name) => scenarioFiguresOf(name, samples, serverNames));
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
    ratios: ratiosOf(scenarios),
    scenarios,
    races: run.races,
    idle: run.idle,
    moments: run.moments,
    samples,
    interrupted: run.signal.aborted,
  };
};

/** The peers that the chosen scenarios need. */
const peersOf = (options: Options): readonly PeerName[] => {
  const wanted = new Set(loadScenarios(options).flatMap((name) => peersFor(options, name)));
  return peerNames.filter((name) => wanted.has(name));
};

/** A quick run compares with peers in `stats` alone. */
const peersFor = ({ peers }: Options, name: LoadScenarioName): readonly PeerName[] => {
  if (peers === 'none' || (peers === 'stats' && name !== 'stats')) return [];
  return scenarioOf(name).peers;
};

const withServers = async (
  run: Run,
  task: (servers: Contestants, stores: Stores) => Promise<void>,
): Promise<void> => {
  const { options, live, directory } = run;
  const folder = createFolder();
  const peers = peersOf(options);
  const started = new Map<ServerName, ServerProcess>();
  live.keep(`Starting ${options.stores === 'redis' ? 'Redis, Postgres and ' : ''}the servers …`);
  const stores = await openStores(options.stores, peers.length > 0);
  try {
    const wanted = { stores, directory, folder, peers, profileDir: options.profileDir };
    const servers = await startContestants(wanted, started);
    live.keep(`All ${servers.size} do their work (bench/peers/check.ts).`);
    await task(servers, stores);
  } finally {
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
  for (const name of loadScenarios(run.options)) {
    await measureScenario(run, name, { servers, stores });
    if (run.signal.aborted) return;
  }
  if (run.options.races) run.races = await measureRaces(run, servers);
  if (run.options.scenarios.includes('idle')) await measureIdleOnes(run, servers);
};

/** A quick run takes requests/s from `stats` alone, and only where they are compared. */
const placementsFor = ({ options, placements }: Run, name: LoadScenarioName) =>
  options.quick && placements.length > 1 && name !== 'stats' ? placements.slice(0, 1) : placements;

const isWorthwhile = (
  { options, placements }: Run,
  server: ServerName,
  placement: Placement | null,
): boolean =>
  !options.quick ||
  placements.length === 1 ||
  placement === 'one-core' ||
  server === 'rollcall' ||
  server === 'fastify-sql';

interface World {
  readonly servers: Contestants;
  readonly stores: Stores;
}

const measureScenario = async (
  run: Run,
  name: LoadScenarioName,
  { servers, stores }: World,
): Promise<void> => {
  const { options, live, signal } = run;
  const peers = peersFor(options, name);
  const order = serverNames.filter(
    (server) => server === 'bare' || server === 'rollcall' || peers.includes(server),
  );
  live.keep(`${name}: ${scenarioOf(name).summary}`);
  for (const server of order) await warmUp(run, stores, { scenario: name, server, servers });
  const untilMs = deadlineOf(run, name);
  for (let round = 1; round <= options.rounds; round++) {
    if (round > roundsMin[options.quick ? 'quick' : 'full'] && performance.now() > untilMs) return;
    for (const placement of placementsFor(run, name)) {
      // Who goes first changes, so that nobody always finds the machine warm.
      const now = order.filter((server) => isWorthwhile(run, server, placement));
      for (const server of round % 2 === 0 ? now : now.reverse()) {
        if (signal.aborted) return;
        live.show(`${name}, round ${round} of ${options.rounds}: ${server} …`);
        const process = servers.get(server);
        if (process === undefined) continue;
        const loadRound = 2 * round + (placement === 'free' ? 1 : 0);
        const target: Target = { scenario: name, round: loadRound, server, process, placement };
        const sample = { ...(await untilAborted(signal, measureRound(run, stores, target))), round };
        run.samples.push(sample);
        live.keep(lineOf(sample));
      }
    }
  }
};

/** When a scenario of a run with a time limit may begin no further round. */
const deadlineOf = ({ options, begunMs }: Run, name: LoadScenarioName): number => {
  if (options.secondsMax === 0) return Number.POSITIVE_INFINITY;
  const names = loadScenarios(options);
  const left = names.length - names.indexOf(name);
  const nowMs = performance.now();
  return nowMs + (begunMs + options.secondsMax * 1_000 - nowMs) / left;
};

interface Cold {
  readonly scenario: LoadScenarioName;
  readonly server: ServerName;
  readonly servers: Contestants;
}

/**
 * Rounds that do not count: entities become live, sessions and profiles are read, code is compiled. As many
 * as it takes for so many requests, but few: a slow server is not waited for.
 */
const warmUp = async (run: Run, stores: Stores, { scenario, server, servers }: Cold): Promise<void> => {
  const process = servers.get(server);
  if (process === undefined) return;
  const measureSeconds = server === 'bare' ? 0.3 : 0.8;
  const means = { ...run, options: { ...run.options, measureSeconds, rate: 0 } };
  const turnsMax = warmUpTurnsMax[server === 'rollcall' ? 'rollcall' : 'others'];
  let requests = 0;
  for (let turn = 0; turn < turnsMax && requests < warmUpRequests; turn++) {
    if (run.signal.aborted) return;
    run.live.show(`${scenario}: warming up ${server} …`);
    const target: Target = {
      scenario,
      round: turn % 2,
      server,
      process,
      placement: run.placements[0] ?? null,
    };
    requests += (await untilAborted(run.signal, measureRound(means, stores, target))).load.requests;
  }
};

const lineOf = ({ round, placement, server, load, cpuUs }: Sample): string =>
  `  ${round} ${placement.padEnd(8)} ${server.padEnd(13)}` +
  ` ${String(Math.round(load.requestsPerSecond)).padStart(7)} requests/s` +
  `  p99 ${(load.latencyMs[4] ?? 0).toFixed(1)} ms  CPU ${cpuUs.toFixed(1)} µs`;

/** Ten thousand open connections that say nothing. A machine that does not allow them is told about. */
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
      live.keep(`idle: ${name} uses ${Math.round(found.bytesPerConnection)} bytes for each connection`);
    } catch (error) {
      live.keep(`idle: not measured (${String(error)}); see ulimit -n`);
    }
  }
};

/** A thousand simultaneous votes of one user for one bot: how many come through? */
const measureRaces = async ({ live, directory }: Run, servers: Contestants): Promise<Races> => {
  const through: Partial<Record<ServerName, number>> = {};
  for (const name of ['rollcall', 'fastify-redis', 'express-sql'] as const) {
    const server = servers.get(name);
    if (server === undefined) continue;
    through[name] = await votesLetThrough(server.url, directory, racesAtOnce);
    live.keep(`races: ${name} let ${through[name]} of ${racesAtOnce} simultaneous votes through`);
  }
  return { atOnce: racesAtOnce, through };
};

/** Rejects on the signal, or gives what the task gives. */
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
      // The load is ended by the caller, and its round with it.
    });
  }
};
