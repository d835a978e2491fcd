/**
 * Writes the webhook deliveries of votes in the statement that gives the votes their numbers, those of
 * decisions about past votes in the transaction of the decision, and those of other events.
 *
 * So an accepted vote has exactly one delivery per endpoint that is enabled when its row is written, however
 * often a flush is repeated, and so has a decision. Nothing is sent here: storage/catalogue/webhooks has the
 * queue. Every statement that changes deliveries and their endpoint writes the deliveries first, so that none
 * waits for another in a circle.
 */
import { randomUUID } from 'node:crypto';
import { deliveryKinds, failingFrom } from '../../engine/rules/webhooks.ts';
import { buildRows, type Queryable, type Transaction } from '../sql/client.ts';
import { readNumber } from '../sql/rows.ts';

export interface DeliveryRules {
  /** Too many deliveries wait: none are written for failing endpoints. Their votes stay in the vote log. */
  readonly isBacklogFull: boolean;
}

/**
 * Builds the further parts of a `with` statement that has `written`, new rows of votes with their numbers.
 * The votes of one request are one event. The part `delivery` has a row per delivery written.
 */
export const buildDeliveries = (transaction: Transaction, { isBacklogFull }: DeliveryRules) =>
  transaction`
    , event as (
      select incarnation, created_at, bool_or(upvote) as upvote, min(log_number) as log_number,
        count(*) as weight
      from written where log_number is not null group by incarnation, author, created_at
    ), delivery as (
      insert into webhook_deliveries (${buildPlaceColumns(transaction)}, kind, weight, votes)
      select ${buildPlace(transaction)}, ${deliveryKinds['vote.created']}, weight, votes
      from (
        select endpoint.id, endpoint.sequenced, event.incarnation as subject, event.log_number as number,
          event.weight, totals.votes
        from event join totals using (incarnation) ${buildListeners(transaction)}
        where 'vote.created' = any (endpoint.events)
          and (event.upvote or not (endpoint.up_only or endpoint.format in ('topgg', 'topgg_v1')))
          and (endpoint.failures < ${failingFrom} or not (select ${isBacklogFull}::boolean))
        order by endpoint.id, event.incarnation, event.log_number
      ) as chosen
      on conflict do nothing
      returning endpoint_id
    ), signalled as (
      ${signalEndpoints(transaction, buildVotedMs(transaction))}
    )`;

const buildVotedMs = (transaction: Transaction) =>
  transaction`(select extract(epoch from min(created_at)) * 1000 from event)`;

/** Builds the list of the columns that `buildPlace` selects. */
export const buildPlaceColumns = (transaction: Transaction) =>
  transaction`endpoint_id, log_number, subject, subject_number`;
/** Builds the place of a delivery in the queue, and what it is about, as the schema describes it. */
export const buildPlace = (transaction: Transaction) => transaction`
  id, case when sequenced then nextval('webhook_places') else number end,
  case when sequenced then subject end, case when sequenced then number end`;

/** Builds a join: `endpoint` is each enabled endpoint of the `totals` row, and of the team that owns it. */
const buildListeners = (transaction: Transaction) => transaction`
  join lateral webhook_listeners(totals.incarnation) as endpoint on true`;

/** Wakes the endpoints. Locks them in the order of their ids, because two writers may share several. */
const signalEndpoints = (transaction: Transaction, dueMs: ReturnType<typeof buildVotedMs>) => transaction`
  update webhook_endpoints as endpoint set pending = pending + added, signal = signal + 1,
    due_at_ms = least(due_at_ms, greatest(wait_until_ms, ${dueMs}::bigint))
  from (
    select id, added
    from (select endpoint_id, count(*) as added from delivery group by endpoint_id) as sums
    join webhook_endpoints on id = endpoint_id
    order by id for no key update of webhook_endpoints
  ) as locked
  where endpoint.id = locked.id`;

/** What `details` of a delivery of the kinds `vote.voided` and `vote.restored` has. */
export interface VoidedDetails {
  /** The decision, a UUID: the same for all endpoints. */
  readonly id: string;
  readonly reason: 'operator' | 'redeemed' | 'monthly_reset';
  /** The votes that became void, or count again. */
  readonly upvotes: number;
  readonly downvotes: number;
  /** For a reset: the votes before this time became void. */
  readonly beforeMs: number | null;
  /** The decision is about one vote: the one that has the delivery's number. */
  readonly single: boolean;
  /** The highest number of these votes, if it is not that of the delivery. */
  readonly number?: number;
}
/** The `details` of a delivery of any other kind. */
export interface EventDetails extends Readonly<Record<string, unknown>> {
  /** The event, a UUID: the same for all endpoints. */
  readonly id: string;
}
/** A decision that made votes of one listing void, or count again. */
export interface VoidDecision extends Omit<VoidedDetails, 'id' | 'number'> {
  readonly incarnation: number;
  /** The highest number of these votes. `null` when none has a number yet. */
  readonly number: number | null;
  /**
   * A later decision may concern the same votes, as with plans, whose votes can count again. So the place in
   * the queue comes from the sequence. All other decisions take the place of the vote with the `number`.
   */
  readonly isRepeatable?: boolean;
}

/**
 * Writes one delivery per decision and enabled endpoint that wants them. Call it after the adjustments, with
 * the listings locked; the total that is reported contains those that the hot store does not have yet. A
 * decision about votes without a number is not reported, because these votes were not either.
 */
export const writeVoidDeliveries = async (
  transaction: Transaction,
  type: 'vote.voided' | 'vote.restored',
  decisions: readonly VoidDecision[],
) => {
  const rows = decisions.flatMap(({ incarnation, number, isRepeatable, ...decided }) => {
    if (number === null) return [];
    const details: VoidedDetails = { id: randomUUID(), ...decided, ...(isRepeatable && { number }) };
    return [{ incarnation, number, details: JSON.stringify(details) }];
  });
  if (rows.length === 0) return;
  await transaction`
    with decision as (
      select incarnation, number, details::jsonb
      from ${buildRows(transaction, rows, { incarnation: 'bigint', number: 'bigint', details: 'text' })}
        as decision (incarnation, number, details)
    ), delivery as (
      insert into webhook_deliveries (${buildPlaceColumns(transaction)}, kind, weight, votes, details)
      select ${buildPlace(transaction)}, ${deliveryKinds[type]}, 1, votes, details
      from (
        select endpoint.id, endpoint.sequenced or details ? 'number' as sequenced,
          totals.incarnation as subject, case when details ? 'number' then null else number end as number,
          details,
          totals.votes + coalesce((
            select sum(coalesce((payload ->> 'upvotes')::bigint, 0)
              - coalesce((payload ->> 'downvotes')::bigint, 0))
            from adjustments
            where adjustments.incarnation = totals.incarnation and action = 'adjust'
              and sequence > totals.adjustment), 0) as votes
        from decision join totals using (incarnation) ${buildListeners(transaction)}
        where ${type}::text = any (endpoint.events)
          and not (endpoint.up_only and details ->> 'upvotes' = '0')
        order by endpoint.id, totals.incarnation, decision.number
      ) as chosen
      on conflict do nothing
      returning endpoint_id
    )
    ${signalEndpoints(transaction, transaction`0`)}`;
};

/** An event of one listing that is not about numbered votes. */
export interface NewListingEvent {
  readonly type: Exclude<keyof typeof deliveryKinds, 'vote.created' | 'vote.voided' | 'vote.restored'>;
  readonly incarnation: number;
  /** What the event tells, as JSON. `user` is a user's id. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Writes a delivery per endpoint that wants the event. *Ledger* when it resolves: to how many. */
export const writeListingEvent = (
  sql: Queryable,
  { type, incarnation, details }: NewListingEvent,
): Promise<number> =>
  readNumber(sql`
    select write_listing_event(${incarnation}, ${deliveryKinds[type]}::smallint, ${type},
      ${JSON.stringify(details)}::text::jsonb) as written`);
