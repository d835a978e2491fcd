/**
 * The levels of history: fine samples, hours, days; and the columns that all of them have.
 *
 * A time is a whole number of minutes since 1970 in UTC, so that no hour is missing or repeated. A row of any
 * level has the values at its time, and exists only if they have changed since the row before. Pure but for
 * the fragments of SQL.
 */
import { type FieldName, fieldKinds, fields, totalsFields } from '../../engine/entity/fields.ts';
import type { Queryable } from '../sql/client.ts';

export const levels = ['fine', 'hours', 'days'] as const;
export type Level = (typeof levels)[number];

/** Minutes since 1970, UTC. */
export type Minute = number;

/** The length of an hour and a day, minutes; each ends at a whole multiple of its length. */
export const levelMinutes = { hours: 60, days: 1_440 } as const;

export const levelTables = {
  fine: 'history_fine',
  hours: 'history_hours',
  days: 'history_days',
} as const satisfies Record<Level, string>;

const sampledFields = [
  'servers',
  'users',
  'shards',
  'clicks',
  'uniqueClicks',
  'inviteClicks',
] as const satisfies readonly FieldName[];
type SampledColumn = (typeof totalsFields)[(typeof sampledFields)[number]]['column'];

/** Integers of a row. All but `servers`, `users`, `shards` and `votes` never fall. */
export type Metric = SampledColumn | 'votes' | 'votes_logged';
export const metrics: readonly Metric[] = [
  ...sampledFields.map((name) => totalsFields[name].column),
  'votes',
  'votes_logged',
];
/** The columns of a row beside `incarnation` and `at`. */
const columns: readonly string[] = [...metrics, 'status'];

/** The largest integer of a row. Posted values may be larger; they are stored as this. */
export const integerMax = '9223372036854775807';

/** First letters of the statuses, as rows have them. */
export const statuses = { o: 'online', i: 'idle', d: 'dnd', f: 'offline' } as const;

/** Builds the list of the columns of a row, for `select` and `insert`. */
export const buildColumns = (sql: Queryable) => sql.unsafe(columns.join(', '));

/** Builds the columns of a sample from `totals`, where posted values may be larger than a row can have. */
export const buildSampled = (sql: Queryable) =>
  sql.unsafe(
    metrics
      .map((name) => (isWide(name) ? `least(${name}, ${integerMax}::numeric)::bigint as ${name}` : name))
      .join(),
  );

const isWide = (column: string): boolean =>
  fields.some((field) => field.column === column && fieldKinds[field.kind].column === 'numeric');

/** Builds the condition that a sample differs from the head. */
export const buildDifference = (sql: Queryable) =>
  sql.unsafe(columns.map((name) => `sampled.${name} <> head.${name}`).join(' or '));

/** Builds the assignments that replace the values of a head. */
export const buildReplacement = (sql: Queryable) =>
  sql.unsafe(columns.map((name) => `${name} = excluded.${name}`).join());

/** Computes the end of the period of so many `minutes` that contains `at`; the end belongs to the period. */
export const computePeriodEnd = (at: Minute, minutes: number): Minute => Math.ceil(at / minutes) * minutes;
