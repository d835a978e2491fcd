/**
 * The suite's end of the load worker: gives it one order at a time and tells when the measured time begins
 * and ends, so that the servers' CPU is read at the same moments.
 */
import { Worker } from 'node:worker_threads';
import type { Directory } from '../servers/directory.ts';
import type { LoadResult, Order, Report } from './order.ts';

export interface Watch {
  begun(): void;
  ended(): void;
}
export interface Load {
  readonly name: string;
  /** Rejects when the worker fails or is closed. */
  run(order: Order, watch: Watch): Promise<LoadResult>;
  /** Idempotent. */
  close(): Promise<void>;
}

export const openAutocannon = (directory: Directory): Load => {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: { directory } });
  return {
    name: 'autocannon',
    run: (order, watch) => perform(worker, order, watch),
    close: async () => void (await worker.terminate()),
  };
};

const perform = (worker: Worker, order: Order, watch: Watch): Promise<LoadResult> =>
  new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      worker.off('message', take);
      worker.off('error', reject);
      worker.off('exit', left);
      finish();
    };
    const left = (): void => settle(() => reject(new Error('the load worker has ended')));
    const take = (report: Report): void => {
      if (report.kind === 'begun') watch.begun();
      else if (report.kind === 'ended') watch.ended();
      else if (report.kind === 'done') settle(() => resolve(report.result));
      else settle(() => reject(new Error(report.words)));
    };
    worker.on('message', take);
    worker.on('error', reject);
    worker.on('exit', left);
    worker.postMessage(order);
  });
