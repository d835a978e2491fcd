/**
 * The work on a plan of void votes: its query, and one page of its votes after the other.
 *
 * Each step is one transaction, which moves the plan on, too, so a plan goes on where it stopped, on any
 * node; nodes leave a plan to the one that works on it. A page looks at its votes again under the locks of
 * every change of past votes: what became void otherwise meanwhile stays as it is. No partition of votes may
 * be made meanwhile: a statement that is planned while rows move to it does not see them.
 */
import type { EntityKind, Target } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { lockTotals } from '../../ledger/totals.ts';
import {
  buildFoundColumns,
  clearRejections,
  type FoundVote,
  rejectVotes,
  restoreVotes,
  voidVotes,
} from '../../ledger/void-votes.ts';
import {
  buildRows,
  type Fragment,
  type Queryable,
  runTransaction,
  type Sql,
  type Transaction,
} from '../../sql/client.ts';
import { locks } from '../../sql/locks.ts';
import { readNumber } from '../../sql/rows.ts';
import type { PlanQuery, VoidPlan } from './void-plans.ts';
import { buildVoteFilter } from './vote-list.ts';

/** Votes of one transaction. */
const votesPerPage = 500;
const listingsShownMax = 50;
const samplesMax = 20;
/** The query of a plan reads all votes of its time. The pool's own timeout is meant for requests. */
const fillMsMax = 600_000;

class TooManyVotes extends Error {}

/**
 * Runs the query of a new plan and stores its votes; ledger when it resolves. Does nothing when another node
 * does it, or has done it.
 */
export const fillPlan = async (
  sql: Sql,
  id: string,
  votesMax: number = limits.planVotesMax,
): Promise<void> => {
  try {
    await runTransaction(sql, 'plans.fill', async (transaction) => {
      await transaction`select set_config('statement_timeout', ${String(fillMsMax)}, true)`;
      const [plan] = await transaction<{ query: PlanQuery }[]>`
        select query from void_plans where id = ${id} and state = 'planning' for update skip locked`;
      if (plan === undefined) return;
      await transaction`select pg_advisory_xact_lock_shared(${locks.partitions})`;
      const votes = await storeVotes(transaction, id, plan.query);
      if (votes > votesMax) throw new TooManyVotes('the query found too many votes');
    });
  } catch (error) {
    if (!((error as Error).cause instanceof TooManyVotes)) throw error;
    await sql`update void_plans set state = 'refused' where id = ${id} and state = 'planning'`;
  }
};

/** Builds the condition of a plan. The origins lead to votes by their whole key. */
const buildCondition = (sql: Queryable, query: PlanQuery): Fragment => {
  const { target_type: kind, target_id: id, user, since, before } = query;
  const { address_hash: address, network_hash: network, flags } = query;
  const where = buildVoteFilter(sql, { kind, id, user, since, before });
  if (address === undefined && network === undefined && flags === undefined) return where;
  return sql`${where} and (itag, created_at) in (
    select itag, at from vote_origins
    where at >= ${since}::timestamptz and at < ${before}::timestamptz
      ${address === undefined ? sql`` : sql`and address_hash = ${address}::text::bigint`}
      ${network === undefined ? sql`` : sql`and network_hash = ${network}::text::bigint`}
      ${flags === undefined ? sql`` : sql`and flags & ${flags}::int <> 0`})`;
};

/**
 * Builds the columns that say why a vote of `vote_rows` is not made void, null if it is, and whether it is
 * rejected instead, because only a reset or a redeem made it void.
 */
const buildSkipped = (sql: Queryable) => sql`
  case when void then void_reason when immutable then 'immutable' end as skipped,
  void and not rejected and not immutable as "isQuiet"`;

/** Stores the votes. Those of one listing, and of one request, are neighbours: a page has few listings. */
const storeVotes = async (transaction: Transaction, id: string, query: PlanQuery): Promise<number> => {
  const where = buildCondition(transaction, query);
  return readNumber(transaction`
    with found as materialized (
      select itag, created_at, incarnation, target_type, target_id, author, upvote,
        ${buildSkipped(transaction)}
      from vote_rows ${where}
    ), chosen as (
      select * from found where skipped is null
    ), held as (
      select * from found where skipped is null or "isQuiet"
    ), stored as (
      insert into void_plan_votes (plan, position, incarnation, itag, created_at)
      select ${id}, row_number() over (order by incarnation, created_at, author, itag), incarnation, itag,
        created_at
      from held
    ), listing as (
      select incarnation, target_type, target_id, count(*) filter (where upvote) as upvotes,
        count(*) filter (where not upvote) as downvotes
      from chosen group by incarnation, target_type, target_id
    )
    update void_plans set state = 'planned', votes = (select count(*) from chosen),
      held = (select count(*) from held), preview = jsonb_build_object(
        'skipped', ${countSkipped(transaction)},
        'listings_total', (select count(*) from listing),
        'listings', ${showListings(transaction)},
        'samples', ${drawSamples(transaction)})
    where id = ${id} returning held`);
};

const countSkipped = (sql: Queryable) => sql`(
  select coalesce(jsonb_object_agg(skipped, votes), '{}') from (
    select skipped, count(*) as votes from found where skipped is not null group by skipped) as counted)`;

const showListings = (sql: Queryable) => sql`(
  select coalesce(jsonb_agg(to_jsonb(shown)), '[]') from (
    select target_type, target_id, listing.upvotes, listing.downvotes, votes as votes_before,
      votes - listing.upvotes + listing.downvotes as votes_after
    from listing join totals using (incarnation)
    order by listing.upvotes + listing.downvotes desc, incarnation limit ${listingsShownMax}) as shown)`;

const drawSamples = (sql: Queryable) => sql`(
  select coalesce(jsonb_agg(to_jsonb(drawn)), '[]') from (
    select itag, created_at, target_type, target_id, author, upvote from chosen
    order by random() limit ${samplesMax}) as drawn)`;

/**
 * Lists the listings of the next page whose voters may have voted again: their votes cast since must be in
 * SQL before it.
 */
export const listNextListings = (sql: Queryable, id: string): Promise<readonly Target[]> => sql<Target[]>`
  select distinct kind, entity_id as id
  from void_plans join void_plan_votes as planned on plan = void_plans.id
    and planned.position > void_plans.position and planned.position <= void_plans.position + ${votesPerPage}
  join totals using (incarnation)
  where void_plans.id = ${id} and state = 'undoing' and releases`;

type StartedPlan = Pick<VoidPlan, 'id' | 'state' | 'position' | 'held' | 'releases' | 'left_out'>;
/** A vote of a page; `skipped` says why it stays as it is. */
type PageVote = FoundVote & {
  readonly position: number;
  readonly skipped: string | null;
  /** Whether the step concerns it: an undo concerns only what its plan made void or rejected. */
  readonly isOwn: boolean;
  /** A reset or a redeem made it void: the step only rejects it, or takes that back. */
  readonly isQuiet: boolean;
};

export interface VoteWaits {
  readonly nowMs: number;
  /** The longest wait for a vote. */
  readonly waitMsMax: number;
}

export interface PageOutcome {
  /** False after the last page, and while another node works on the plan. */
  readonly isMore: boolean;
  /** One of the listings of the page; `null` if none exists. */
  readonly listing: Target | null;
}

/** Makes the votes of a plan's next page void, or restores them; ledger when it resolves. */
export const takePage = (sql: Sql, id: string, waits: VoteWaits): Promise<PageOutcome> =>
  runTransaction(sql, 'plans.advance', async (transaction) => {
    const [plan] = await transaction<StartedPlan[]>`
      select id, state, position, held, releases, left_out from void_plans
      where id = ${id} and state in ('voiding', 'undoing') for update skip locked`;
    if (plan === undefined) return { isMore: false, listing: null };
    await transaction`
      select pg_advisory_xact_lock_shared(${locks.votes}), pg_advisory_xact_lock_shared(${locks.partitions})`;
    const listings = await listPageListings(transaction, plan);
    await lockTotals(
      transaction,
      listings.map(({ incarnation }) => incarnation),
    );
    const isVoiding = plan.state === 'voiding';
    const page = await (isVoiding
      ? findVoidable(transaction, plan)
      : findRestorable(transaction, plan, waits));
    const votes = page.filter(({ isOwn, skipped }) => isOwn && skipped === null);
    const quiet = page.filter(({ isOwn, isQuiet }) => isOwn && isQuiet);
    if (isVoiding) {
      await voidVotes(transaction, votes, { reason: 'operator', plan: id, releases: plan.releases });
      await rejectVotes(transaction, quiet, id);
    } else {
      await restoreVotes(transaction, votes);
      await clearRejections(transaction, quiet);
    }
    return { isMore: await recordPage(transaction, plan, page), listing: listings[0] ?? null };
  });

/** Builds the condition for the votes of the page. */
const buildPageCondition = (sql: Queryable, { id, position }: StartedPlan) => sql`
  planned.plan = ${id} and planned.position > ${position}::bigint
  and planned.position <= ${position}::bigint + ${votesPerPage}`;

/** Lists the existing listings of the page. */
const listPageListings = (transaction: Transaction, plan: StartedPlan) => transaction<
  { incarnation: number; kind: EntityKind; id: string }[]
>`
  select incarnation, kind, entity_id as id from totals where incarnation in (
    select incarnation from void_plan_votes as planned where ${buildPageCondition(transaction, plan)})`;

/** Finds the votes of the page. `offset 0` makes SQL look up each vote by its key, here and below. */
const findVoidable = (transaction: Transaction, plan: StartedPlan): Promise<readonly PageVote[]> =>
  transaction<PageVote[]>`
    select planned.position, ${buildFoundColumns(transaction)}, ${buildSkipped(transaction)}, true as "isOwn"
    from void_plan_votes as planned cross join lateral (
      select * from vote_rows
      where vote_rows.itag = planned.itag and vote_rows.created_at = planned.created_at offset 0) as votes
    where ${buildPageCondition(transaction, plan)}`;

/** The clocks of nodes and of the hot store differ by less than this. */
const clockMsMax = 60_000;

/**
 * Finds the votes of the page that the plan made void or rejected. A vote of a released voter does not come
 * back while its wait lasts, or if the voter voted again within it: two votes of one wait would count (I5). A
 * newer vote of the same plan is no obstacle, because both counted before; votes are restored in the order of
 * their times, so it still names the plan.
 */
const findRestorable = (
  transaction: Transaction,
  plan: StartedPlan,
  { nowMs, waitMsMax }: VoteWaits,
): Promise<readonly PageVote[]> => {
  const wait = transaction`make_interval(secs => ${waitMsMax / 1_000})`;
  return transaction<PageVote[]>`
    select planned.position, ${buildFoundColumns(transaction)}, case
      when void_reason <> 'operator' then void_reason
      when reset_reason is not null then reset_reason
      when not ${plan.releases}::boolean then null
      when again.author is not null then 'voted_again'
      when votes.created_at > ${new Date(nowMs - waitMsMax - clockMsMax)} then 'may_vote_again'
    end as skipped, void_reason <> 'operator' or reset_reason is not null as "isQuiet",
      votes.void_plan is not distinct from planned.plan as "isOwn"
    from void_plan_votes as planned cross join lateral (
      select * from vote_rows
      where vote_rows.itag = planned.itag and vote_rows.created_at = planned.created_at offset 0) as votes
    left join lateral (
      select author from votes as newer
      where ${plan.releases}::boolean and newer.author = votes.author
        and newer.target_type || '' = votes.target_type and newer.target_id = votes.target_id
        and newer.incarnation = votes.incarnation and newer.created_at > votes.created_at
        and newer.created_at < votes.created_at + ${wait} and newer.void_plan is distinct from votes.void_plan
      limit 1
    ) as again on true
    where ${buildPageCondition(transaction, plan)}`;
};

/** Moves the plan on. Resolves to whether another page follows. */
const recordPage = async (
  transaction: Transaction,
  plan: StartedPlan,
  page: readonly PageVote[],
): Promise<boolean> => {
  const own = page.filter(({ isOwn }) => isOwn);
  const left = own.flatMap(({ position, skipped }) => (skipped === null ? [] : [{ position, skipped }]));
  await transaction`
    update void_plan_votes set skipped = page.skipped
    from (
      select planned.position, found.skipped
      from void_plan_votes as planned
      left join ${buildRows(transaction, left, { position: 'bigint', skipped: 'text' })}
        as found (position, skipped) on found.position = planned.position
      where ${buildPageCondition(transaction, plan)} and planned.skipped is distinct from found.skipped
    ) as page
    where void_plan_votes.plan = ${plan.id} and void_plan_votes.position = page.position`;
  const counts: Record<string, number> = { ...plan.left_out };
  for (const { skipped } of left) counts[skipped] = (counts[skipped] ?? 0) + 1;
  const done = own.length - left.length;
  const position = Math.min(plan.held, plan.position + votesPerPage);
  const isLast = position === plan.held;
  const isVoiding = plan.state === 'voiding';
  const state = isLast ? (isVoiding ? 'voided' : 'undone') : plan.state;
  await transaction`
    update void_plans set state = ${state}, position = ${position},
      left_out = ${JSON.stringify(counts)}::text::jsonb,
      voided = voided + ${isVoiding ? done : 0}, restored = restored + ${isVoiding ? 0 : done}
    where id = ${plan.id}`;
  return !isLast;
};
