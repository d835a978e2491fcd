/**
 * The points of a history: which step a range gets, its times, and the values of each metric at these times.
 *
 * Times are minutes since 1970, UTC. A point has a value only if a sample ran for its time; then it is that
 * of the listing's last row up to that time. Integers stay as the digits that SQL sent. Pure.
 */
import { DomainError } from '../../../engine/errors.ts';
import type { EntityKind } from '../../../engine/ids.ts';
import type { HistoryLevel, HistoryMetric, HistoryRow } from '../../../storage/catalogue/catalogue.ts';
import type { FacadeSettings } from '../../app.ts';
import { createValidationError } from '../../response/errors.ts';

export type ShownMetric = HistoryMetric | 'status';
const votes = ['votes', 'votes_logged'] as const;
const clicks = ['clicks', 'unique_clicks', 'invite_clicks'] as const;

const metricsByKind: Readonly<Record<EntityKind, readonly ShownMetric[]>> = {
  bot: ['servers', 'users', 'shards', 'status', ...clicks, ...votes],
  server: [...clicks, ...votes],
  team: votes,
  pack: votes,
};

/** These never fall, so they have a change per step. */
const counters: ReadonlySet<string> = new Set([...clicks, 'votes_logged']);

/** Parses names separated by commas; all metrics of the kind if absent. Throws `validation_failed`. */
export const parseMetrics = (kind: EntityKind, text: string | undefined): readonly ShownMetric[] => {
  const known = metricsByKind[kind];
  if (text === undefined) return known;
  const names = [...new Set(text.split(','))];
  const isKnown = (name: string): name is ShownMetric => known.includes(name as ShownMetric);
  if (names.every(isKnown)) return names;
  const message = `must be names of ${known.join(', ')}, separated by commas`;
  throw createValidationError('query', { '/metrics': message });
};

export interface Step {
  readonly name: string;
  readonly level: HistoryLevel;
  readonly minutes: number;
  /** Older values have expired. */
  readonly keptMinutes: number;
}

type HistorySettings = Pick<FacadeSettings, 'historyFineMinutes' | 'historyFineHours' | 'historyHourDays'>;

/** The steps that these settings keep, the finest first. */
export const listSteps = (settings: HistorySettings): readonly Step[] => {
  const { historyFineMinutes: minutes, historyFineHours, historyHourDays } = settings;
  const steps: readonly Step[] = [
    { name: `${minutes}m`, level: 'fine', minutes, keptMinutes: minutes && historyFineHours * 60 },
    { name: '1h', level: 'hours', minutes: 60, keptMinutes: historyHourDays * 1_440 },
    { name: '1d', level: 'days', minutes: 1_440, keptMinutes: Number.POSITIVE_INFINITY },
  ];
  return steps.filter(({ keptMinutes }) => keptMinutes > 0);
};

export interface Range {
  readonly from: number;
  readonly to: number;
}

const autoPointsMax = 500;
const pointsMax = 1_000;

const countPoints = ({ from, to }: Range, { minutes }: Pick<Step, 'minutes'>): number =>
  Math.max(0, Math.floor(to / minutes) - Math.ceil(from / minutes) + 1);

/**
 * Chooses the step: the one of this name, or for `auto` the finest that still has the whole range and few
 * points. `nowMinute` is the time of the newest sample. Throws `validation_failed` or `range_too_long`.
 */
export const selectStep = (
  steps: readonly Step[],
  name: string,
  { range, nowMinute }: { range: Range; nowMinute: number },
): Step => {
  const fits = (pointsLimit: number) => (step: Step) => countPoints(range, step) <= pointsLimit;
  const last = steps.at(-1) as Step;
  const isKept = ({ keptMinutes }: Step): boolean => range.from >= nowMinute - keptMinutes;
  const step =
    name === 'auto'
      ? (steps.filter(isKept).find(fits(autoPointsMax)) ?? last)
      : steps.find((candidate) => candidate.name === name);
  if (step === undefined) {
    const names = steps.map((candidate) => candidate.name).join(', ');
    throw createValidationError('query', { '/step': `must be one of ${names}, auto` });
  }
  if (fits(pointsMax)(step)) return step;
  const fitting = steps.find(fits(pointsMax))?.name ?? '';
  const points = String(countPoints(range, step));
  throw new DomainError(
    'range_too_long',
    `The range has ${points} points with step=${step.name}; at most ${pointsMax} are sent. ` +
      (fitting === '' ? 'Choose a shorter range.' : `Choose step=${fitting}, or a shorter range.`),
    { points, points_max: String(pointsMax), step: fitting },
  );
};

/** The times of a range: whole multiples of the step. */
export const listTimes = (range: Range, { minutes }: Pick<Step, 'minutes'>): readonly number[] => {
  const first = Math.ceil(range.from / minutes) * minutes;
  return Array.from({ length: countPoints(range, { minutes }) }, (_, index) => first + index * minutes);
};

/** JSON of one value. */
type Literal = string;

const statuses: Readonly<Record<string, Literal>> = {
  o: '"online"',
  i: '"idle"',
  d: '"dnd"',
  f: '"offline"',
};

const toLiteral = (row: HistoryRow, metric: ShownMetric): Literal =>
  metric === 'status' ? (statuses[row.status] ?? 'null') : String(row[metric]);

/** The row of each time: the last one up to it, `null` where there is none or no sample ran. */
const alignRows = (
  times: readonly number[],
  { rows, known }: { rows: readonly HistoryRow[]; known: ReadonlySet<number> },
): readonly (HistoryRow | null)[] => {
  let next = 0;
  let last: HistoryRow | null = null;
  return times.map((time) => {
    for (let row = rows[next]; row !== undefined && row.at <= time; row = rows[++next]) last = row;
    return known.has(time) ? last : null;
  });
};

/** Differences to the point before that has a value, so that their sum is the whole change. */
const toChanges = (
  points: readonly (HistoryRow | null)[],
  metric: HistoryMetric,
  before: HistoryRow | null,
): readonly Literal[] => {
  let last = before;
  return points.map((point) => {
    const literal = point && last ? String(Number(point[metric]) - Number(last[metric])) : 'null';
    last = point ?? last;
    return literal;
  });
};

export interface SeriesInput {
  readonly times: readonly number[];
  /** Ascending; the first may be older than all times. */
  readonly rows: readonly HistoryRow[];
  /** The times that have values, for all listings alike. */
  readonly known: ReadonlySet<number>;
  readonly metrics: readonly ShownMetric[];
  /** Counters as changes since the point before. */
  readonly change: boolean;
}

/** JSON literals by metric, one per time. */
export const buildSeries = (input: SeriesInput): ReadonlyMap<ShownMetric, readonly Literal[]> => {
  const points = alignRows(input.times, input);
  const before = input.rows.findLast(({ at }) => at < (input.times[0] ?? 0)) ?? null;
  return new Map(
    input.metrics.map((metric) => [
      metric,
      input.change && metric !== 'status' && counters.has(metric)
        ? toChanges(points, metric, before)
        : points.map((point) => (point === null ? 'null' : toLiteral(point, metric))),
    ]),
  );
};

const formatTime = (minute: number): string => new Date(minute * 60_000).toISOString();

export interface RenderedRange {
  readonly times: readonly number[];
  readonly series: ReadonlyMap<ShownMetric, readonly Literal[]>;
}

/** The members `times` and `series` of the reply. */
export const renderSeries = ({ times, series }: RenderedRange): string => {
  const columns = [...series].map(([metric, literals]) => `"${metric}":[${literals.join(',')}]`);
  const texts = times.map((time) => `"${formatTime(time)}"`);
  return `"times":[${texts.join(',')}],"series":{${columns.join(',')}}`;
};

/** RFC 4180. Only times, numbers and statuses occur, so nothing needs quoting. */
export const renderCsv = ({ times, series }: RenderedRange): string => {
  const columns = [...series.values()];
  const lines = times.map((time, index) =>
    [formatTime(time), ...columns.map((literals) => (literals[index] ?? '').replace(/^null$|"/g, ''))].join(
      ',',
    ),
  );
  return `${['time', ...series.keys()].join(',')}\r\n${lines.map((line) => `${line}\r\n`).join('')}`;
};
