/**
 * The program behind `npm start` and `rollcall start`: reads the settings, starts one node, prints its
 * addresses, and drains on Ctrl-C. With WORKERS above 1 it supervises that many processes, and each of them
 * runs one node.
 *
 * The first SIGINT or SIGTERM drains, even during the start; the second ends the process at once (nothing
 * acknowledged is lost even then). The process also drains when its terminal closes or its parent process
 * ends; it keeps running when only the reader of its output goes away. After a loss of the embedded SQL, or
 * an uncaught error, it drains and exits with 1, so that a supervisor starts a new process.
 */
import { setFlagsFromString } from 'node:v8';
import { describeStores } from './addresses.ts';
import { type Config, findMisspeltSettings, readConfig } from './config.ts';
import { formatWelcome } from './demo/welcome.ts';
import { type Running, start } from './rollcall.ts';
import { endOnUncaught, type Uncaught } from './uncaught.ts';
import { formatVersion, readVersion } from './version.ts';
import { obeySupervisor, parseWorkerIndex, stopMsMax, supervise, type WorkerReady } from './workers.ts';

const fail = (error: unknown): never => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
};

/** Asynchronous, so that a wrong setting rejects and reaches `fail` like every other error. */
const run = async (): Promise<void> => {
  const index = parseWorkerIndex(process.argv);
  if (index === null) for (const note of findMisspeltSettings()) process.stderr.write(`${note}\n`);
  const config = readConfig();
  return index === null && config.workers > 1 ? runWorkers(config) : runNode(config, index);
};

/** Worker `index` (from 0) listens for the operator on ADMIN_PORT + index. */
const runNode = async (settings: Config, index: number | null): Promise<void> => {
  const config = { ...settings, adminPort: settings.adminPort + (index ?? 0) };
  const starting = start(config);
  // Installed before the start ends: a signal may arrive before the welcome is printed.
  const stopNode = () => starting.then((running) => running.stop());
  const uncaught = endOnUncaught({ stop: stopNode, limitMs: stopMsMax(config) });
  const drain = drainOnSignals(stopNode, uncaught);
  obeySupervisor(drain);
  const { notes, url, adminUrl, otherNodes, demo, lost, stop } = await starting;
  void lost.then((reason) => {
    process.stderr.write(`Ending, so that a new process can start: ${reason}\n`);
    return stop().finally(() => process.exit(1));
  });
  if (index !== null) {
    process.send?.({ url, adminUrl, notes, otherNodes } satisfies WorkerReady);
    return;
  }
  welcome(config, { url, adminUrl, notes, otherNodes, demo });
};

/** Prints the notes and the addresses of a start. */
const welcome = (config: Config, started: WorkerReady & Pick<Running, 'demo'>): void => {
  const { notes, url, adminUrl, otherNodes, demo } = started;
  for (const note of notes) process.stdout.write(`${note}\n`);
  const text = formatWelcome({
    url,
    adminUrl,
    version: formatVersion(readVersion()),
    stores: describeStores(config, otherNodes),
    dataDirectory: config.dataDir,
    demo,
    isTerminal: process.stdout.isTTY === true,
  });
  process.stdout.write(text);
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
  const [first = { url: '', notes: [], otherNodes: [] }] = workers;
  const adminUrl = workers.map((worker) => worker.adminUrl).join(',');
  welcome(config, { ...first, adminUrl, demo: null });
};

/** Installs the signal handlers. Returns the function that starts the drain; only the first call counts. */
const drainOnSignals = (stop: () => Promise<void>, uncaught: Uncaught): (() => void) => {
  let draining = false;
  const drain = (): void => {
    if (draining) return;
    draining = true;
    process.stdout.write('Draining: refusing new work, finishing answers, then closing the stores …\n');
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
  // Not counted as a signal: when a terminal closes, SIGHUP may arrive twice, once through the launcher.
  process.on('SIGHUP', drain);
  return drain;
};

/** Keeps the process alive when the reader of its output goes away (`npm start | head`). */
const ignoreOutputErrors = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
};

// The young generation is small and mostly garbage: parallel helper threads cost more than they save.
setFlagsFromString('--no-parallel-scavenge');
ignoreOutputErrors();
run().catch(fail);
