/**
 * What a day shows besides what it lost: how memory grows, whether requests became slower, which jobs ran.
 * Pure.
 */
import { computeSpread, percentile } from '../report/statistics.ts';

export interface MemorySample {
  /** Days since the first began. */
  readonly at: number;
  readonly bytes: number;
  /** Of them pages of files: the program, and what the hot store maps. */
  readonly fileBytes: number;
}

/**
 * The rise of `read`, by default of all bytes, from each day to the next ÷ the first day's bytes. All looks
 * are at the same hours, and their median stands for a day; a slope within a day would multiply each small
 * step by three.
 */
export const computeGrowths = <Sample extends Omit<MemorySample, 'fileBytes'>>(
  samples: readonly Sample[],
  read: (sample: Sample) => number = ({ bytes }) => bytes,
): readonly number[] => {
  const numbers = new Set(samples.map(({ at }) => Math.floor(at)));
  const days = [...numbers].map((number) => samples.filter(({ at }) => Math.floor(at) === number));
  const medianOf = (day: readonly Sample[], pick: (sample: Sample) => number): number =>
    computeSpread(day.map(pick)).median;
  return days.slice(1).map((day, index) => {
    const before = days[index] as readonly Sample[];
    return (medianOf(day, read) - medianOf(before, read)) / medianOf(before, ({ bytes }) => bytes);
  });
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
