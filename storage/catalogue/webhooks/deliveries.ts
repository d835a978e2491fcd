/**
 * The deliveries of an endpoint as its owners see them, and their wish to have some votes sent again.
 *
 * A replay marks deliveries, and writes those that the vote log has and the endpoint never got: it was
 * disabled, or did not exist yet. Each is sent once, whatever the endpoint's health, and its result changes
 * nothing but that delivery. Called by catalogue.ts.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import { voteCreatedKind } from '../../ledger/webhook-deliveries.ts';
import type { Queryable, Sql, Transaction } from '../../sql/client.ts';
import type { AttemptRow } from './endpoints.ts';

export const deliveryStates = ['pending', 'delivered', 'expired'] as const;
export type DeliveryState = (typeof deliveryStates)[number];
/** Events that one replay may send. */
export const replayMax = 10_000;
/** Rows deleted by one statement. */
const rowsPerStep = 10_000;

export interface DeliveryRow {
  readonly number: number;
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
  readonly before: { readonly number: number; readonly kind: number } | null;
  readonly limit: number;
}

/** Lists deliveries, newest first. */
export const listDeliveries = (
  sql: Queryable,
  endpoint: { readonly id: string; readonly incarnation: number },
  { state, before, limit }: DeliveryRange,
): Promise<readonly DeliveryRow[]> => sql<DeliveryRow[]>`
  select delivery.log_number as number, delivery.kind, state, replay, next_at_ms, attempts,
    delivery.created_at, coalesce(details ->> 'id', votes.itag::text) as source
  from webhook_deliveries as delivery
  left join votes on votes.incarnation = ${endpoint.incarnation} and votes.log_number = delivery.log_number
  where endpoint_id = ${endpoint.id}
    ${state === null ? sql`` : sql`and state = ${deliveryStates.indexOf(state)}`}
    ${
      before === null
        ? sql``
        : sql`and (delivery.log_number, delivery.kind) < (${before.number}, ${before.kind})`
    }
  order by delivery.log_number desc, delivery.kind desc limit ${limit}`;

/** Deletes the deliveries that are not waiting, in bounded steps. */
export const clearDeliveries = async (sql: Queryable, endpointId: string): Promise<void> => {
  for (;;) {
    const rows = await sql`
      delete from webhook_deliveries where ctid in (
        select ctid from webhook_deliveries
        where endpoint_id = ${endpointId} and state <> 0 and not replay limit ${rowsPerStep})`;
    if (rows.count < rowsPerStep) return;
  }
};

/** Which events to send again: by numbers of the vote log (both included), or by the time of the votes. */
export type ReplayRange =
  | { readonly fromNumber: number; readonly toNumber: number }
  | { readonly since: Date; readonly until: Date; readonly failedOnly: boolean };

export interface ReplayRequest {
  readonly id: string;
  readonly incarnation: number;
  readonly target: { readonly kind: EntityKind; readonly id: string };
  readonly format: string;
  readonly upOnly: boolean;
  readonly range: ReplayRange;
  readonly nowMs: number;
}

/**
 * Queues events; ledger when it resolves. Resolves to how many, without those that an earlier replay has
 * queued and that are not sent yet; or to `null` when there are more than `replayMax` and none was queued.
 */
export const enqueueReplay = (sql: Sql, request: ReplayRequest): Promise<number | null> =>
  sql.begin(async (transaction) => {
    const { id, nowMs } = request;
    const [found] = await transaction<{ events: number; numbers: readonly number[] }[]>`
      ${buildReplayedEvents(transaction, request)}
      select count(*) as events, coalesce(array_agg(log_number order by log_number), '{}') as numbers
      from event`;
    const { events, numbers } = found ?? { events: 0, numbers: [] };
    if (events > replayMax) return null;
    if (events === 0) return 0;
    const queued = await writeReplay(transaction, request, numbers);
    await transaction`
      update webhook_endpoints set signal = signal + 1, due_at_ms = least(due_at_ms, ${nowMs})
      where id = ${id}`;
    return queued;
  });

/** The first vote of each request in the range, at most one more than may be sent. */
const buildReplayedEvents = (
  transaction: Transaction,
  { id, incarnation, target, format, upOnly, range }: ReplayRequest,
) => transaction`
  with event as (
    select log_number from votes as vote
    where incarnation = ${incarnation} and log_number is not null
      and ${
        'since' in range
          ? transaction`target_type = ${target.kind} and target_id = ${target.id}
            and created_at between ${range.since} and ${range.until}`
          : transaction`log_number between ${range.fromNumber} and ${range.toNumber}`
      }
      and (upvote or not ${upOnly || format.startsWith('topgg')}::boolean)
      and (exists (
        select from webhook_deliveries as delivery
        where delivery.endpoint_id = ${id} and delivery.log_number = vote.log_number
          and delivery.kind = ${voteCreatedKind})
      or not exists (
        select from votes as same
        where same.author = vote.author and same.target_type = vote.target_type
          and same.target_id = vote.target_id and same.created_at = vote.created_at
          and same.incarnation = vote.incarnation and same.log_number < vote.log_number))
      and (not ${'failedOnly' in range && range.failedOnly}::boolean or exists (
        select from webhook_deliveries as delivery
        where delivery.endpoint_id = ${id} and delivery.log_number = vote.log_number
          and delivery.kind = ${voteCreatedKind} and delivery.state <> 1))
    order by log_number limit ${replayMax + 1}
  )`;

const writeReplay = async (
  transaction: Transaction,
  { id, incarnation }: ReplayRequest,
  numbers: readonly number[],
): Promise<number> => {
  const rows = await transaction`
    insert into webhook_deliveries as delivery
      (endpoint_id, log_number, kind, state, weight, votes, replay)
    select ${id}, vote.log_number, ${voteCreatedKind}, 2, (
        select count(*) from votes as same
        where same.incarnation = vote.incarnation and same.author = vote.author
          and same.created_at = vote.created_at and same.log_number >= vote.log_number),
      totals.votes, true
    from unnest(${[...numbers]}::bigint[]) as chosen (log_number)
    join votes as vote on vote.incarnation = ${incarnation} and vote.log_number = chosen.log_number
    join totals on totals.incarnation = vote.incarnation
    order by vote.log_number
    on conflict (endpoint_id, log_number, kind) do update set replay = true where not delivery.replay
    returning 1`;
  return rows.length;
};
