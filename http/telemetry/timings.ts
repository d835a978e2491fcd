/**
 * Histograms that cost nanoseconds per observation: fixed buckets in plain arrays, rendered only on a scrape.
 *
 * prom-client's own histogram hashes its labels on every observation, which is too slow for the hot path.
 * This one is registered in prom-client's registry like any other metric.
 */
import type { MetricObjectWithValues, MetricValueWithName, Registry } from 'prom-client';

/** Upper bounds in ms; one more bucket counts everything above. */
export const boundsMs = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500] as const;

export interface Timings {
  /** Adds one duration under the label with this index. */
  observe(index: number, milliseconds: number): void;
  /** How many durations of this label are in each bucket. */
  getCounts(index: number): readonly number[];
}

interface Series {
  readonly label: string;
  readonly counts: number[];
  sumMs: number;
}

const createSeries = (label: string): Series => ({
  label,
  counts: new Array<number>(boundsMs.length + 1).fill(0),
  sumMs: 0,
});

const findBucket = (milliseconds: number): number => {
  let index = 0;
  while (index < boundsMs.length && milliseconds > (boundsMs[index] as number)) index++;
  return index;
};

type MetricValue = MetricValueWithName<string>;

const toMetricValues = (name: string, labelName: string, series: Series): MetricValue[] => {
  const labels: Record<string, string> = labelName === '' ? {} : { [labelName]: series.label };
  let total = 0;
  const values: MetricValue[] = series.counts.map((count, index) => {
    total += count;
    const bound = boundsMs[index];
    const le = bound === undefined ? '+Inf' : String(bound / 1_000);
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total };
  });
  values.push({ metricName: `${name}_sum`, labels, value: series.sumMs / 1_000 });
  values.push({ metricName: `${name}_count`, labels, value: total });
  return values;
};

export interface TimingsOptions {
  readonly name: string;
  readonly help: string;
  /** `''` for a histogram without labels. */
  readonly labelName: string;
  readonly labels: readonly string[];
}

/** Registers a histogram in seconds. Observations with an index outside `labels` are ignored. */
export const registerTimings = (registry: Registry, options: TimingsOptions): Timings => {
  const { name, help, labelName } = options;
  const allSeries = options.labels.map(createSeries);
  const listObserved = (): Series[] => allSeries.filter((series) => series.counts.some((count) => count > 0));
  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: async (): Promise<MetricObjectWithValues<MetricValue>> =>
      ({
        name,
        help,
        type: 'histogram',
        aggregator: 'sum',
        values: listObserved().flatMap((series) => toMetricValues(name, labelName, series)),
      }) as unknown as MetricObjectWithValues<MetricValue>,
    reset: () => {
      for (const series of allSeries) series.counts.fill(0);
    },
  };
  registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);
  return {
    observe: (index, milliseconds) => {
      const series = allSeries[index];
      if (series === undefined) return;
      const bucket = findBucket(milliseconds);
      series.counts[bucket] = (series.counts[bucket] as number) + 1;
      series.sumMs += milliseconds;
    },
    getCounts: (index) => allSeries[index]?.counts ?? [],
  };
};
