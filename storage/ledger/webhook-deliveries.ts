/**
 * Writes the webhook deliveries of votes in the statement that gives the votes their numbers.
 *
 * So an accepted vote has exactly one delivery per endpoint that is enabled when its row is written, however
 * often a flush is repeated. Nothing is sent here: storage/catalogue/webhooks has the queue. Every statement
 * that changes deliveries and their endpoint writes the deliveries first, so that none waits for another in a
 * circle. Called by flush.ts and vote-log.ts.
 */
import type { Transaction } from '../sql/client.ts';

/** The `kind` of a delivery; migration 018 has the list. */
export const voteCreatedKind = 1;
/** From this number of failures in a row an endpoint is failing: only its oldest delivery is tried. */
export const failingFrom = 3;

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
        and (event.upvote or not (endpoint.up_only or endpoint.format = 'topgg'))
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
