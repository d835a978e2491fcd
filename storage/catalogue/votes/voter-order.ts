/**
 * Pages of an entity's voters: any page of a million costs the same.
 *
 * An entity with few votes since its last reset is read as a whole. For one with many, an order is made in
 * SQL the first time a page is asked for (migration 008): each voter at the place of his newest valid vote,
 * cut into counted segments (voter-segments.ts). From then on triggers note whose votes came or changed, and
 * a reader counts that in before he reads: page 1 always, other pages only when it waits for longer than a
 * moment. So page 1 shows all that is in SQL, and the pages asked for within a moment after it fit together.
 * An order is changed by recounts alone, and a page is one statement, so each page is of one state. Orders
 * that nobody reads for a day are dropped by `purgeVoterOrders`. Called by catalogue.ts.
 */
import { LRUCache } from 'lru-cache';
import type { EntityRef } from '../../../engine/ids.ts';
import { computeOffset, perPage } from '../../../engine/rules/pages.ts';
import { locks } from '../../ledger/locks.ts';
import type { Sql } from '../../sql/client.ts';
import { createSerializationFailure } from '../../sql/retry.ts';
import { createSemaphore } from '../../sql/semaphore.ts';
import { buildLiveVotes, readPositions, recount, segmentVotersUsual } from './voter-segments.ts';

export interface VoterOrders {
  /** One page of the voters of an entity, the newest vote first. */
  page(ref: EntityRef, page: number): Promise<readonly string[]>;
}
export interface VoterOrderOptions {
  /** Smaller in tests only; the same for all who share a database. */
  readonly segmentVoters?: number;
  /** With so many votes since its last reset an entity is read as a whole. */
  readonly fewVotesMax?: number;
}

const fewVotesUsual = 500;
/** Pages that fit together are asked for within this time; also how old a page but the first may be. */
const momentMs = 1_500;
/** Short lists kept for a moment, so that their pages fit together, too. */
const shortListsKeptMax = 512;
/** Recounts of this process at once: who waits for another's holds a connection. */
const recountsAtOnceMax = 2;
/** An order may be dropped between two statements. */
const looksMax = 4;

interface VoterOrdersState {
  readonly sql: Sql;
  readonly segmentVoters: number;
  readonly fewVotesMax: number;
  readonly shortLists: LRUCache<number, readonly string[]>;
  readonly runLimited: ReturnType<typeof createSemaphore>;
}

export const createVoterOrders = (sql: Sql, options: VoterOrderOptions = {}): VoterOrders => {
  const state: VoterOrdersState = {
    sql,
    segmentVoters: options.segmentVoters ?? segmentVotersUsual,
    fewVotesMax: options.fewVotesMax ?? fewVotesUsual,
    shortLists: new LRUCache({ max: shortListsKeptMax, ttl: momentMs }),
    runLimited: createSemaphore(recountsAtOnceMax),
  };
  return { page: (ref, page) => readPage(state, ref, page) };
};

const readPage = async (
  state: VoterOrdersState,
  ref: EntityRef,
  page: number,
): Promise<readonly string[]> => {
  const from = computeOffset(page, perPage.voters);
  const kept = page === 1 ? undefined : state.shortLists.get(ref.incarnation);
  const short = kept ?? (await prepare(state, ref, page));
  return short === null ? readPositions(state.sql, ref, from) : short.slice(from, from + perPage.voters);
};

/** Brings the order up to date for this page; or resolves to the whole list when it is short and has none. */
const prepare = async (
  state: VoterOrdersState,
  ref: EntityRef,
  page: number,
): Promise<readonly string[] | null> => {
  for (let look = 1; look <= looksMax; look++) {
    const order = await readOrderStatus(state.sql, ref, page);
    if (order?.made && !order.due) {
      if (order.unread) await markOrderUsed(state.sql, ref);
      return null;
    }
    if (order === undefined) {
      const voters = await readShortList(state, ref);
      if (voters !== null) {
        state.shortLists.set(ref.incarnation, voters);
        return voters;
      }
      await beginOrder(state.sql, ref);
    }
    // What is noted meanwhile is younger than this request.
    if (await state.runLimited(() => recount(state, ref))) return null;
  }
  throw createSerializationFailure('the order of voters was dropped each time');
};

interface OrderStatus {
  readonly made: boolean;
  /** Something noted has to be counted in for this page. */
  readonly due: boolean;
  readonly unread: boolean;
}

const readOrderStatus = async (sql: Sql, ref: EntityRef, page: number): Promise<OrderStatus | undefined> => {
  const youngestMs = page === 1 ? 0 : momentMs;
  const [order] = await sql<OrderStatus[]>`
    select recounts > 0 as made, read_at < now() - interval '1 hour' as unread, exists (
      select from voter_changes where voter_changes.incarnation = voter_orders.incarnation
        and noted_at <= clock_timestamp() - make_interval(secs => ${youngestMs / 1_000})) as due
    from voter_orders where incarnation = ${ref.incarnation}`;
  return order;
};

const markOrderUsed = async (sql: Sql, ref: EntityRef): Promise<void> => {
  await sql`update voter_orders set read_at = now() where incarnation = ${ref.incarnation}`;
};

/** The whole list, when there are few votes since the last reset, void ones counted too; else `null`. */
const readShortList = async (
  { sql, fewVotesMax }: VoterOrdersState,
  ref: EntityRef,
): Promise<readonly string[] | null> => {
  const [found] = await sql<{ votes: number; voters: string[] }[]>`
    with recent as materialized (${buildLiveVotes(sql, ref)} limit ${fewVotesMax + 1}),
    newest as (
      select distinct on (author) author, created_at, itag from recent where not void
      order by author, created_at desc, itag desc)
    select (select count(*) from recent) as votes,
      array(select author from newest order by created_at desc, itag desc) as voters`;
  return found === undefined || found.votes > fewVotesMax ? null : found.voters;
};

/**
 * From here on votes are noted. Whoever writes votes holds the lock's shared side: when this is committed,
 * all who did not see the order are through, and what they wrote is there to be read.
 */
const beginOrder = async (sql: Sql, ref: EntityRef): Promise<void> => {
  await sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${locks.votes})`;
    await transaction`
      insert into voter_orders (incarnation) values (${ref.incarnation}) on conflict do nothing`;
  });
};

const unreadHours = 24;
const rowsPerPurge = 10_000;

/** Drops orders that nobody reads any more, or whose entity is gone, and what is left of them. For a job. */
export const purgeVoterOrders = async (sql: Sql): Promise<void> => {
  await sql`
    delete from voter_orders where read_at < now() - make_interval(hours => ${unreadHours})
      or not exists (select from totals where totals.incarnation = voter_orders.incarnation)`;
  const dropped = await sql<{ incarnation: number }[]>`
    select distinct incarnation from voter_segments where ${buildUnorderedCondition(sql, 'voter_segments')}`;
  for (const { incarnation } of dropped) await purgeVoters(sql, incarnation);
  await sql`delete from voter_segments where ${buildUnorderedCondition(sql, 'voter_segments')}`;
  await sql`delete from voter_changes where ${buildUnorderedCondition(sql, 'voter_changes')}`;
  // In the embedded store nobody else sweeps what moved.
  await sql`vacuum (skip_locked) voters, voter_segments, voter_changes`;
};

/** Asked anew with each statement: an order may be made again at any time, and its rows must stay. */
const buildUnorderedCondition = (sql: Sql, table: string) => sql`
  not exists (select from voter_orders where voter_orders.incarnation = ${sql(table)}.incarnation)`;

const purgeVoters = async (sql: Sql, incarnation: number): Promise<void> => {
  for (let purged = rowsPerPurge; purged === rowsPerPurge; ) {
    const { count } = await sql`
      delete from voters where ${buildUnorderedCondition(sql, 'voters')} and incarnation = ${incarnation}
        and author in (
        select author from voters where incarnation = ${incarnation} limit ${rowsPerPurge})`;
    purged = count;
  }
};
