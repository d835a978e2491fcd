/**
 * Prometheus metrics of the event loop: how long it was busy, and how long it kept others waiting.
 *
 * Node measures the lag by a timer, and its numbers contain the timer's interval, so an idle process seems to
 * be late by a whole interval. Here the interval is subtracted; the names are those of prom-client, for
 * ready-made dashboards. The lag is that since the last scrape; the first interval after a scrape is not
 * measured. Registered by metrics.ts.
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { Counter, collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/** Each sample wakes the process. */
const sampleMs = 500;
/** prom-client samples, too: as rarely as a timer can. */
const neverMs = 2 ** 31 - 1;

type Delay = ReturnType<typeof monitorEventLoopDelay>;
const figures: Readonly<Record<string, (delay: Delay) => number>> = {
  mean: ({ mean }) => mean,
  max: ({ max }) => max,
  p50: (delay) => delay.percentile(50),
  p90: (delay) => delay.percentile(90),
  p99: (delay) => delay.percentile(99),
};
const nameOf = (figure: string): string => `nodejs_eventloop_lag_${figure}_seconds`;

/** Gauges of prom-client with the suffix of a counter. The same numbers exist by type under correct names. */
const misnamedMetrics = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];
const replacedMetrics = [...Object.keys(figures), 'min', 'stddev'].map(nameOf);

/** Registers the default metrics of prom-client, with true ones of the event loop. */
export const registerProcessMeters = (register: Registry): void => {
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
  const delay = monitorEventLoopDelay({ resolution: sampleMs });
  delay.enable();
  for (const [figure, read] of Object.entries(figures)) {
    new Gauge({
      name: nameOf(figure),
      help: `How late the event loop was since the last scrape (${figure}), in seconds.`,
      registers,
      collect() {
        const late = delay.count === 0 ? 0 : read(delay) / 1e6 - sampleMs;
        this.set(Math.max(0, late) / 1_000);
        if (figure === 'p99') delay.reset();
      },
    });
  }
};
