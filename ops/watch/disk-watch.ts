/**
 * Logs that the disk of an embedded hot store is full: at once, then once a minute while it lasts, and when
 * there is room again. `/readyz` says the same by itself, without a look here.
 */
import type { Clock } from '../../engine/ports.ts';
import type { NodeWatch, WatchLog } from './watch.ts';

const repeatMs = 60_000;

export interface DiskWatchParts {
  /** Says how much room is lacking; `null` while there is enough. */
  readonly describeFullDisk: () => string | null;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Pick<WatchLog, 'error' | 'info'>;
}

export const createDiskWatch = ({ describeFullDisk, clock, log }: DiskWatchParts): NodeWatch => {
  let loggedMs: number | null = null;
  return {
    everyMs: 1_000,
    listNotes: () => [],
    check: async () => {
      const full = describeFullDisk();
      const nowMs = clock.monotonicMs();
      if (full === null) {
        if (loggedMs !== null) log.info('the disk has room again');
        loggedMs = null;
      } else if (loggedMs === null || nowMs - loggedMs >= repeatMs) {
        log.error(full);
        loggedMs = nowMs;
      }
    },
  };
};
