/**
 * Controls the autocannon generator: gives it one order at a time and reports when the measured time begins
 * and ends, so that the servers' CPU is read at the same moments.
 *
 * The generator is a process of its own, apart from the servers and from the suite.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { placeProcess } from '../machine/places.ts';
import type { Directory } from '../scenarios/directory.ts';
import type { Load, LoadResult, Order, Report, Watch } from './order.ts';

export const openAutocannon = (directory: Directory): Load => {
  const child = fork(fileURLToPath(new URL('./worker.ts', import.meta.url)), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true,
  });
  child.send({ kind: 'directory', directory });
  return {
    name: 'autocannon',
    measure: (order, watch) => {
      if (order.placement !== null && child.pid !== undefined)
        placeProcess(child.pid, order.placement, false);
      return perform(child, order, watch);
    },
    close: async () => {
      if (hasEnded(child)) return;
      const left = once(child, 'exit');
      child.kill('SIGKILL');
      await left;
    },
  };
};

const endedMessage = 'the load generator has ended';
const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null;

const perform = (child: ChildProcess, order: Order, watch: Watch): Promise<LoadResult> =>
  new Promise((resolve, reject) => {
    if (hasEnded(child)) throw new Error(endedMessage);
    const endOnce = (finish: () => void): void => {
      child.off('message', take);
      child.off('exit', left);
      finish();
    };
    const left = (): void => endOnce(() => reject(new Error(endedMessage)));
    const take = (report: Report): void => {
      if (report.kind === 'begun') watch.begun();
      else if (report.kind === 'ended') watch.ended();
      else if (report.kind === 'done') endOnce(() => resolve(report.result));
      else endOnce(() => reject(new Error(report.message)));
    };
    child.on('message', take);
    child.on('exit', left);
    child.send({ kind: 'order', order });
  });
