/**
 * Starts the thread of the embedded Postgres, which loads its code and then waits for a folder to open.
 *
 * A start begins with it, so that the code loads beside that of the server. Imports nothing else for this
 * reason.
 */
import { Worker } from 'node:worker_threads';
import type { OpenRequest, WorkerReply, WorkerRequest } from './pglite-worker.ts';

/** The thread makes few objects, and V8 would let them take as much as those of a server. */
const youngMbMax = 12;

export type SqlThread = ReturnType<typeof startSqlThread>;

export const startSqlThread = () => {
  const worker = new Worker(new URL('./pglite-worker.ts', import.meta.url), {
    name: 'pglite',
    resourceLimits: { maxYoungGenerationSizeMb: youngMbMax },
  });
  let failure = '';
  let ended = false;
  worker.on('message', (message: WorkerReply) => {
    if (message.kind === 'failed') failure = message.message;
  });
  worker.on('error', (error) => {
    failure = error.message;
  });
  worker.on('exit', () => {
    ended = true;
  });
  const opening = Promise.withResolvers<void>();
  return {
    worker,
    /** Tells it which folder to open. */
    open: (request: Omit<OpenRequest, 'kind'>): void => {
      worker.postMessage({ kind: 'open', ...request } satisfies WorkerRequest);
      opening.resolve();
    },
    /** Resolves once it knows its folder. */
    opening: opening.promise,
    hasEnded: () => ended,
    /** Says why the thread has ended: its last failure. */
    describeEnd: () => failure || 'the database thread ended',
  };
};
