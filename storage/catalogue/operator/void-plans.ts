/**
 * Plans: votes that an operator selects by a query, sees, makes void, and may restore for a month.
 *
 * A plan holds exactly the votes that its query found. This file owns what operators see and decide; the
 * work is done by plan-steps.ts. States:
 * - *planning*: until `fillPlan` has run the query; then *planned*, or *refused* with too many votes;
 * - *voiding*, from the operator's confirmation to the last page; then *voided*;
 * - *undoing*, from the operator's undo to the last page; then *undone*. An undo can be repeated.
 */
import { randomUUID } from 'node:crypto';
import type { EntityKind } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { changeInSteps, hasRow, readColumn, readFirst, rowsPerStep } from '../../sql/rows.ts';
import type { VoteRow } from '../votes/votes.ts';
import { buildPage, type ListPage, readPage, readWithTotal } from './pages.ts';

export type PlanState = 'planning' | 'planned' | 'refused' | 'voiding' | 'voided' | 'undoing' | 'undone';

/** Which votes: those that match all that is given. Named as in the request, which the plan keeps. */
export interface PlanQuery {
  readonly target_type?: EntityKind | undefined;
  readonly target_id?: string | undefined;
  readonly user?: string | undefined;
  readonly since: string;
  readonly before: string;
  /** Of the origin of a vote; signed 64-bit numbers in decimal. */
  readonly address_hash?: string | undefined;
  readonly network_hash?: string | undefined;
  /** The sum of the flags that select a vote: it has at least one. */
  readonly flags?: number | undefined;
}
export interface NewPlan {
  readonly query: PlanQuery;
  readonly reason: string;
  readonly operator: string;
  readonly releases: boolean;
}

export interface PlanListing {
  readonly target_type: EntityKind;
  readonly target_id: string;
  readonly upvotes: number;
  readonly downvotes: number;
  /** Its total as last flushed, and without these votes. */
  readonly votes_before: number;
  readonly votes_after: number;
}
export interface PlannedVote
  extends Pick<VoteRow, 'itag' | 'target_type' | 'target_id' | 'author' | 'upvote'> {
  readonly created_at: string | Date;
}
export interface SkippedVote extends PlannedVote {
  /** `immutable`, a reason for being void, `voted_again` or `may_vote_again`. */
  readonly why: string;
}
/** Numbers of votes by the reason why they are left as they are. */
export type SkipCounts = Readonly<Record<string, number>>;

export interface PlanPreview {
  readonly skipped: SkipCounts;
  readonly listings_total: number;
  /** Those with the most votes. */
  readonly listings: readonly PlanListing[];
  /** Drawn at random. */
  readonly samples: readonly PlannedVote[];
}
export interface VoidPlan extends NewPlan {
  readonly id: string;
  readonly state: PlanState;
  readonly votes: number;
  /** With those that it only rejects, because a reset or a redeem made them void. */
  readonly held: number;
  /** Empty until the query has run. */
  readonly preview: Partial<PlanPreview>;
  /** How many of its votes the present step has dealt with, and which of them it left. */
  readonly position: number;
  readonly left_out: SkipCounts;
  readonly voided: number;
  readonly restored: number;
  readonly created_at: Date;
  readonly started_at: Date | null;
}

/** A plan can be confirmed for this long. */
const unconfirmedHours = 24;

const buildPlanColumns = (sql: Queryable) => sql`
  id, state, query, reason, operator, releases, votes, held, preview, position, left_out, voided, restored,
  created_at, started_at`;

/** Stores a plan, which `fillPlan` fills later. Resolves to its id; `null` when too many are open. */
export const createPlan = async (sql: Queryable, plan: NewPlan): Promise<string | null> => {
  const id = randomUUID();
  const { query, reason, operator, releases } = plan;
  const rows = await sql`
    insert into void_plans (id, state, query, reason, operator, releases)
    select ${id}, 'planning', ${JSON.stringify(query)}::text::jsonb, ${reason}, ${operator}, ${releases}
    where (select count(*) from void_plans
      where state in ('planning', 'planned', 'voiding', 'undoing')) < ${limits.openPlansMax}
    returning id`;
  return rows.length === 1 ? id : null;
};

/** Finds a plan; `null` when there is none. */
export const findPlan = (sql: Queryable, id: string): Promise<VoidPlan | null> =>
  readFirst(sql<VoidPlan[]>`select ${buildPlanColumns(sql)} from void_plans where id = ${id}`);

/** Lists the plans, newest first; pages count from 1. */
const listPlans = (sql: Sql, page: number): Promise<ListPage<VoidPlan>> => {
  const select = sql`select ${buildPlanColumns(sql)} from void_plans order by created_at desc`;
  return readPage<VoidPlan>(sql, { select, table: 'void_plans' }, page);
};

export type OpenPlan = Pick<VoidPlan, 'id' | 'state'>;

/** Lists the plans that have work to do, oldest first. */
const listOpenPlans = (sql: Queryable): Promise<readonly OpenPlan[]> =>
  sql<OpenPlan[]>`
    select id, state from void_plans where state in ('planning', 'voiding', 'undoing') order by created_at`;

/** Lists the votes that the newest step left as they were, in the plan's order; pages count from 1. */
const listSkipped = (sql: Sql, id: string, page: number): Promise<ListPage<SkippedVote>> => {
  const where = sql`where plan = ${id} and skipped is not null`;
  const rows = sql<SkippedVote[]>`
    select vote.*, why from (
      select itag, created_at, position, skipped as why from void_plan_votes ${where}
      order by position ${buildPage(sql, page)}
    ) as planned cross join lateral (
      select itag, created_at, target_type, target_id, author, upvote from votes
      where votes.itag = planned.itag and votes.created_at = planned.created_at offset 0) as vote
    order by position`;
  return readWithTotal(sql, { table: 'void_plan_votes', where }, rows);
};

/** Confirms a plan. Resolves to whether it is being voided now, or was before. */
export const startVoiding = (sql: Queryable, id: string): Promise<boolean> =>
  hasRow(sql`
    update void_plans set state = case when state = 'planned' then 'voiding' else state end,
      started_at = coalesce(started_at, now())
    where id = ${id} and (state in ('voiding', 'voided')
      or state = 'planned' and created_at > now() - make_interval(hours => ${unconfirmedHours}))
    returning id`);

/** Begins to undo a plan, or begins again. Resolves to whether it may be undone. */
export const startUndo = (sql: Queryable, id: string): Promise<boolean> =>
  hasRow(sql`
    update void_plans set state = 'undoing', position = 0, left_out = '{}'
    where id = ${id} and state in ('voiding', 'voided', 'undoing', 'undone')
      and started_at > now() - make_interval(days => ${limits.planUndoDays})
    returning id`);

/** What operators do with plans. */
export const planFunctions = {
  createPlan,
  findPlan,
  listPlans,
  listOpenPlans,
  listSkipped,
  startVoiding,
  startUndo,
};

/** Deletes the votes of plans that cannot be undone any more, and plans that were not confirmed. */
export const purgePlans = (sql: Sql, signal: AbortSignal): Promise<void> =>
  asStorage('plans.purge', async () => {
    const old = sql`
      coalesce(started_at + make_interval(days => ${limits.planUndoDays + 1}),
        created_at + make_interval(hours => ${unconfirmedHours + 1})) < now()`;
    const plans = await readColumn<string>(sql`
      select id from void_plans
      where ${old} and exists (select from void_plan_votes where plan = void_plans.id)`);
    for (const id of plans)
      await changeInSteps(
        () => sql`
          delete from void_plan_votes where plan = ${id} and position in (
            select position from void_plan_votes where plan = ${id} order by position limit ${rowsPerStep})`,
        signal,
      );
    await sql`delete from void_plans where ${old} and started_at is null`;
  });
