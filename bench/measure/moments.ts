/**
 * Samples Rollcall's memory and flush lag during the measurement, once a second, from /proc and its metrics
 * page.
 *
 * A sample costs the server about a millisecond. One request at a time: the next one waits for the answer to
 * the last.
 */

import { readResidentBytes } from '../machine/cpu.ts';
import type { Moment } from '../report/summary.ts';
import type { ServerProcess } from '../servers/process.ts';
import { parseMetric, readMetrics } from './metrics.ts';

const everyMs = 1_000;

/** Adds to `moments` until it is stopped. */
export const watchMoments = (server: ServerProcess, moments: Moment[]): { stop(): void } => {
  const begunMs = performance.now();
  let isPolling = false;
  const look = async (): Promise<void> => {
    const text = await readMetrics(server);
    moments.push({
      atSeconds: (performance.now() - begunMs) / 1_000,
      residentBytes: readResidentBytes(server.child.pid ?? 0),
      flushLagSeconds: parseMetric(text, 'rollcall_flush_lag_seconds'),
    });
  };
  const timer = setInterval(() => {
    if (isPolling) return;
    isPolling = true;
    look()
      .catch(() => {
        // The suite handles a server that ends.
      })
      .finally(() => {
        isPolling = false;
      });
  }, everyMs);
  return { stop: () => clearInterval(timer) };
};
