/**
 * The fleet job that keeps the history: samples the totals of all listings, rolls samples up to hours and
 * days, and drops what has expired.
 *
 * It runs once per due time, on one node. If that node dies, the next one continues its sample. Due times at
 * which no node ran have no values: they are holes.
 */
import type { HistoryMeters } from '../../http/telemetry/counts.ts';
import { computePeriodEnd, levelMinutes, type Minute } from '../../storage/history/levels.ts';
import {
  createHistoryPartition,
  dropHistoryBefore,
  purgeDeletedListings,
} from '../../storage/history/partitions.ts';
import { type Period, writePeriod } from '../../storage/history/roll.ts';
import { type HistoryState, readHistoryState, takeSample } from '../../storage/history/sample.ts';
import type { StepOptions } from '../../storage/history/steps.ts';
import { writeVoteMonths } from '../../storage/history/vote-months.ts';
import type { Sql } from '../../storage/sql/client.ts';
import type { Config } from '../config/config.ts';
import { createMinuteCalendar, daily } from './calendar.ts';
import type { FleetJob, JobRun } from './job.ts';

/** `historyFineMinutes`: minutes between two samples; 0 switches the history off. */
export type HistorySettings = Pick<Config, 'historyFineMinutes' | 'historyFineHours' | 'historyHourDays'>;

export interface HistoryJobParts {
  readonly sql: Sql;
  readonly settings: HistorySettings;
  readonly meters: HistoryMeters;
  readonly monotonicMs: () => number;
}

/** Creates the job; call it only if `historyFineMinutes` is not 0. */
export const createHistoryJob = (parts: HistoryJobParts): FleetJob => ({
  name: 'history',
  calendar: createMinuteCalendar(parts.settings.historyFineMinutes),
  run: (run) => runHistory(parts, run),
});

/** Archives the votes of the months that have ended. */
export const createVoteMonthsJob = (parts: Pick<HistoryJobParts, 'sql' | 'monotonicMs'>): FleetJob => ({
  name: 'vote_months',
  calendar: daily,
  run: ({ dueAtMs, signal }) =>
    writeVoteMonths(parts.sql, dueAtMs, { monotonicMs: parts.monotonicMs, signal }),
});

const runHistory = async (parts: HistoryJobParts, { dueAtMs, signal }: JobRun): Promise<void> => {
  const { sql, monotonicMs } = parts;
  const at = Math.floor(dueAtMs / 60_000);
  const options: StepOptions = { monotonicMs, signal };
  const before = await readHistoryState(sql);
  if (before.at > at) return;
  await rollEnded(parts, { state: before, at: at - 1 }, options);
  await sample(parts, { state: before, at }, options);
  await rollEnded(parts, { state: await readHistoryState(sql), at }, options);
  await dropExpired(parts, at);
  await purgeDeletedListings(sql, signal);
};

interface Moment {
  readonly state: HistoryState;
  readonly at: Minute;
}

/** Rolls up the hour and the day of the newest sample if they have ended. Later periods have no sample. */
const rollEnded = async (parts: HistoryJobParts, { state, at }: Moment, options: StepOptions) => {
  for (const level of ['hours', 'days'] as const) {
    if (level === 'hours' && parts.settings.historyHourDays === 0) continue;
    const end = computePeriodEnd(state.at, levelMinutes[level]);
    if (state.at === 0 || end > at || end <= (level === 'hours' ? state.hour : state.day)) continue;
    await roll(parts, { level, end }, options);
  }
};

const roll = async ({ sql, meters }: HistoryJobParts, period: Period, options: StepOptions) => {
  await createHistoryPartition(sql, period.level, period.end);
  meters.recordRows(period.level, await writePeriod(sql, period, options));
};

const sample = async (parts: HistoryJobParts, { state, at }: Moment, options: StepOptions) => {
  const { sql, settings, meters, monotonicMs } = parts;
  const startedMs = monotonicMs();
  const writesFine = settings.historyFineHours > 0;
  if (writesFine) await createHistoryPartition(sql, 'fine', at);
  const rows = await takeSample(sql, { at, writesFine }, options);
  if (writesFine) meters.recordRows('fine', rows);
  meters.recordSample(monotonicMs() - startedMs);
  const missed = (at - state.at) / settings.historyFineMinutes - 1;
  if (state.at > 0 && missed > 0) meters.recordHoles(Math.floor(missed));
};

const dropExpired = async ({ sql, settings }: HistoryJobParts, at: Minute): Promise<void> => {
  await dropHistoryBefore(sql, 'fine', at - settings.historyFineHours * levelMinutes.hours);
  await dropHistoryBefore(sql, 'hours', at - settings.historyHourDays * levelMinutes.days);
};
