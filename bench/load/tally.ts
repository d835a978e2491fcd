/**
 * Counts the answers of a measured time.
 */
import { build } from 'hdr-histogram-js';
import { percentiles } from './order.ts';

export const createTally = () => {
  const histogram = build({ highestTrackableValue: 60_000_000, numberOfSignificantValueDigits: 3 });
  const failures: Record<string, number> = {};
  let requests = 0;
  let failed = 0;
  return {
    /** `status` 0: no answer. */
    take: (status: number, milliseconds: number): void => {
      if (status !== 0) requests += 1;
      histogram.recordValue(Math.max(1, Math.round(milliseconds * 1_000)));
      if (status >= 200 && status < 300) return;
      const name = status === 0 ? 'no answer' : String(status);
      failures[name] = (failures[name] ?? 0) + 1;
      failed += 1;
    },
    read: () => ({
      ...{ requests, failed, failures },
      latencyMs: percentiles.map((percentile) => histogram.getValueAtPercentile(percentile) / 1_000),
    }),
  };
};
