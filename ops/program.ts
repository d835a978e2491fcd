/**
 * What the program of main.ts does: reads the settings, starts one node, prints its addresses, and drains on
 * Ctrl-C. With WORKERS above 1 it supervises that many processes, and each of them runs one node.
 *
 * The first SIGINT or SIGTERM drains, even during the start; the second ends the process at once (nothing
 * acknowledged is lost even then); setup/signals.mjs has the other signals. The process also drains when its
 * parent process ends; it keeps running when only the reader of its output goes away. After a loss of the
 * embedded SQL, or an uncaught error, it drains and exits with 1, so that a supervisor starts a new process.
 */

import { setFlagsFromString } from 'node:v8';
import type { Logger } from 'pino';
import { toMessage } from '../engine/errors.ts';
import type { SqlThread } from '../storage/embedded/sql-thread.ts';
import { readSystemMs } from './clock.ts';
import { describeStores } from './config/addresses.ts';
import { type Config, findMisspeltSettings, readConfig, readLogForm } from './config/config.ts';
import { createLogger, selectLogForm } from './log/log.ts';
import { createEarlyReporter, createReporter, type Reporter } from './log/reporter.ts';
import { openNodeStores } from './open-stores.ts';
import type { Running } from './rollcall.ts';
import { drainingSignals, endingSignals } from './setup/signals.mjs';
import { notifySystemd } from './systemd.ts';
import { formatVersion, readVersion } from './version.ts';
import { findMemoryNotes } from './watch/memory.ts';
import { endOnUncaught, type Uncaught } from './watch/uncaught.ts';
import { obeySupervisor, parseWorkerIndex, stopMsMax, supervise, type WorkerReady } from './workers.ts';

const fail = (error: unknown): never => {
  createEarlyReporter(readLogForm()).reportFailure(toMessage(error));
  process.exit(1);
};

export interface ProgramInput {
  /** The file that this process runs; the workers run it, too. */
  readonly file: string;
  /** See `StoresOptions.sqlThread`. */
  readonly sqlThread: SqlThread | undefined;
}

/** Asynchronous, so that a wrong setting rejects and reaches `fail` like every other error. */
const run = async ({ file, sqlThread }: ProgramInput): Promise<void> => {
  const index = parseWorkerIndex(process.argv);
  const acceptsClock = process.argv[2] === acceptClockOption;
  if (index === null && process.argv.length > (acceptsClock ? 3 : 2))
    throw new Error(
      `A start takes no arguments but ${acceptClockOption}: ` +
        'settings are variables, as in PORT=8000 npm start.',
    );
  const early = createEarlyReporter(readLogForm());
  if (index === null)
    for (const note of [...findMisspeltSettings(), ...findMemoryNotes()]) early.reportNote(note);
  const config = readConfig();
  const form = selectLogForm(config);
  const logger = createLogger({ level: config.logLevel, form });
  const output = { logger, reporter: createReporter(form, logger) };
  if (index !== null || config.workers === 1)
    return runNode(config, index, { ...output, sqlThread, acceptsClock });
  if (acceptsClock) throw new Error(`${acceptClockOption} is for one process: start once with WORKERS=1.`);
  return runWorkers(config, file, output);
};

const acceptClockOption = '--accept-clock';

interface Output {
  readonly logger: Logger;
  readonly reporter: Reporter;
}

type NodeInput = Output & Pick<ProgramInput, 'sqlThread'> & { readonly acceptsClock: boolean };

/** Worker `index` (from 0) listens for the operator on ADMIN_PORT + index. */
const runNode = async (settings: Config, index: number | null, input: NodeInput): Promise<void> => {
  const { logger, reporter } = input;
  const config = { ...settings, adminPort: settings.adminPort + (index ?? 0) };
  // Signals may arrive before the welcome is printed, and from the moment the folder is locked.
  let starting: ReturnType<typeof startNode>;
  const stopNode = () => starting.then((running) => running.stop());
  const uncaught = endOnUncaught({ stop: stopNode, limitMs: stopMsMax(config), logger });
  const isDraining = drainOnSignals(stopNode, uncaught, reporter);
  starting = startNode(config, input);
  const { notes, url, adminUrl, otherNodes, demo, lost, stop } = await starting;
  void lost.then((reason) => {
    reporter.reportFailure(`Ending, so that a new process can start: ${reason}`);
    return stop().finally(() => process.exit(1));
  });
  if (index !== null) {
    process.send?.({ url, adminUrl, notes, otherNodes } satisfies WorkerReady);
    return;
  }
  if (!isDraining()) reportReady(reporter, config, { url, adminUrl, notes, otherNodes, demo });
};

/** Loads the server beside the embedded database, which opens its folder on a thread of its own. */
const startNode = async (config: Config, { logger, reporter, sqlThread, acceptsClock }: NodeInput) => {
  const systemMs = readSystemMs();
  const opening = openNodeStores(config, { logger, nowMs: systemMs, sqlThread });
  await Promise.race([opening, sqlThread?.opening]);
  const { start } = await import('./rollcall.ts');
  const acceptClock = acceptsClock ? { report: reporter.reportNote } : undefined;
  return start(config, { logger, opening, systemMs, acceptClock });
};

const reportReady = (
  reporter: Reporter,
  config: Config,
  { notes, url, adminUrl, otherNodes, demo }: WorkerReady & Pick<Running, 'demo'>,
): void => {
  for (const note of notes) reporter.reportNote(note);
  reporter.reportReady({
    url,
    adminUrl,
    version: formatVersion(readVersion()),
    stores: describeStores(config, otherNodes),
    dataDirectory: config.dataDir,
    demo,
  });
  notifySystemd(reporter);
};

const runWorkers = async (config: Config, file: string, { logger, reporter }: Output): Promise<void> => {
  const { ready, stop, kill } = supervise(config, {
    program: file,
    reportNote: reporter.reportNote,
  });
  const uncaught = endOnUncaught({ stop, limitMs: stopMsMax(config), logger });
  const drain = (): void => void stop().then((code) => process.exit(uncaught.happened ? 1 : code), fail);
  obeySignals(drain, kill);
  const workers = await ready;
  const [first = { url: '', notes: [], otherNodes: [] }] = workers;
  const adminUrl = workers.map((worker) => worker.adminUrl).join(',');
  reportReady(reporter, config, { ...first, adminUrl, demo: null });
};

/** The first signal drains, the second ends the process at once. The parent process can drain, too. */
const obeySignals = (drain: () => void, endAtOnce: () => void): void => {
  let signals = 0;
  for (const signal of endingSignals) {
    process.on(signal, () => {
      signals += 1;
      if (signals > 1) endAtOnce();
      else drain();
    });
  }
  // Not counted: when a terminal closes, SIGHUP may arrive twice, once through the launcher.
  for (const signal of drainingSignals) process.on(signal, drain);
  obeySupervisor(drain);
};

/** Installs the handlers of a node, and returns whether it drains. */
const drainOnSignals = (
  stop: () => Promise<void>,
  uncaught: Uncaught,
  reporter: Reporter,
): (() => boolean) => {
  let draining = false;
  const drain = (): void => {
    if (draining) return;
    draining = true;
    reporter.reportDraining();
    stop().then(() => {
      reporter.reportStopped();
      process.exit(uncaught.happened ? 1 : 0);
    }, fail);
  };
  obeySignals(drain, () => process.exit(130));
  return () => draining;
};

/** Keeps the process alive when the reader of its output goes away (`npm start | head`). */
const ignoreOutputErrors = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
};

/** Runs until the process ends. */
export const runProgram = (input: ProgramInput): void => {
  // The young generation is small and mostly garbage: parallel helper threads cost more than they save.
  setFlagsFromString('--no-parallel-scavenge');
  ignoreOutputErrors();
  run(input).catch(fail);
};
