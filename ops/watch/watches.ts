/**
 * What a node watches on its machine and its stores: clocks, eviction by Redis, file descriptors.
 *
 * A watch only reports: notes, and gauges.
 */
import type { Metrics } from '../../http/telemetry/metrics.ts';
import { findTimesAhead, formatTimes, readSqlMs } from '../../storage/clock/look-up.ts';
import type { Stores } from '../../storage/open.ts';
import { startInterval } from '../../storage/timers.ts';
import { systemClock } from '../clock.ts';
import { createClockWatch } from './clock-watch.ts';
import { createDescriptorWatch } from './descriptor-watch.ts';
import { createEvictionWatch } from './eviction-watch.ts';

/** Rejects when Redis may evict counters. Nothing is checked again before `start`. */
export const openWatches = async (
  stores: Stores,
  { recordClockAhead, recordSqlClockAhead, recordEvictingServers }: Metrics,
) => {
  const { redis, sql, owner } = stores;
  const [storeClocks, memorySettings] = [redis?.readClocks ?? null, redis?.memorySettings ?? null];
  const clock = createClockWatch({
    storeClocks,
    sqlClock: owner === null ? null : async () => [await readSqlMs(sql)],
    findAhead: async (nowMs) => formatTimes(await findTimesAhead(stores, nowMs)),
    clock: systemClock,
    onMeasured: recordClockAhead,
    onSqlMeasured: recordSqlClockAhead,
  });
  const eviction = createEvictionWatch({ memorySettings, onMeasured: recordEvictingServers });
  await eviction.assertNoEviction();
  const watches = { clock, eviction, descriptors: createDescriptorWatch() };
  return {
    listNotes: () => Object.values(watches).flatMap((watch) => watch.listNotes()),
    /** Checks the clock now, and all of it again and again. */
    start: (onError: (what: string) => (error: Error) => void): readonly (() => void)[] => {
      void clock.check();
      return Object.entries(watches).map(([name, { everyMs, check }]) =>
        startInterval(everyMs, check, onError(`the check of the ${name}`)),
      );
    },
  };
};
