/**
 * Pages of an entity's voters: any page of a million costs the same.
 *
 * An entity with few votes since its last reset is read whole. For others, the first request of a page
 * creates an order in SQL (migration 008): each voter at the position of their newest valid vote, cut into
 * counted segments (voter-segments.ts). From then on triggers record changed voters, and a reader counts them
 * in before it reads: for page 1 always, for other pages only if a change is older than `pageAgeMaxMs`. So
 * page 1 shows all that is in SQL, and pages that are read shortly after it fit together. Only recounts
 * change an order, and a page is one statement, so each page shows one state. `purgeVoterOrders` drops orders
 * that were not read for a day.
 */
import { LRUCache } from 'lru-cache';
import type { EntityRef } from '../../../engine/ids.ts';
import { computeOffset, perPage } from '../../../engine/rules/pages.ts';
import { createSemaphore } from '../../../engine/tools/semaphore.ts';
import { createSerializationFailure, type Sql } from '../../sql/client.ts';
import { locks } from '../../sql/locks.ts';
import { changeInSteps, readColumn, readFirst, rowsPerStep } from '../../sql/rows.ts';
import { buildLiveVotes, readPositions, recount, segmentVotersUsual } from './voter-segments.ts';

export interface VoterOrderOptions {
  /** Smaller in tests only; all nodes on one database must use the same. */
  readonly segmentVoters?: number;
  /** An entity with at most this many votes since its last reset is read whole. */
  readonly fewVotesMax?: number;
}

const fewVotesUsual = 500;
/** Maximum age of pages other than the first; pages read within this time fit together. */
const pageAgeMaxMs = 1_500;
/** Short lists that are cached for `pageAgeMaxMs`, so that their pages fit together too. */
const shortListsCachedMax = 512;
/** Concurrent recounts of this process: a recount that waits for another one occupies a connection. */
const recountsAtOnceMax = 2;
/** Attempts to bring an order up to date: it may be dropped between two statements. */
const attemptsMax = 4;

interface VoterOrdersState extends Required<VoterOrderOptions> {
  readonly sql: Sql;
  readonly shortLists: LRUCache<number, readonly string[]>;
  readonly runLimited: ReturnType<typeof createSemaphore>;
}

/** Creates the reader of voters' pages. It caches short lists, so a process creates only one. */
export const createVoterOrders = (sql: Sql, options: VoterOrderOptions = {}) => {
  const state: VoterOrdersState = {
    sql,
    segmentVoters: segmentVotersUsual,
    fewVotesMax: fewVotesUsual,
    ...options,
    shortLists: new LRUCache({ max: shortListsCachedMax, ttl: pageAgeMaxMs }),
    runLimited: createSemaphore(recountsAtOnceMax),
  };
  return {
    /** Reads one page of the voters of an entity, newest vote first; pages count from 1. */
    page: (ref: EntityRef, page: number) => readPage(state, ref, page),
  };
};

const readPage = async (state: VoterOrdersState, ref: EntityRef, page: number) => {
  const offset = computeOffset(page, perPage.voters);
  const cached = page === 1 ? undefined : state.shortLists.get(ref.incarnation);
  const shortList = cached ?? (await updateOrder(state, ref, page));
  if (shortList === null) return readPositions(state.sql, ref, offset);
  return shortList.slice(offset, offset + perPage.voters);
};

/** Brings the order up to date for this page. Resolves to the whole list if it is short and has no order. */
const updateOrder = async (state: VoterOrdersState, ref: EntityRef, page: number) => {
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const order = await readOrderStatus(state.sql, ref, page);
    if (order?.built && !order.due) {
      if (order.stale) await markOrderUsed(state.sql, ref);
      return null;
    }
    if (order === null) {
      const voters = await readShortList(state, ref);
      if (voters !== null) {
        state.shortLists.set(ref.incarnation, voters);
        return voters;
      }
      await beginOrder(state.sql, ref);
    }
    // Changes that are recorded meanwhile are newer than this request.
    if (await state.runLimited(() => recount(state, ref))) return null;
  }
  throw createSerializationFailure('the order of voters was dropped in each attempt');
};

interface OrderStatus {
  /** It was counted at least once. */
  readonly built: boolean;
  /** A recorded change has to be counted in for this page. */
  readonly due: boolean;
  /** Its last recorded read is an hour old. */
  readonly stale: boolean;
}

const readOrderStatus = (sql: Sql, ref: EntityRef, page: number): Promise<OrderStatus | null> => {
  const changeAgeMinMs = page === 1 ? 0 : pageAgeMaxMs;
  return readFirst(sql<OrderStatus[]>`
    select recounts > 0 as built, read_at < now() - interval '1 hour' as stale, exists (
      select from voter_changes where voter_changes.incarnation = voter_orders.incarnation
        and noted_at <= clock_timestamp() - make_interval(secs => ${changeAgeMinMs / 1_000})) as due
    from voter_orders where incarnation = ${ref.incarnation}`);
};

const markOrderUsed = (sql: Sql, ref: EntityRef): Promise<unknown> =>
  sql`update voter_orders set read_at = now() where incarnation = ${ref.incarnation}`;

/** Reads the whole list if there are few votes since the last reset, void ones included; else `null`. */
const readShortList = async ({ sql, fewVotesMax }: VoterOrdersState, ref: EntityRef) => {
  const [row] = await sql<{ votes: number; voters: string[] }[]>`
    with recent as materialized (${buildLiveVotes(sql, ref)} limit ${fewVotesMax + 1}),
    newest as (
      select distinct on (author) author, created_at, itag from recent where not void
      order by author, created_at desc, itag desc)
    select (select count(*) from recent) as votes,
      array(select author from newest order by created_at desc, itag desc) as voters`;
  return row === undefined || row.votes > fewVotesMax ? null : row.voters;
};

/**
 * Creates the list of an entity's voters in order. Once this is committed, triggers record each change of a
 * voter. Every transaction that writes votes holds the same lock in shared mode. So a transaction that did
 * not see the new list has ended before this one, and the first recount reads its votes.
 */
const beginOrder = async (sql: Sql, ref: EntityRef): Promise<void> => {
  await sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${locks.votes})`;
    await transaction`
      insert into voter_orders (incarnation) values (${ref.incarnation}) on conflict do nothing`;
  });
};

const unreadHours = 24;

/** Drops orders that were not read for a day or whose entity is deleted, and their rows. Called by a job. */
export const purgeVoterOrders = async (sql: Sql): Promise<void> => {
  await sql`
    delete from voter_orders where read_at < now() - make_interval(hours => ${unreadHours})
      or not exists (select from totals where totals.incarnation = voter_orders.incarnation)`;
  const dropped = await readColumn<number>(sql`
    select distinct incarnation from voter_segments where ${buildUnorderedCondition(sql, 'voter_segments')}`);
  for (const incarnation of dropped)
    await changeInSteps(
      () => sql`
        delete from voters where ${buildUnorderedCondition(sql, 'voters')} and incarnation = ${incarnation}
          and author in (
            select author from voters where incarnation = ${incarnation} limit ${rowsPerStep})`,
    );
  await sql`delete from voter_segments where ${buildUnorderedCondition(sql, 'voter_segments')}`;
  await sql`delete from voter_changes where ${buildUnorderedCondition(sql, 'voter_changes')}`;
  // The embedded store has no autovacuum.
  await sql`vacuum (skip_locked) voters, voter_segments, voter_changes`;
};

/** Builds a condition that each statement checks again, since an order may be created at any time. */
const buildUnorderedCondition = (sql: Sql, table: string) => sql`
  not exists (select from voter_orders where voter_orders.incarnation = ${sql(table)}.incarnation)`;
