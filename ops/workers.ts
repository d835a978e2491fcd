/**
 * The supervisor of `WORKERS=n`: starts n processes that share the public port, each of them a whole node.
 *
 * It restarts a worker that ends, with back-off, and stops all workers together. It listens on nothing and
 * opens no store, so that little can fail in it. A worker drains by itself when the supervisor is gone. If a
 * worker cannot start the first time, all workers end, since the settings must be wrong.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from './config/config.ts';
import { readOperatorToken } from './config/operator-token.ts';
import type { Running } from './rollcall.ts';

/** The message that a worker sends when it listens. */
export type WorkerReady = Pick<Running, 'url' | 'adminUrl' | 'notes' | 'otherNodes'>;

/** The argument that makes a process a worker; its index follows. */
const workerArgument = '--worker=';
/** The message that drains a worker. Not a signal, since a terminal already sends Ctrl-C to every process. */
const drainMessage = 'drain';

const backOffMinMs = 100;
const backOffMaxMs = 10_000;
/** A worker that ran longer than this restarts with the shortest back-off. */
const stableMs = 30_000;
/** The time that closing the stores may take, on top of the settings' times. */
const closingMs = 10_000;

interface Worker {
  readonly index: number;
  child: ChildProcess | null;
}

interface SupervisorState {
  readonly program: string;
  readonly reportNote: (note: string) => void;
  readonly workers: readonly Worker[];
  readonly ending: AbortController;
  readonly onReady: (index: number, ready: WorkerReady) => void;
  /** Whether every worker has been ready once. */
  hasStarted: boolean;
}

/** The longest time a node with these settings may take to stop, ms. A node that takes longer hangs. */
export const stopMsMax = ({ leaveMs, drainMs }: Pick<Config, 'leaveMs' | 'drainMs'>): number =>
  leaveMs + 2 * drainMs + closingMs;

/** Starts the workers. `program` is the file that each of them runs. */
export const supervise = (
  config: Config,
  { program, reportNote }: Pick<SupervisorState, 'program' | 'reportNote'>,
) => {
  // Creates the token before several workers try to.
  if (config.adminToken === '') readOperatorToken(config.dataDir);
  const readyWorkers = new Map<number, WorkerReady>();
  const { promise: ready, resolve, reject } = Promise.withResolvers<readonly WorkerReady[]>();
  const state: SupervisorState = {
    program,
    reportNote,
    workers: Array.from({ length: config.workers }, (_, index) => ({ index, child: null })),
    ending: new AbortController(),
    hasStarted: false,
    onReady: (index, message) => {
      readyWorkers.set(index, message);
      if (readyWorkers.size < config.workers || state.hasStarted) return;
      state.hasStarted = true;
      resolve([...readyWorkers].sort(([a], [b]) => a - b).map(([, message]) => message));
    },
  };
  const limitMs = stopMsMax(config);
  let stopped: Promise<number> | null = null;
  const stop = (): Promise<number> => {
    stopped ??= end(state, limitMs, exits);
    return stopped;
  };
  const exits = state.workers.map((worker) => superviseWorker(state, worker));
  for (const exit of exits) {
    exit.catch(async (error: Error) => {
      await stop();
      reject(error);
    });
  }
  return {
    /** Resolves when all are ready, in their order. Rejects, with all ended, when one cannot start. */
    ready,
    /** Drains all workers; kills those that do not end in time. Resolves to the exit code. Idempotent. */
    stop,
    /** Kills all workers at once. */
    kill: () => kill(state),
  };
};

/**
 * Runs one worker, again after each end, until all stop. Resolves to the exit code; rejects on a failed
 * start.
 */
const superviseWorker = async (state: SupervisorState, worker: Worker): Promise<number> => {
  const { signal } = state.ending;
  let failures = 0;
  for (;;) {
    const startedMs = performance.now();
    const { code, isReady } = await run(state, worker);
    if (signal.aborted) return code;
    if (!isReady && !state.hasStarted) throw new Error(`Worker ${worker.index + 1} could not start.`);
    failures = performance.now() - startedMs > stableMs ? 1 : failures + 1;
    const waitMs = Math.min(backOffMaxMs, backOffMinMs * 2 ** (failures - 1));
    state.reportNote(`Worker ${worker.index + 1} ended (${code}); another starts in ${waitMs} ms.`);
    await pause(waitMs, undefined, { signal }).catch(() => {
      // Stopping: the check below ends the loop.
    });
    if (signal.aborted) return 0;
  }
};

const run = (state: SupervisorState, worker: Worker): Promise<{ code: number; isReady: boolean }> => {
  const args = [...process.execArgv, state.program, `${workerArgument}${worker.index}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  worker.child = child;
  let isReady = false;
  child.on('message', (message) => {
    isReady = true;
    state.onReady(worker.index, message as WorkerReady);
  });
  return new Promise((resolve) => {
    const onEnd = (code: number): void => {
      worker.child = null;
      resolve({ code, isReady });
    };
    child.once('error', () => onEnd(1));
    child.once('exit', (code) => onEnd(code ?? 1));
  });
};

const end = async (state: SupervisorState, limitMs: number, exits: readonly Promise<number>[]) => {
  state.ending.abort();
  for (const { child } of state.workers) if (child?.connected) child.send(drainMessage);
  const killTimer = setTimeout(() => kill(state), limitMs);
  const codes = await Promise.allSettled(exits);
  clearTimeout(killTimer);
  return codes.every((exit) => exit.status === 'fulfilled' && exit.value === 0) ? 0 : 1;
};

const kill = ({ workers }: SupervisorState): void => {
  for (const { child } of workers) child?.kill('SIGKILL');
};

/** The index of this worker, or `null` in a process that is not a worker. */
export const parseWorkerIndex = (argv: readonly string[]): number | null => {
  const argument = argv.find((candidate) => candidate.startsWith(workerArgument));
  return argument === undefined ? null : Number(argument.slice(workerArgument.length));
};

/**
 * Calls `drain` when the parent process (a supervisor, or the launcher of `npm start`) sends the drain
 * message or ends. Does nothing in a process without such a parent.
 */
export const obeySupervisor = (drain: () => void): void => {
  process.on('message', (message) => {
    if (message === drainMessage) drain();
  });
  process.on('disconnect', drain);
  // The parent may have ended while this process was loading.
  if (process.send !== undefined && !process.connected) drain();
};
