/**
 * Prometheus metrics of the event loop: how long it was busy, and how long it kept others waiting.
 *
 * prom-client measures the lag by a timer of its own, which wakes an idle process, and its numbers contain
 * the timer's interval. Here it is how late the timer of the live frames was, once a second; the names are
 * those of prom-client, for ready-made dashboards. The lag is that since the last scrape. Registered by
 * metrics.ts.
 */
import { createHistogram, performance, type RecordableHistogram } from 'node:perf_hooks';
import { Counter, collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/** prom-client samples, too: as rarely as a timer can. */
const neverMs = 2 ** 31 - 1;
const nsPerMs = 1e6;

const figures: Readonly<Record<string, (lag: RecordableHistogram) => number>> = {
  mean: ({ mean }) => mean,
  max: ({ max }) => max,
  p50: (lag) => lag.percentile(50),
  p90: (lag) => lag.percentile(90),
  p99: (lag) => lag.percentile(99),
};
const nameOf = (figure: string): string => `nodejs_eventloop_lag_${figure}_seconds`;

/** Gauges of prom-client with the suffix of a counter. The same numbers exist by type under correct names. */
const misnamedMetrics = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];
const replacedMetrics = [...Object.keys(figures), 'min', 'stddev'].map(nameOf);

/**
 * Registers the default metrics of prom-client, with true ones of the event loop. Returns the function that
 * records how late a timer was, ms.
 */
export const registerProcessMeters = (register: Registry): ((lateMs: number) => void) => {
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: neverMs });
  for (const name of [...misnamedMetrics, ...replacedMetrics]) register.removeSingleMetric(name);
  const registers = [register];
  new Counter({
    name: 'rollcall_event_loop_active_seconds_total',
    help: 'Time that the event loop was not idle: its rate is the share of one core that the node needs.',
    registers,
    collect() {
      this.reset();
      this.inc(performance.eventLoopUtilization().active / 1_000);
    },
  });
  const lag = createHistogram();
  for (const [figure, read] of Object.entries(figures)) {
    new Gauge({
      name: nameOf(figure),
      help: `How late the event loop was since the last scrape (${figure}), in seconds.`,
      registers,
      collect() {
        this.set(lag.count === 0 ? 0 : read(lag) / nsPerMs / 1_000);
        if (figure === 'p99') lag.reset();
      },
    });
  }
  // A timer is late by up to a millisecond, or early.
  return (lateMs) => lag.record(Math.max(1, Math.round(lateMs * nsPerMs)));
};
