/**
 * What a day shows besides what it lost: how memory grows, whether requests became slower, which jobs ran.
 * Pure.
 */
import { computeSpread, percentile } from '../report/statistics.ts';

export interface MemorySample {
  /** Share of the day. */
  readonly at: number;
  readonly bytes: number;
  /** Of them pages of files: the program, and what the hot store maps. */
  readonly fileBytes: number;
}

/**
 * The rise of `read`, by default of all bytes, over a whole day ÷ the median of all bytes; 0 without two
 * samples. It is the median of the slopes between all pairs (Theil and Sen), since one look at a peak would
 * turn a line of least squares.
 */
export const computeDailyGrowth = <Sample extends Omit<MemorySample, 'fileBytes'>>(
  samples: readonly Sample[],
  read: (sample: Sample) => number = ({ bytes }) => bytes,
): number => {
  const slopes = samples.flatMap((one, index) =>
    samples.slice(index + 1).map((later) => (read(later) - read(one)) / (later.at - one.at)),
  );
  if (slopes.length === 0) return 0;
  return computeSpread(slopes).median / computeSpread(samples.map(({ bytes }) => bytes)).median;
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
    .map(({ callMs, returnMs }) => returnMs - callMs);
  return times.length === 0 ? 0 : percentile(times, 0.99);
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
