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
import { describeMachine } from './measure/machine.ts';
import { type Places, placesOf } from './measure/places.ts';
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
import { type Contestants, type ServerName, serverNames, startContestants } from './servers/contestants.ts';
import { createDirectory, type Directory } from './servers/directory.ts';
import type { ServerProcess } from './servers/process.ts';
import { changedSettings, createFolder } from './servers/rollcall.ts';
import { openStores, type Stores } from './stores/stores.ts';

/** Votes are used up: each user votes once for each bot. */
const usersPerConnection = 4;
const racesAtOnce = 1_000;

interface Run {
  readonly options: Options;
  readonly live: Live;
  readonly signal: AbortSignal;
  readonly places: Places;
  readonly directory: Directory;
  readonly load: Load;
  readonly samples: Sample[];
  readonly moments: Moment[];
  readonly idle: Idle[];
  races: Races | null;
}

const openLoad = ({ load }: Options, directory: Directory): Load => {
  const wrk = load === 'wrk' || (load === 'auto' && wrkIsThere());
  return wrk ? openWrk(directory) : openAutocannon(directory);
};

const loadScenarios = ({ scenarios }: Options): readonly LoadScenarioName[] =>
  scenarios.filter((name) => name !== 'idle');

/** Measures everything, or as much as `signal` leaves time for. Rejects when a server cannot start. */
export const runSuite = async (options: Options, live: Live, signal: AbortSignal): Promise<Result> => {
  const machine = describeMachine();
  const users = usersPerConnection * options.connections;
  const directory = createDirectory({ bots: options.bots, users });
  const load = openLoad(options, directory);
  const run: Run = {
    options,
    live,
    signal,
    places: placesOf(options.placement),
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
    placement: run.places.words,
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
  for (const name of loadScenarios(run.options)) {
    await measureScenario(run, name, { servers, stores });
    if (run.signal.aborted) return;
  }
  if (run.options.races) run.races = await measureRaces(run, servers);
};

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
  // Round 0 does not count: entities become live, sessions and profiles are read, code is compiled.
  for (let round = 0; round <= options.rounds; round++) {
    // Who goes first changes, so that nobody always finds the machine warm.
    for (const server of round % 2 === 0 ? order : [...order].reverse()) {
      if (signal.aborted) return;
      live.show(
        `${name}, ${round === 0 ? 'warming up' : `round ${round} of ${options.rounds}`}: ${server} …`,
      );
      const process = servers.get(server);
      if (process === undefined) continue;
      const target: Target = { scenario: name, round, server, process };
      const sample = await untilAborted(signal, measureRound(run, stores, target));
      if (round === 0) continue;
      run.samples.push(sample);
      live.keep(lineOf(sample));
    }
  }
};

const lineOf = ({ round, server, load, cpuUs }: Sample): string =>
  `  ${round} ${server.padEnd(13)} ${String(Math.round(load.requestsPerSecond)).padStart(7)} requests/s` +
  `  p99 ${(load.latencyMs[4] ?? 0).toFixed(1)} ms  CPU ${cpuUs.toFixed(1)} µs`;

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
