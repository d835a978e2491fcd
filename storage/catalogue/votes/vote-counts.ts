/**
 * Counts a listing's votes by something: by voter, in a month (UTC) or ever, and by day and where they came
 * from.
 *
 * Each is one aggregate of the votes that count, made on request and kept for a minute, for ten where there
 * are many votes. A fleet makes two at a time, by locks of SQL; a node keeps a bounded number of bytes of
 * them, and has a bounded number to make. Embedded SQL has one thread: there the votes are read in slices,
 * and other statements run between.
 */
import { LRUCache } from 'lru-cache';
import type { EntityRef } from '../../../engine/ids.ts';
import { createSingleFlight } from '../../../engine/tools/single-flight.ts';
import { runInSteps } from '../../history/steps.ts';
import type { Fragment, Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { locks } from '../../sql/locks.ts';

export interface NamedCount {
  /** By what votes are counted. */
  readonly name: string;
  readonly votes: number;
}
export interface CountedVotes {
  readonly madeAtMs: number;
  /** The largest, at most 1,000; of equal ones whose newest vote is older, then by name. */
  readonly counts: readonly NamedCount[];
  /** All votes that count. */
  readonly votes: number;
}
interface NewestCount extends NamedCount {
  readonly newest: string;
}

const countsMax = 1_000;
const bytesMax = 64 * 1024 * 1024;
/** A count, besides its name. */
const countBytes = 64;
/** Counts that are made or wait for that, per node. */
const waitingMax = 32;
const freshMs = { usual: 60_000, large: 600_000 };
const largeVotes = 200_000;
const statementMsMax = 30_000;

/** What is counted by, as a column of SQL. */
const columns = {
  author: (sql: Queryable): Fragment => sql`author`,
  /** The day (UTC) and, after a blank, the `ref`. */
  ref: (sql: Queryable): Fragment => sql`
    to_char(created_at at time zone 'UTC', 'YYYY-MM-DD') || ' ' || coalesce(ref, '')`,
};

export interface CountQuery {
  readonly ref: EntityRef;
  readonly by: keyof typeof columns;
  /** Votes cast at this time or later, as SQL reads it. */
  readonly since: string;
}

/** Builds the condition for the votes that count. */
const buildCounted = (sql: Queryable, { ref, since }: CountQuery) => sql`
  target_type = ${ref.kind} and target_id = ${ref.id} and incarnation = ${ref.incarnation}
  and created_at >= ${since}::text::timestamptz and not rejected
  and (immutable or created_at >= (select find_operator_reset(${ref.incarnation}::bigint)))`;

type Counted = Omit<CountedVotes, 'madeAtMs'>;

const toCounts = (rows: readonly NamedCount[]) => rows.map(({ name, votes }) => ({ name, votes }));

const countAtOnce = (sql: Sql, query: CountQuery): Promise<Counted> =>
  sql.begin(async (transaction) => {
    await transaction`select set_config('statement_timeout', ${String(statementMsMax)}, true)`;
    await transaction`select pg_advisory_xact_lock(${locks.voteCounts + (query.ref.incarnation % 2)})`;
    const rows = await transaction<(NamedCount & { readonly all: number })[]>`
      select name, count(*) as votes, (sum(count(*)) over ())::bigint as all
      from votes cross join lateral (select ${columns[query.by](transaction)} as name) as named
      where ${buildCounted(transaction, query)}
      group by name order by count(*) desc, max(created_at), name collate "C" limit ${countsMax}`;
    return { counts: toCounts(rows), votes: rows[0]?.all ?? 0 };
  }) as Promise<Counted>;

interface SliceRow extends NewestCount {
  readonly position: string;
  readonly looked: number;
}

const compare = (left: NewestCount, right: NewestCount): number =>
  right.votes - left.votes ||
  (left.newest === right.newest
    ? Number(left.name > right.name) - Number(left.name < right.name)
    : Number(left.newest > right.newest) - 0.5);

/** Reads slices of votes, the newest first, and adds them up. */
const countInSlices = async (sql: Sql, query: CountQuery): Promise<Counted> => {
  const counts = new Map<string, NewestCount>();
  const options = { monotonicMs: () => performance.now(), signal: new AbortController().signal };
  const votes = await runInSteps(options, 'infinity', async ({ after, limit }) => {
    const rows = await sql<SliceRow[]>`
      with slice as materialized (
        select ${columns[query.by](sql)} as name, created_at from votes
        where ${buildCounted(sql, query)} and created_at < ${String(after)}::text::timestamptz
        order by created_at desc fetch first ${limit} rows with ties
      )
      select name, count(*) as votes, max(created_at)::text as newest,
        (select min(created_at)::text from slice) as position, (select count(*) from slice) as looked
      from slice group by name`;
    for (const { name, votes, newest } of rows) {
      const known = counts.get(name);
      counts.set(name, { name, votes: votes + (known?.votes ?? 0), newest: known?.newest ?? newest });
    }
    const { position = 'infinity', looked = 0 } = rows[0] ?? {};
    return { position, isLast: looked < limit, rows: looked };
  });
  return { counts: toCounts([...counts.values()].sort(compare).slice(0, countsMax)), votes };
};

/** The pool of the embedded SQL has one connection. */
const isEmbedded = (sql: Sql): boolean => sql.options.max === 1;

const countVotes = (sql: Sql, query: CountQuery): Promise<Counted> =>
  asStorage('votes.counts', () => (isEmbedded(sql) ? countInSlices : countAtOnce)(sql, query));

/** Shares each between all who request it while it is made, and while it is fresh. */
export const createVoteCounts = (sql: Sql) => {
  const kept = new LRUCache<string, CountedVotes & { readonly untilMs: number }>({
    maxSize: bytesMax,
    sizeCalculation: ({ counts }) =>
      counts.reduce((sum, { name }) => sum + countBytes + name.length, countBytes),
  });
  const flights = createSingleFlight<CountedVotes>();
  const make = async (key: string, query: CountQuery, nowMs: number): Promise<CountedVotes> => {
    const counted = await countVotes(sql, query);
    const untilMs = nowMs + (counted.votes > largeVotes ? freshMs.large : freshMs.usual);
    const made = { ...counted, madeAtMs: nowMs, untilMs };
    kept.set(key, made);
    return made;
  };
  /** Resolves to the counts; `null` when too many others are being made. */
  return async (query: CountQuery, nowMs: number): Promise<CountedVotes | null> => {
    const key = `${query.ref.incarnation} ${query.by} ${query.since}`;
    const known = kept.get(key);
    if (known !== undefined && nowMs < known.untilMs) return known;
    if (flights.get(key) === undefined && flights.count() >= waitingMax) return null;
    return flights.share(key, () => make(key, query, nowMs));
  };
};
