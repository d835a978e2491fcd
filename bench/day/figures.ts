/**
 * What a day shows besides what it lost: how memory grows, whether requests became slower, which jobs ran.
 * Pure.
 */

export interface MemorySample {
  /** Share of the day. */
  readonly at: number;
  readonly bytes: number;
}

/** The line of least squares through the samples: its rise over a whole day ÷ their mean; 0 without any. */
export const computeDailyGrowth = (samples: readonly MemorySample[]): number => {
  const count = samples.length;
  if (count < 2) return 0;
  const mean = (pick: (sample: MemorySample) => number): number =>
    samples.reduce((sum, sample) => sum + pick(sample), 0) / count;
  const [at, bytes] = [mean((sample) => sample.at), mean((sample) => sample.bytes)];
  const spread = mean((sample) => (sample.at - at) ** 2);
  if (spread === 0) return 0;
  return mean((sample) => (sample.at - at) * (sample.bytes - bytes)) / spread / bytes;
};

interface Timed {
  readonly callMs: number;
  readonly returnMs: number;
  readonly outcome: string;
}

/** The 99th percentile of the acknowledged operations that began within the time; 0 without any. */
export const computeP99 = (
  operations: readonly Timed[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): number => {
  const times = operations
    .filter(({ callMs, outcome }) => outcome === 'ok' && callMs >= fromMs && callMs < toMs)
    .map(({ callMs, returnMs }) => returnMs - callMs)
    .sort((left, right) => left - right);
  return times[Math.floor(times.length * 0.99)] ?? 0;
};

export interface Jobs {
  readonly declared: ReadonlySet<string>;
  readonly succeeded: ReadonlySet<string>;
}

const listLabels = (metrics: string, name: string): string[] =>
  [...metrics.matchAll(new RegExp(`^${name}\\{job="(\\w+)"\\}`, 'gm'))].map(([, job]) => job as string);

/** Of several readings of the nodes' metrics, each before its process ended. */
export const readJobs = (metrics: readonly string[]): Jobs => ({
  declared: new Set(metrics.flatMap((text) => listLabels(text, 'rollcall_job_failures_total'))),
  succeeded: new Set(
    metrics.flatMap((text) => listLabels(text, 'rollcall_job_last_success_timestamp_seconds')),
  ),
});
