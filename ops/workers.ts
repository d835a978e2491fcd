/**
 * `WORKERS=n`: several processes share the public port, each a whole node, and this one minds them.
 *
 * Owns starting, starting again with back-off, and ending them together. It listens on nothing and opens no
 * store, so there is little in it that can fail. A worker ends by itself when its supervisor is gone. One
 * that cannot even start the first time ends them all: the settings are wrong. Called by main.ts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from './config.ts';
import { readOperatorToken } from './operator-token.ts';

/** What a worker tells when it listens. */
export interface WorkerReady {
  readonly url: string;
  readonly adminUrl: string;
  readonly notes: readonly string[];
}

/** The word by which a worker knows what it is; its number follows. */
const workerWord = '--worker=';
/** The message that drains a worker. Ctrl-C reaches all processes of a terminal by itself, so no signal. */
const drainMessage = 'drain';

const backOffMinMs = 100;
const backOffMaxMs = 10_000;
/** A worker that lived so long starts with the shortest back-off again. */
const soundMs = 30_000;
/** What closing the stores may take beyond the settings' times. */
const closingMs = 10_000;

interface Worker {
  readonly index: number;
  child: ChildProcess | null;
  failures: number;
}

interface SupervisorState {
  readonly program: string;
  readonly workers: readonly Worker[];
  readonly ending: AbortController;
  readonly onReady: (index: number, ready: WorkerReady) => void;
  /** Whether every worker has been ready once. */
  hasStarted: boolean;
}

export interface Supervisor {
  /** Resolves to what the workers told when all are ready. Rejects, with all ended, when one cannot start. */
  readonly ready: Promise<readonly WorkerReady[]>;
  /** Drains all at once; those that do not end in time are killed. Resolves to the exit code. Idempotent. */
  stop(): Promise<number>;
  /** Ends all at once, now. */
  kill(): void;
}

/** A node of these settings that is asked to stop and still lives after this hangs. */
export const stopMsMax = ({ leaveMs, drainMs }: Pick<Config, 'leaveMs' | 'drainMs'>): number =>
  leaveMs + 2 * drainMs + closingMs;

/** Starts the workers. `program` is the file that each of them runs. */
export const supervise = (config: Config, program: string): Supervisor => {
  // Made before there are several that would make it.
  if (config.adminToken === '') readOperatorToken(config.dataDir);
  const told = new Map<number, WorkerReady>();
  let resolve: (ready: readonly WorkerReady[]) => void;
  let reject: (error: Error) => void;
  const ready = new Promise<readonly WorkerReady[]>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  const state: SupervisorState = {
    program,
    workers: Array.from({ length: config.workers }, (_, index) => ({ index, child: null, failures: 0 })),
    ending: new AbortController(),
    hasStarted: false,
    onReady: (index, words) => {
      told.set(index, words);
      if (told.size < config.workers || state.hasStarted) return;
      state.hasStarted = true;
      resolve([...told].sort(([one], [other]) => one - other).map(([, one]) => one));
    },
  };
  const limitMs = stopMsMax(config);
  let stopped: Promise<number> | null = null;
  const stop = (): Promise<number> => {
    stopped ??= end(state, limitMs, lives);
    return stopped;
  };
  const lives = state.workers.map((worker) => superviseWorker(state, worker));
  for (const life of lives) {
    life.catch(async (error: Error) => {
      await stop();
      reject(error);
    });
  }
  return { ready, stop, kill: () => kill(state) };
};

/** One worker after another in one place, until all are to end. Rejects when the first one cannot start. */
const superviseWorker = async (state: SupervisorState, worker: Worker): Promise<number> => {
  const { signal } = state.ending;
  for (;;) {
    const startedMs = performance.now();
    const { code, isReady } = await run(state, worker);
    if (signal.aborted) return code;
    if (!isReady && !state.hasStarted) throw new Error(`Worker ${worker.index + 1} could not start.`);
    worker.failures = performance.now() - startedMs > soundMs ? 1 : worker.failures + 1;
    const waitMs = Math.min(backOffMaxMs, backOffMinMs * 2 ** (worker.failures - 1));
    process.stderr.write(`Worker ${worker.index + 1} ended (${code}); another starts in ${waitMs} ms.\n`);
    await pause(waitMs, undefined, { signal }).catch(() => {
      // All are to end: the loop sees it.
    });
    if (signal.aborted) return 0;
  }
};

const run = (state: SupervisorState, worker: Worker): Promise<{ code: number; isReady: boolean }> => {
  const words = [...process.execArgv, state.program, `${workerWord}${worker.index}`];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  worker.child = child;
  let isReady = false;
  child.on('message', (message) => {
    isReady = true;
    state.onReady(worker.index, message as WorkerReady);
  });
  return new Promise((resolve) => {
    const ended = (code: number): void => {
      worker.child = null;
      resolve({ code, isReady });
    };
    child.once('error', () => ended(1));
    child.once('exit', (code) => ended(code ?? 1));
  });
};

const end = async (
  state: SupervisorState,
  limitMs: number,
  lives: readonly Promise<number>[],
): Promise<number> => {
  state.ending.abort();
  for (const { child } of state.workers) if (child?.connected) child.send(drainMessage);
  const late = setTimeout(() => kill(state), limitMs);
  const codes = await Promise.allSettled(lives);
  clearTimeout(late);
  return codes.every((life) => life.status === 'fulfilled' && life.value === 0) ? 0 : 1;
};

const kill = ({ workers }: SupervisorState): void => {
  for (const { child } of workers) child?.kill('SIGKILL');
};

/** In a worker: its number, or `null` in a process that is none. */
export const parseWorkerIndex = (words: readonly string[]): number | null => {
  const word = words.find((one) => one.startsWith(workerWord));
  return word === undefined ? null : Number(word.slice(workerWord.length));
};

/**
 * Drains when the process that started this one says so, or is gone: a worker's supervisor, or the launcher
 * of `npm start`. Does nothing in a process that was started by itself.
 */
export const obeySupervisor = (drain: () => void): void => {
  process.on('message', (message) => {
    if (message === drainMessage) drain();
  });
  process.on('disconnect', drain);
  // It may have gone while this process was loading.
  if (process.send !== undefined && !process.connected) drain();
};
