/**
 * A past for the demo directory, so that its charts are full at the first look: thirty days, the last eight
 * of them by hours, the last one by minutes.
 *
 * Every listing grows towards its totals, and its votes are those that it has. A handful of statements writes
 * a few thousand rows, because most times need none. Repeating it adds nothing.
 */
import { type Level, levelTables, type Minute } from '../../storage/history/levels.ts';
import { createHistoryPartition } from '../../storage/history/partitions.ts';
import type { Sql } from '../../storage/sql/client.ts';

const dayMinutes = 1_440;
const pastDays = 30;

/** The times of a level, and those of them at which listings have a row. */
interface LevelPast {
  readonly level: Level;
  readonly stepMinutes: number;
  readonly days: number;
  readonly rowMinutes: number;
}

/** The finest step is every other setting's step, too: all of them divide an hour. */
const pasts: readonly LevelPast[] = [
  { level: 'days', stepMinutes: dayMinutes, days: pastDays, rowMinutes: dayMinutes },
  { level: 'hours', stepMinutes: 60, days: 8, rowMinutes: 360 },
  { level: 'fine', stepMinutes: 5, days: 1, rowMinutes: 120 },
];

const listTimes = ({ stepMinutes, days }: LevelPast, now: Minute): readonly Minute[] => {
  const last = Math.floor(now / stepMinutes) * stepMinutes;
  const count = Math.floor((days * dayMinutes) / stepMinutes) + 1;
  return Array.from({ length: count }, (_, index) => last - (count - 1 - index) * stepMinutes);
};

/** Between the first and the last partition there is none without a time, so each time may begin one. */
const createPartitions = async (sql: Sql, level: Level, times: readonly Minute[]): Promise<void> => {
  for (const at of times.filter((time, index) => index === 0 || time % dayMinutes === 0))
    await createHistoryPartition(sql, level, at);
  await createHistoryPartition(sql, level, times.at(-1) ?? 0);
};

/** Shares of the totals by age: listings grow by up to a third in the time, with a wave a day. */
const writeRows = (sql: Sql, past: LevelPast, { times, now }: { times: readonly Minute[]; now: Minute }) => {
  const at = times.filter((time, index) => index === 0 || time % past.rowMinutes === 0);
  return sql`
    insert into ${sql(levelTables[past.level])} (incarnation, at, servers, users, shards, clicks,
      unique_clicks, invite_clicks, votes, votes_logged, status)
    select incarnation, at, round(servers * size), round(users * size), least(shards, 1e9),
      floor(clicks * (1 - 0.4 * age)), floor(unique_clicks * (1 - 0.4 * age)),
      floor(invite_clicks * (1 - 0.4 * age)),
      (select coalesce(sum(case when upvote then 1 else -1 end), 0) from votes
        where votes.target_type = totals.kind and votes.target_id = totals.entity_id
          and votes.created_at <= to_timestamp(at * 60.0)),
      0, case status when 'idle' then 'i' when 'dnd' then 'd' when 'offline' then 'f' else 'o' end::"char"
    from totals
    cross join unnest(${at as number[]}::integer[]) as at
    cross join lateral (select (${now} - at)::float8 / ${pastDays * dayMinutes}::float8 as age) as aged
    cross join lateral (select 1 - age * (incarnation * 37 % 100) / 300.0
      + 0.004 * least(1, 20 * age) * sin(at / 229.0 + incarnation) as size) as sized
    order by incarnation, at
    on conflict do nothing`;
};

/** Writes the past of all listings as of `nowMs`. *Ledger* when it resolves. */
export const writeDemoHistory = async (sql: Sql, nowMs: number): Promise<void> => {
  const now = Math.floor(nowMs / 60_000);
  const newest = new Map<Level, Minute>();
  for (const past of pasts) {
    const times = listTimes(past, now);
    await createPartitions(sql, past.level, times);
    await writeRows(sql, past, { times, now });
    await sql`
      insert into history_times (level, at)
      select ${past.level}, at from unnest(${times as number[]}::integer[]) as at on conflict do nothing`;
    newest.set(past.level, times.at(-1) ?? 0);
  }
  await sql`
    update history_state set at = ${newest.get('fine') ?? 0}, whole_at = ${newest.get('fine') ?? 0},
      hour = ${newest.get('hours') ?? 0}, day = ${newest.get('days') ?? 0}
    where at < ${newest.get('fine') ?? 0}`;
};
