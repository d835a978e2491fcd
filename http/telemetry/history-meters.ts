/**
 * The Prometheus metrics of the history: what the samples of this node wrote. Updated by ops/jobs; registered
 * by metrics.ts.
 */
import type { Instruments } from './instruments.ts';

const levels = ['fine', 'hours', 'days'] as const;

export interface HistoryMeters {
  /** Counts rows that were written. */
  recordRows(level: (typeof levels)[number], rows: number): void;
  recordSample(milliseconds: number): void;
  /** Counts samples that did not run. */
  recordHoles(holes: number): void;
}

const secondsBuckets = [0.01, 0.05, 0.25, 1, 5, 15, 60, 300];

export const registerHistoryMeters = (instruments: Instruments): HistoryMeters => {
  const rows = instruments.createCounterBy('level', levels, {
    name: 'rollcall_history_rows_total',
    help: 'Rows of the history that this node wrote, by level.',
  });
  const time = instruments.createHistogram(
    'rollcall_history_sample_seconds',
    'Duration of the samples of all listings that this node took.',
    secondsBuckets,
  );
  const holes = instruments.createCounter(
    'rollcall_history_holes_total',
    'Samples of the history that were missed; noted by the node that ran the next one.',
  );
  return {
    recordRows: (level, count) => rows.inc({ level }, count),
    recordSample: (milliseconds) => time.observe(milliseconds / 1_000),
    recordHoles: (count) => holes.inc(count),
  };
};
