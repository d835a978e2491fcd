/**
 * Shows the history of a listing as JSON or CSV.
 *
 * Equal requests get the same bytes until the next sample, without a look at SQL but for the times that have
 * values. Counts no click.
 */
import type { EntityKind, EntityRef } from '../../engine/ids.ts';
import type { HistoryTimes } from '../../storage/catalogue/catalogue.ts';
import { createValidationError } from '../response/validation-error.ts';
import { type App, type Reply, replyOk } from '../route.ts';
import type { HistoryQuery, VoteMonthsReply } from '../schema/history.ts';
import {
  buildSeries,
  listSteps,
  listTimes,
  parseMetrics,
  type Range,
  renderCsv,
  renderSeries,
  type SeriesInput,
  type ShownMetric,
  type Step,
  selectStep,
} from './history-points.ts';

const minuteMs = 60_000;
const dayMinutes = 1_440;

const timeShape = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;
/** Years that the history may name. */
const minuteMax = Date.UTC(2200, 0) / minuteMs;

/** Whether the calendar has this date: `Date.parse` takes February 30 for March 2. */
const isDate = (text: string): boolean => {
  const day = Date.parse(text);
  return !Number.isNaN(day) && new Date(day).toISOString().startsWith(text);
};

const parseTime = (name: string, text: string): number => {
  const isTime = timeShape.test(text) && isDate(text.slice(0, 'yyyy-mm-dd'.length));
  const minute = isTime ? Date.parse(text) / minuteMs : Number.NaN;
  if (minute >= 0 && minute < minuteMax) return minute;
  const message = 'must be a time after 1970 such as 2026-03-01T12:00:00Z, or a date';
  throw createValidationError('query', { [name]: message });
};

/**
 * Without `from`, a day up to `to`; without `to`, up to the newest sample. So a client that requests what
 * came after its last point gets a range, also before the next sample.
 */
const parseRange = (query: HistoryQuery, newest: number): Range => {
  const since = query.from === undefined ? null : parseTime('/from', query.from);
  const to = query.to === undefined ? Math.max(newest, since ?? 0) : parseTime('/to', query.to);
  const from = since ?? Math.max(0, to - dayMinutes);
  if (from <= to) return { from, to };
  throw createValidationError('query', { '/from': 'must not be later than "to"' });
};

interface HistoryRequest {
  readonly ref: EntityRef;
  readonly metrics: readonly ShownMetric[];
  readonly range: Range;
  readonly step: Step;
  readonly change: boolean;
  readonly format: 'json' | 'csv';
}

const readBody = async (app: App, request: HistoryRequest, times: HistoryTimes): Promise<() => string> => {
  const { level } = request.step;
  const points = listTimes(request.range, request.step);
  const [from = 0] = points;
  const to = points.at(-1) ?? 0;
  const rows = points.length === 0 ? [] : await app.catalogue.history.rows(request.ref, { level, from, to });
  return () => renderBody(request, { times: points, rows, known: new Set(times[level]) });
};

const renderBody = (
  { ref, metrics, range, step, change, format }: HistoryRequest,
  points: Pick<SeriesInput, 'times' | 'rows' | 'known'>,
): string => {
  const { times } = points;
  const series = buildSeries({ ...points, metrics, change });
  if (format === 'csv') return renderCsv({ times, series });
  const text = (minute: number): string => new Date(minute * minuteMs).toISOString();
  const head = { target_type: ref.kind, target_id: ref.id, step: step.name };
  const bounds = { from: text(range.from), to: text(range.to) };
  return `${JSON.stringify({ ...head, ...bounds }).slice(0, -1)},${renderSeries({ times, series })}}`;
};

/** Equal keys mean equal bytes: what expired is no longer in `times`, and what is rolled up is. */
const toKey = (
  { ref, metrics, range, step, change, format }: HistoryRequest,
  times: HistoryTimes,
): string => {
  const values = times[step.level];
  const { from, to } = range;
  return [ref.incarnation, step.name, from, to, change, format, values.length, values.at(-1), metrics].join(
    ' ',
  );
};

/** The next sample may change the reply; without samples, a reply is fresh for this long at most. */
const ageMaxSeconds = 300;

const computeAge = (app: App, newest: number): number => {
  const nextMs = (newest + app.settings.historyFineMinutes) * minuteMs;
  const seconds = Math.ceil((nextMs - app.clock.nowMs()) / 1_000);
  return Math.min(ageMaxSeconds, Math.max(1, seconds));
};

/** `GET …/history`. */
export const showHistory = async (
  app: App,
  target: { readonly kind: EntityKind; readonly id: string },
  { query, prefersCsv }: { readonly query: HistoryQuery; readonly prefersCsv: boolean },
): Promise<Reply> => {
  const metrics = parseMetrics(target.kind, query.metrics);
  const { ref } = await app.engine.read(target.kind, target.id);
  const times = await app.catalogue.history.times();
  const newest = times.newest || Math.floor(app.clock.nowMs() / minuteMs);
  const range = parseRange(query, newest);
  const step = selectStep(listSteps(app.settings), query.step ?? 'auto', { range, nowMinute: newest });
  const { change = false, format = prefersCsv ? 'csv' : 'json' } = query;
  const request = { ref, metrics, range, step, change, format };
  const body = await app.history.get(toKey(request, times), () => readBody(app, request, times));
  return {
    status: 200,
    ...body,
    headers: {
      'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/json',
      'Cache-Control': `public, max-age=${computeAge(app, newest)}`,
      ...(query.format === undefined && { Vary: 'Accept' }),
    },
  };
};

const monthsDefault = 12;

/** `GET …/votes/months`. */
export const showVoteMonths = async (
  app: App,
  target: { readonly kind: EntityKind; readonly id: string },
  { limit = monthsDefault }: { readonly limit?: number },
): Promise<Reply> => {
  const { ref } = await app.engine.read(target.kind, target.id);
  const reply: VoteMonthsReply = { results: [...(await app.catalogue.history.months(ref, limit))] };
  return replyOk(reply);
};
