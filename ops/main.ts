/**
 * The program: `npm start`. Reads the settings, starts one node, prints where it is, and drains on Ctrl-C;
 * with WORKERS above 1 it minds that many processes that each do so.
 *
 * The first SIGINT or SIGTERM drains, also while it still starts; a second one ends at once (nothing
 * acknowledged is lost even then). It also drains when its terminal closes or the process that started it is
 * gone; it goes on when only the reader of its output is. A node that lost its embedded SQL, and any process
 * with an error that nothing caught, drains by itself and ends with 1: only a new process helps, and a
 * supervisor starts one.
 */
import { setFlagsFromString } from 'node:v8';
import { type Config, findMisspeltSettings, readConfig } from './config.ts';
import { formatWelcome } from './demo/welcome.ts';
import { start } from './rollcall.ts';
import { endOnUncaught, type Uncaught } from './uncaught.ts';
import { obeySupervisor, parseWorkerIndex, stopMsMax, supervise, type WorkerReady } from './workers.ts';

const fail = (error: unknown): never => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
};

/** Asynchronous from the start, so that a wrong setting ends in words like every other failure. */
const run = async (): Promise<void> => {
  const index = parseWorkerIndex(process.argv);
  if (index === null) for (const words of findMisspeltSettings()) process.stderr.write(`${words}\n`);
  const config = readConfig();
  return index === null && config.workers > 1 ? runWorkers(config) : runNode(config, index);
};

/** The first worker has the operator's port of the settings, each further one the port after it. */
const runNode = async (settings: Config, index: number | null): Promise<void> => {
  const config = { ...settings, adminPort: settings.adminPort + (index ?? 0) };
  const starting = start(config);
  // A signal may come as soon as the first request is answered, which is before the welcome is printed.
  const stopNode = () => starting.then((running) => running.stop());
  const uncaught = endOnUncaught({ stop: stopNode, limitMs: stopMsMax(config) });
  const drain = drainOnSignals(stopNode, uncaught);
  obeySupervisor(drain);
  const { notes, url, adminUrl, demo, lost, stop } = await starting;
  void lost.then((words) => {
    process.stderr.write(`Ending, so that a new process can start: ${words}\n`);
    return stop().finally(() => process.exit(1));
  });
  if (index !== null) {
    process.send?.({ url, adminUrl, notes } satisfies WorkerReady);
    return;
  }
  for (const note of notes) process.stdout.write(`${note}\n`);
  const isTerminal = process.stdout.isTTY === true;
  process.stdout.write(formatWelcome({ url, adminUrl, dataDirectory: config.dataDir, demo, isTerminal }));
};

const runWorkers = async (config: Config): Promise<void> => {
  const { ready, stop, kill } = supervise(config, import.meta.filename);
  const uncaught = endOnUncaught({ stop, limitMs: stopMsMax(config) });
  const drain = (): void => void stop().then((code) => process.exit(uncaught.happened ? 1 : code), fail);
  let signals = 0;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      signals += 1;
      if (signals > 1) kill();
      else drain();
    });
  }
  process.on('SIGHUP', drain);
  obeySupervisor(drain);
  const workers = await ready;
  const [{ url, notes } = { url: '', notes: [] }] = workers;
  for (const note of notes) process.stdout.write(`${note}\n`);
  const adminUrl = workers.map((worker) => worker.adminUrl).join(',');
  const isTerminal = process.stdout.isTTY === true;
  process.stdout.write(
    formatWelcome({ url, adminUrl, dataDirectory: config.dataDir, demo: null, isTerminal }),
  );
};

/** Gives what the first signal does: starts the drain, once. */
const drainOnSignals = (stop: () => Promise<void>, uncaught: Uncaught): (() => void) => {
  let draining = false;
  const drain = (): void => {
    if (draining) return;
    draining = true;
    process.stdout.write('Draining: no new work, answers first, then the stores …\n');
    stop().then(() => process.exit(uncaught.happened ? 1 : 0), fail);
  };
  let signals = 0;
  const onSignal = (): void => {
    signals += 1;
    if (signals > 1) process.exit(130);
    drain();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // Not counted: of a terminal that closes, this process and its launcher get one each.
  process.on('SIGHUP', drain);
  return drain;
};

/** The reader of the output may leave first (`npm start | head`, a closed terminal): only words are lost. */
const outliveReaders = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
};

// The young generation is small and mostly dead: helpers that wait for its collection cost more than they
// help.
setFlagsFromString('--no-parallel-scavenge');
outliveReaders();
run().catch(fail);
