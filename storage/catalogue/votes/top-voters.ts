/**
 * The voters with the most votes on a listing, in a month (UTC) or ever.
 *
 * An order is one aggregate of the listing's votes, made on request and kept for a minute, for ten where
 * there are many votes. A fleet makes two at a time, by locks of SQL, and a node keeps a bounded number of
 * bytes of them. Embedded SQL has one thread: there the votes are read in slices, and other statements run
 * between.
 */
import { LRUCache } from 'lru-cache';
import type { EntityRef } from '../../../engine/ids.ts';
import { createSingleFlight } from '../../../engine/tools/single-flight.ts';
import { runInSteps } from '../../history/steps.ts';
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { locks } from '../../sql/locks.ts';

export type TopPeriod = 'month' | 'all';

export interface TopPlace {
  readonly author: string;
  readonly votes: number;
}
export interface TopVoters {
  readonly madeAtMs: number;
  /** Most votes first; of equal ones whose newest vote is older, then by id. */
  readonly places: readonly TopPlace[];
}
interface VoterCount extends TopPlace {
  readonly newest: string;
}

const placesMax = 1_000;
const bytesMax = 64 * 1024 * 1024;
/** A place, besides its author's id. */
const placeBytes = 64;
/** Orders that are made or wait for that, per node. */
const waitingMax = 32;
const freshMs = { usual: 60_000, large: 600_000 };
const largeVotes = 200_000;
const statementMsMax = 30_000;

/** Builds the condition for the votes that count, cast since that time. */
const buildCounted = (sql: Queryable, ref: EntityRef, since: string) => sql`
  target_type = ${ref.kind} and target_id = ${ref.id} and incarnation = ${ref.incarnation}
  and created_at >= ${since}::text::timestamptz and not rejected
  and (immutable or created_at >= (select find_operator_reset(${ref.incarnation}::bigint)))`;

const compare = (left: VoterCount, right: VoterCount): number =>
  right.votes - left.votes ||
  (left.newest === right.newest
    ? Number(left.author > right.author) - Number(left.author < right.author)
    : Number(left.newest > right.newest) - 0.5);

/** The first places, and how many votes count. */
interface Order {
  readonly places: readonly TopPlace[];
  readonly votes: number;
}

const readAtOnce = (sql: Sql, ref: EntityRef, since: string): Promise<Order> =>
  sql.begin(async (transaction) => {
    await transaction`select set_config('statement_timeout', ${String(statementMsMax)}, true)`;
    await transaction`select pg_advisory_xact_lock(${locks.topVoters + (ref.incarnation % 2)})`;
    const places = await transaction<(TopPlace & { readonly all: number })[]>`
      select author, count(*) as votes, (sum(count(*)) over ())::bigint as all from votes
      where ${buildCounted(transaction, ref, since)}
      group by author order by count(*) desc, max(created_at), author collate "C" limit ${placesMax}`;
    return { places: places.map(({ author, votes }) => ({ author, votes })), votes: places[0]?.all ?? 0 };
  }) as Promise<Order>;

interface SliceRow extends VoterCount {
  readonly position: string;
  readonly looked: number;
}

/** Reads slices of votes, the newest first, and adds them up. */
const readInSlices = async (sql: Sql, ref: EntityRef, since: string): Promise<Order> => {
  const counts = new Map<string, VoterCount>();
  const options = { monotonicMs: () => performance.now(), signal: new AbortController().signal };
  const votes = await runInSteps(options, 'infinity', async ({ after, limit }) => {
    const rows = await sql<SliceRow[]>`
      with slice as materialized (
        select author, created_at from votes
        where ${buildCounted(sql, ref, since)} and created_at < ${String(after)}::text::timestamptz
        order by created_at desc fetch first ${limit} rows with ties
      )
      select author, count(*) as votes, max(created_at)::text as newest,
        (select min(created_at)::text from slice) as position, (select count(*) from slice) as looked
      from slice group by author`;
    for (const { author, votes, newest } of rows) {
      const known = counts.get(author);
      counts.set(author, { author, votes: votes + (known?.votes ?? 0), newest: known?.newest ?? newest });
    }
    const { position = 'infinity', looked = 0 } = rows[0] ?? {};
    return { position, isLast: looked < limit, rows: looked };
  });
  const places = [...counts.values()].sort(compare).slice(0, placesMax);
  return { places: places.map(({ author, votes }) => ({ author, votes })), votes };
};

/** The pool of the embedded SQL has one connection. */
const isEmbedded = (sql: Sql): boolean => sql.options.max === 1;

const readOrder = (sql: Sql, ref: EntityRef, since: string) =>
  asStorage('votes.top', () => (isEmbedded(sql) ? readInSlices : readAtOnce)(sql, ref, since));

/** Shares each order between all who request it while it is made, and while it is fresh. */
export const createTopVoters = (sql: Sql) => {
  const kept = new LRUCache<string, TopVoters & { readonly untilMs: number }>({
    maxSize: bytesMax,
    sizeCalculation: ({ places }) =>
      places.reduce((sum, { author }) => sum + placeBytes + author.length, placeBytes),
  });
  const flights = createSingleFlight<TopVoters>();
  const make = async (key: string, order: Promise<Order>, nowMs: number): Promise<TopVoters> => {
    const { places, votes } = await order;
    const untilMs = nowMs + (votes > largeVotes ? freshMs.large : freshMs.usual);
    const made = { madeAtMs: nowMs, places, untilMs };
    kept.set(key, made);
    return made;
  };
  return {
    /** Resolves to the order; `null` when too many others are being made. */
    find: async (ref: EntityRef, period: TopPeriod, nowMs: number): Promise<TopVoters | null> => {
      const month = new Date(nowMs).toISOString().slice(0, 7);
      const since = period === 'month' ? `${month}-01T00:00:00Z` : '-infinity';
      const key = `${ref.incarnation} ${since}`;
      const known = kept.get(key);
      if (known !== undefined && nowMs < known.untilMs) return known;
      if (flights.get(key) === undefined && flights.count() >= waitingMax) return null;
      return flights.share(key, () => make(key, readOrder(sql, ref, since), nowMs));
    },
  };
};
