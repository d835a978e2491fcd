/**
 * The levels of history: fine samples, hours, days; and the columns that all of them have.
 *
 * A time is a whole number of minutes since 1970 in UTC, so that no hour is missing or repeated. A row of any
 * level holds the values at its time, and exists only where they differ from the row before. Pure but for the
 * fragments of SQL.
 */
import type { Queryable } from '../sql/client.ts';

export const levels = ['fine', 'hours', 'days'] as const;
export type Level = (typeof levels)[number];

/** Minutes since 1970, UTC. */
export type Minute = number;

/** Ends of hours and days are whole multiples of these, minutes. */
export const levelMinutes = { hours: 60, days: 1_440 } as const;

export const levelTables = {
  fine: 'history_fine',
  hours: 'history_hours',
  days: 'history_days',
} as const satisfies Record<Level, string>;

/** Integers of a row. All but `servers`, `users`, `shards` and `votes` never fall. */
export const metrics = [
  'servers',
  'users',
  'shards',
  'clicks',
  'unique_clicks',
  'invite_clicks',
  'votes',
  'votes_logged',
] as const;
export type Metric = (typeof metrics)[number];

/** The largest integer of a row. Posted values may be larger; they are stored as this. */
export const integerMax = '9223372036854775807';

/** First letters of the statuses, as rows have them. */
export const statuses = { o: 'online', i: 'idle', d: 'dnd', f: 'offline' } as const;

/** The columns of a row beside `incarnation` and `at`, for `select` and `insert`. */
export const buildColumns = (sql: Queryable) => sql`
  servers, users, shards, clicks, unique_clicks, invite_clicks, votes, votes_logged, status`;

/** The end of the hour or day that this time belongs to: a period ends with, and has, its last minute. */
export const computePeriodEnd = (at: Minute, minutes: number): Minute => Math.ceil(at / minutes) * minutes;
