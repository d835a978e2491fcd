/**
 * One bench run: starts both servers, gives them the same load in turn, round after round, and ends them.
 *
 * Servers, load and suite are processes and threads of their own. Invariant: whatever happens, everything
 * that was started is ended and the folder removed; what was measured until then is returned. Called by
 * main.ts.
 */
import type { Options } from './arguments.ts';
import { type Load, openAutocannon } from './load/autocannon.ts';
import type { Order } from './load/order.ts';
import { openWrk } from './load/wrk.ts';
import { type CpuTime, cpuTimeOf } from './measure/cpu.ts';
import { describeMachine } from './measure/machine.ts';
import type { Live } from './report/live.ts';
import { type Result, ratiosOf, type Sample, type ServerName, scenarioFiguresOf } from './report/result.ts';
import { scenarioOf } from './scenarios/all.ts';
import type { ScenarioName } from './scenarios/scenario.ts';
import { createDirectory, type Directory } from './servers/directory.ts';
import type { ServerProcess } from './servers/process.ts';
import { changedSettings, createFolder, startBare, startRollcall } from './servers/rollcall.ts';

/** Votes are used up: each user votes once for each bot. */
const usersPerConnection = 4;

type Servers = Readonly<Record<ServerName, ServerProcess>>;

interface Run {
  readonly options: Options;
  readonly live: Live;
  readonly signal: AbortSignal;
  readonly samples: Sample[];
}

/** Measures everything, or as much as `signal` leaves time for. Rejects when a server cannot start. */
export const runSuite = async (options: Options, live: Live, signal: AbortSignal): Promise<Result> => {
  const run: Run = { options, live, signal, samples: [] };
  const machine = describeMachine();
  const { connections } = options;
  const directory = createDirectory({ bots: options.bots, users: usersPerConnection * connections });
  const load = options.load === 'wrk' ? openWrk(directory) : openAutocannon(directory);
  try {
    // The load ends before its servers do, also when it is interrupted in the middle.
    await withServers(run, directory, (servers) => measureAll(run, load, servers).finally(load.close));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await load.close();
  }
  const measured = options.scenarios.filter((name) => run.samples.some(({ scenario }) => scenario === name));
  const scenarios = measured.map((name) => scenarioFiguresOf(name, run.samples));
  return {
    machine,
    load: load.name,
    connections,
    measureSeconds: options.measureSeconds,
    settings: changedSettings,
    ratios: ratiosOf(scenarios),
    scenarios,
    samples: run.samples,
    interrupted: signal.aborted,
  };
};

const withServers = async (
  { options, live }: Run,
  directory: Directory,
  task: (servers: Servers) => Promise<void>,
): Promise<void> => {
  const folder = createFolder();
  const started: ServerProcess[] = [];
  try {
    live.keep(`Importing ${options.bots} bots and starting the servers …`);
    const rollcall = await startRollcall(folder, directory, options.profileDir);
    started.push(rollcall);
    const bare = await startBare(await bodyBytesOf(rollcall.url, directory));
    started.push(bare);
    await task({ rollcall, bare });
  } finally {
    await Promise.all(started.map((server) => server.stop()));
    folder.remove();
  }
};

const bodyBytesOf = async (url: string, { bots }: Directory): Promise<number> => {
  const response = await fetch(`${url}/bots/${bots[0]?.id}`);
  if (!response.ok) throw new Error(`the first bot cannot be read: ${response.status}`);
  return (await response.arrayBuffer()).byteLength;
};

const measureAll = async (run: Run, load: Load, servers: Servers): Promise<void> => {
  const { options, live } = run;
  for (const name of options.scenarios) {
    live.keep(`${name}: ${scenarioOf(name).summary}`);
    await warmUp(run, load, { name, servers });
    for (let round = 0; round < options.rounds; round++) {
      // Who goes first changes, so that neither always finds the machine warm.
      const order = round % 2 === 0 ? (['bare', 'rollcall'] as const) : (['rollcall', 'bare'] as const);
      for (const server of order) {
        if (run.signal.aborted) return;
        live.show(`${name}, round ${round + 1} of ${options.rounds}: ${server} …`);
        const sample = await measure(run, load, { name, round, server, process: servers[server] });
        run.samples.push(sample);
        live.keep(lineOf(sample));
      }
    }
  }
};

/**
 * A round that does not count, before the first of a scenario: entities become live, sessions and profiles
 * are read from SQL, code is compiled. It has a number of its own because its votes are used up too.
 */
const warmUp = async (
  run: Run,
  load: Load,
  { name, servers }: { readonly name: ScenarioName; readonly servers: Servers },
): Promise<void> => {
  for (const server of ['bare', 'rollcall'] as const) {
    if (run.signal.aborted) return;
    run.live.show(`${name}: warming up ${server} …`);
    await measure(run, load, { name, round: run.options.rounds, server, process: servers[server] });
  }
};

const lineOf = ({ round, server, load, cpuUs }: Sample): string =>
  `  ${round + 1} ${server.padEnd(8)} ${String(Math.round(load.requestsPerSecond)).padStart(7)} requests/s` +
  `  p99 ${load.p99Ms.toFixed(1)} ms  CPU ${cpuUs.toFixed(1)} µs`;

interface Target {
  readonly name: ScenarioName;
  readonly round: number;
  readonly server: ServerName;
  readonly process: ServerProcess;
}

const measure = async (run: Run, load: Load, target: Target): Promise<Sample> => {
  const { connections, warmupSeconds, measureSeconds } = run.options;
  const { name: scenario, round, server, process } = target;
  const order: Order = { scenario, url: process.url, round, connections, warmupSeconds, measureSeconds };
  const marks: Promise<{ readonly cpu: CpuTime; readonly atMs: number }>[] = [];
  const mark = (): void => {
    const atMs = performance.now();
    const marked = cpuTimeOf(process.child).then((cpu) => ({ cpu, atMs }));
    marked.catch(() => {
      // Told below, where the marks are read.
    });
    marks.push(marked);
  };
  const stop = aborted(run.signal);
  const result = await Promise.race([load.run(order, { begun: mark, ended: mark }), stop.promise]);
  stop.forget();
  const [from, to] = await Promise.all(marks);
  if (from === undefined || to === undefined) throw new Error('the load did not say when it measured');
  const totalUs = to.cpu.totalUs - from.cpu.totalUs;
  return {
    scenario,
    server,
    round,
    load: result,
    cpuUs: totalUs / result.requests,
    mainCpuUs: (to.cpu.mainUs - from.cpu.mainUs) / result.requests,
    cores: totalUs / 1_000 / (to.atMs - from.atMs),
  };
};

/** Rejects on the signal. */
const aborted = (signal: AbortSignal): { readonly promise: Promise<never>; forget(): void } => {
  let stop = (): void => {};
  const promise = new Promise<never>((_, reject) => {
    stop = () => reject(new Error('interrupted'));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });
  promise.catch(() => {
    // Nobody listens when the round was over first.
  });
  return { promise, forget: () => signal.removeEventListener('abort', stop) };
};
