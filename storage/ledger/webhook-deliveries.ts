/**
 * Writes the webhook deliveries of votes in the statement that gives the votes their numbers, and those of
 * decisions about past votes in the transaction of the decision.
 *
 * So an accepted vote has exactly one delivery per endpoint that is enabled when its row is written, however
 * often a flush is repeated, and so has a decision. Nothing is sent here: storage/catalogue/webhooks has the
 * queue. Every statement that changes deliveries and their endpoint writes the deliveries first, so that none
 * waits for another in a circle. Called by flush.ts, vote-log.ts, adjust.ts and the catalogue's redeems.
 */
import { randomUUID } from 'node:crypto';
import { failingFrom } from '../../engine/rules/webhooks.ts';
import { formatNumbers, formatTexts } from '../sql/arrays.ts';
import type { Transaction } from '../sql/client.ts';

/** The `kind` of a delivery, also in the migrations. */
export const voteCreatedKind = 1;
export const voteVoidedKind = 2;

export interface DeliveryRules {
  /** While too many deliveries wait, none are written for endpoints that fail; the vote log has the votes. */
  readonly isBacklogFull: boolean;
  /** Leaves out votes cast before the endpoint existed: for rows that get their number late. */
  readonly isLate: boolean;
}

/**
 * Builds the further parts of a `with` statement that has `written`, new rows of votes with their numbers.
 * The votes of one request are one event. The part `delivery` has a row per delivery written.
 */
export const buildDeliveries = (transaction: Transaction, { isBacklogFull, isLate }: DeliveryRules) =>
  transaction`
    , event as (
      select incarnation, created_at, bool_or(upvote) as upvote, min(log_number) as log_number,
        count(*) as weight
      from written where log_number is not null group by incarnation, author, created_at
    ), delivery as (
      insert into webhook_deliveries (endpoint_id, log_number, kind, weight, votes)
      select endpoint.id, event.log_number, ${voteCreatedKind}, event.weight, totals.votes
      from event join totals using (incarnation) join webhook_endpoints as endpoint using (incarnation)
      where endpoint.enabled and 'vote.created' = any (endpoint.events)
        and (event.upvote or not (endpoint.up_only or endpoint.format in ('topgg', 'topgg_v1')))
        and (endpoint.failures < ${failingFrom} or not ${isBacklogFull}::boolean)
        and (event.created_at >= endpoint.created_at or not ${isLate}::boolean)
      order by endpoint.id, event.log_number
      on conflict do nothing
      returning endpoint_id, log_number
    ), signalled as (
      update webhook_endpoints as endpoint set pending = pending + added, signal = signal + 1,
        due_at_ms = least(due_at_ms, greatest(wait_until_ms, voted_ms))
      from (
        select endpoint_id, count(*) as added,
          (select (extract(epoch from min(created_at)) * 1000)::bigint from event) as voted_ms
        from delivery group by endpoint_id
      ) as sums
      where endpoint.id = sums.endpoint_id
    )`;

/** What `details` of a delivery of the kind `vote.voided` has. */
export interface VoidedDetails {
  /** The decision, a UUID: the same for all endpoints. */
  readonly id: string;
  readonly reason: 'operator' | 'redeemed' | 'monthly_reset';
  /** The votes that became void. */
  readonly upvotes: number;
  readonly downvotes: number;
  /** For a reset: the votes before this time became void. */
  readonly beforeMs: number | null;
  /** The decision is about one vote: the one that has the delivery's number. */
  readonly single: boolean;
}
/** A decision that made votes of one listing void. */
export interface VoidDecision extends Omit<VoidedDetails, 'id'> {
  readonly incarnation: number;
  /**
   * The highest number of these votes. No other decision has it, because votes become void once. `null` when
   * none has a number yet.
   */
  readonly number: number | null;
}

/**
 * Writes one delivery per decision and enabled endpoint that wants them. Call it after the adjustments, with
 * the listings locked; the total that is reported contains those that the hot store does not have yet. A
 * decision about votes without a number is not reported, because these votes were not either.
 */
export const writeVoidDeliveries = async (transaction: Transaction, decisions: readonly VoidDecision[]) => {
  const numbered = decisions.filter(({ number }) => number !== null);
  if (numbered.length === 0) return;
  const toDetails = ({ incarnation, number, ...decided }: VoidDecision): VoidedDetails => ({
    id: randomUUID(),
    ...decided,
  });
  await transaction`
    with decision as (
      select incarnation, number, details::jsonb from unnest(
        ${formatNumbers(numbered.map(({ incarnation }) => incarnation))}::bigint[],
        ${formatNumbers(numbered.map(({ number }) => Number(number)))}::bigint[],
        ${formatTexts(numbered.map((decision) => JSON.stringify(toDetails(decision))))}::text[]
      ) as decision (incarnation, number, details)
    ), delivery as (
      insert into webhook_deliveries (endpoint_id, log_number, kind, weight, votes, details)
      select endpoint.id, number, ${voteVoidedKind}, 1, totals.votes + coalesce((
          select sum(coalesce((payload ->> 'upvotes')::bigint, 0)
            - coalesce((payload ->> 'downvotes')::bigint, 0))
          from adjustments
          where adjustments.incarnation = totals.incarnation and action = 'adjust'
            and sequence > totals.adjustment), 0), details
      from decision join totals using (incarnation) join webhook_endpoints as endpoint using (incarnation)
      where endpoint.enabled and 'vote.voided' = any (endpoint.events)
        and not (endpoint.up_only and details ->> 'upvotes' = '0')
      order by endpoint.id, number
      on conflict do nothing
      returning endpoint_id
    )
    update webhook_endpoints as endpoint set pending = pending + added, signal = signal + 1,
      due_at_ms = wait_until_ms
    from (select endpoint_id, count(*) as added from delivery group by endpoint_id) as sums
    where endpoint.id = sums.endpoint_id`;
};
