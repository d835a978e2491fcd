/**
 * Starts the thread of the embedded Postgres, which loads its code and then waits for a folder to open.
 *
 * A start begins with it, so that the code loads beside that of the server. Imports nothing else for this
 * reason.
 */
import { Worker } from 'node:worker_threads';

export interface SqlThread {
  readonly worker: Worker;
  /** Why the thread has ended; `null` while it runs. */
  getFailure(): string | null;
}

/** The thread makes few objects, and V8 would let them take as much as those of a server. */
const youngMbMax = 12;

export const startSqlThread = (): SqlThread => {
  const worker = new Worker(new URL('./pglite-worker.ts', import.meta.url), {
    name: 'pglite',
    resourceLimits: { maxYoungGenerationSizeMb: youngMbMax },
  });
  let failure: string | null = null;
  worker.on('error', (error) => {
    failure = error.message;
  });
  worker.on('exit', () => {
    failure ??= 'the database thread ended';
  });
  return { worker, getFailure: () => failure };
};
