/**
 * The deliveries of an endpoint as its owners see them, and their requests to send some votes again.
 *
 * A replay marks deliveries, and writes those that the vote log has and the endpoint never got: it was
 * disabled, or did not exist yet. Each is sent once, whatever the endpoint's health, and its result changes
 * nothing but that delivery.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import { deliveryKinds } from '../../../engine/rules/webhooks.ts';
import { buildPlace, buildPlaceColumns } from '../../ledger/webhook-deliveries.ts';
import { buildRows, type Queryable, type Sql, type Transaction } from '../../sql/client.ts';
import { changeInSteps, rowsPerStep } from '../../sql/rows.ts';
import type { AttemptRow } from './endpoints.ts';

const deliveryStates = ['pending', 'delivered', 'expired'] as const;
export type DeliveryState = (typeof deliveryStates)[number];
/** Events that one replay may send. */
export const replayMax = 10_000;

export interface DeliveryRow {
  /** Its place in the queue; with the kind, its key. */
  readonly place: number;
  /** In the vote log of the listing; `null` for an event that is not about numbered votes. */
  readonly number: number | null;
  readonly target_type: EntityKind | null;
  readonly target_id: string | null;
  readonly kind: number;
  readonly state: number;
  readonly replay: boolean;
  readonly next_at_ms: number;
  readonly attempts: readonly AttemptRow[];
  readonly created_at: Date;
  /** The request's first vote, or the decision's id; `null` when SQL no longer has the vote. */
  readonly source: string | null;
}
export interface DeliveryRange {
  readonly state: DeliveryState | null;
  /** Only older ones than this, `null` for the newest. */
  readonly before: { readonly place: number; readonly kind: number } | null;
  readonly limit: number;
}

/** Lists deliveries, newest first. */
export const listDeliveries = (
  sql: Queryable,
  endpoint: { readonly id: string; readonly incarnation: number },
  { state, before, limit }: DeliveryRange,
): Promise<readonly DeliveryRow[]> => sql<DeliveryRow[]>`
  select delivery.log_number as place, numbered.number, totals.kind as target_type,
    totals.entity_id as target_id, delivery.kind, state, replay, next_at_ms, attempts, delivery.created_at,
    coalesce(details ->> 'id', votes.itag::text) as source
  from webhook_deliveries as delivery cross join lateral (
    select coalesce(subject, ${endpoint.incarnation}) as incarnation,
      case when subject is null then delivery.log_number else subject_number end as number
  ) as numbered
  left join totals on totals.incarnation = numbered.incarnation
  left join votes on votes.incarnation = numbered.incarnation and votes.log_number = numbered.number
  where endpoint_id = ${endpoint.id}
    ${state === null ? sql`` : sql`and state = ${deliveryStates.indexOf(state)}`}
    ${
      before === null
        ? sql``
        : sql`and (delivery.log_number, delivery.kind) < (${before.place}, ${before.kind})`
    }
  order by delivery.log_number desc, delivery.kind desc limit ${limit}`;

/** Deletes the deliveries that are not waiting, in bounded steps. Resolves to their number. */
export const clearDeliveries = (sql: Queryable, endpointId: string): Promise<number> =>
  changeInSteps(
    () => sql`
      delete from webhook_deliveries where ctid in (
        select ctid from webhook_deliveries
        where endpoint_id = ${endpointId} and state <> 0 and not replay limit ${rowsPerStep})`,
  );

/** Which events to send again: by numbers of the vote log (both included), or by the time of the votes. */
export type ReplayRange =
  | { readonly fromNumber: number; readonly toNumber: number }
  | { readonly since: Date; readonly until: Date; readonly failedOnly: boolean };

export interface ReplayRequest {
  readonly id: string;
  readonly incarnation: number;
  readonly format: string;
  readonly scope: string;
  readonly upOnly: boolean;
  readonly range: ReplayRange;
  readonly nowMs: number;
}

/** A vote that is sent again. */
interface ReplayedVote {
  readonly incarnation: number;
  readonly number: number;
}

/**
 * Queues events; ledger when it resolves. Resolves to how many, without those that an earlier replay has
 * queued and that are not sent yet; or to `null` when there are more than `replayMax` and none was queued.
 */
export const enqueueReplay = (sql: Sql, request: ReplayRequest): Promise<number | null> =>
  sql.begin(async (transaction) => {
    const { id, nowMs } = request;
    const votes = await findReplayed(transaction, request);
    if (votes.length > replayMax) return null;
    if (votes.length === 0) return 0;
    const queued = await writeReplay(transaction, request, votes);
    await transaction`
      update webhook_endpoints set signal = signal + 1, due_at_ms = least(due_at_ms, ${nowMs})
      where id = ${id}`;
    return queued;
  });

/** Finds the first vote of each request in the range, at most one more than may be sent. */
const findReplayed = (
  transaction: Transaction,
  { id, incarnation, format, scope, upOnly, range }: ReplayRequest,
): Promise<readonly ReplayedVote[]> => transaction<ReplayedVote[]>`
  with listing as (
    select incarnation, kind, entity_id from totals where incarnation = ${incarnation}
    ${scope === 'owned' ? unionOwned(transaction, incarnation) : transaction``}
  )
  select vote.incarnation, log_number as number from listing join votes as vote using (incarnation)
  where log_number is not null
    and ${
      'since' in range
        ? transaction`target_type = kind and target_id = entity_id
          and created_at between ${range.since} and ${range.until}`
        : transaction`log_number between ${range.fromNumber} and ${range.toNumber}`
    }
    and (upvote or not ${upOnly || format.startsWith('topgg')}::boolean)
    and (exists (
      select from webhook_deliveries as delivery
      where ${buildOfVote(transaction, { id, incarnation })})
    or not exists (
      select from votes as same
      where same.author = vote.author and same.target_type = vote.target_type
        and same.target_id = vote.target_id and same.created_at = vote.created_at
        and same.incarnation = vote.incarnation and same.log_number < vote.log_number))
    and (not ${'failedOnly' in range && range.failedOnly}::boolean or exists (
      select from webhook_deliveries as delivery
      where ${buildOfVote(transaction, { id, incarnation })} and delivery.state <> 1))
  order by vote.incarnation, log_number limit ${replayMax + 1}`;

/** Builds the part of a union with the listings that the team owns now. */
const unionOwned = (transaction: Transaction, incarnation: number) => transaction`
  union all
  select owned.incarnation, owned.kind, owned.entity_id
  from totals as team cross join lateral (
    select incarnation from bots where team_id = team.entity_id
    union all select incarnation from servers where team_id = team.entity_id
  ) as listed join totals as owned on owned.incarnation = listed.incarnation
  where team.incarnation = ${incarnation}`;

/** Builds the condition that `delivery` reports `vote` to this endpoint; each kind of place has an index. */
const buildOfVote = (
  transaction: Transaction,
  { id, incarnation }: { readonly id: string; readonly incarnation: number },
) => transaction`
  delivery.endpoint_id = ${id} and delivery.kind = ${deliveryKinds['vote.created']}
  and (delivery.subject is null and vote.incarnation = ${incarnation}
      and delivery.log_number = vote.log_number
    or delivery.subject = vote.incarnation and delivery.subject_number = vote.log_number)`;

const writeReplay = async (
  transaction: Transaction,
  { id, incarnation }: ReplayRequest,
  votes: readonly ReplayedVote[],
): Promise<number> => {
  const rows = buildRows(transaction, votes, { incarnation: 'bigint', number: 'bigint' });
  const chosen = transaction`${rows} as vote (incarnation, log_number)`;
  const existing = await transaction`
    update webhook_deliveries as delivery set replay = true
    from ${chosen} where ${buildOfVote(transaction, { id, incarnation })} and not replay returning 1`;
  const missing = await transaction`
    insert into webhook_deliveries
      (${buildPlaceColumns(transaction)}, kind, state, weight, votes, replay)
    select ${buildPlace(transaction)}, ${deliveryKinds['vote.created']}, 2, weight, votes, true
    from (
      select ${id}::uuid as id, endpoint.sequenced, vote.incarnation as subject, vote.log_number as number, (
          select count(*) from votes as same
          where same.incarnation = vote.incarnation and same.author = first.author
            and same.created_at = first.created_at and same.log_number >= vote.log_number) as weight,
        totals.votes
      from ${chosen} join votes as first using (incarnation, log_number)
      join totals using (incarnation) join webhook_endpoints as endpoint on endpoint.id = ${id}
      where not exists (
        select from webhook_deliveries as delivery where ${buildOfVote(transaction, { id, incarnation })})
      order by vote.incarnation, vote.log_number
    ) as missing
    on conflict do nothing
    returning 1`;
  return existing.length + missing.length;
};
