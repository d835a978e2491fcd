/**
 * Leases of webhook endpoints: a sender renews its own while it lives, and soon after its death another node
 * takes over.
 *
 * A lease that ended without its sender says nothing about the receiver. Its next sender learns it, and sends
 * carefully: an attempt is recorded before it is made, so a delivery that ends its node waits longer each
 * time, and it alone. Leases are by SQL's clock, other times are the node's, ms.
 */
import { buildRows, type Queryable } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { hasRow } from '../../sql/rows.ts';
import { buildSends } from './endpoints.ts';

export interface Lease {
  readonly id: string;
  /** Grows with each lease of the endpoint. */
  readonly number: number;
  /** It never had a success, or its last attempt failed: it may keep its sender waiting. */
  readonly unproven: boolean;
  /** The sender before did not release the endpoint: what it sent may have ended its process. */
  readonly lapsed: boolean;
}
export interface LeaseRequest {
  readonly nowMs: number;
  readonly leaseMs: number;
  readonly limit: number;
  readonly unprovenLimit: number;
  /**
   * How long an endpoint waits at most whose lease was not released, and a fifth of that at least: it varies,
   * so that the endpoints of a dead node are not all taken again at once.
   */
  readonly lapsePauseMs: number;
}
export interface BegunAttempt {
  readonly place: number;
  readonly kind: number;
  /** 1: sent once more on request, which leaves tries and due time alone. */
  readonly replay: 0 | 1;
  readonly nextAtMs: number;
}

const buildSqlNow = (sql: Queryable) => sql`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** Builds the condition that a lease is over. A released one ends at 0, so it causes no wait. */
const buildLeaseOver = (sql: Queryable, lapsePauseMs: number) => sql`
  lease_until_ms + ${lapsePauseMs}::bigint * (200 + abs(hashtext(id::text || lease_number) % 800)) / 1000
    <= ${buildSqlNow(sql)}`;

/**
 * Leases at most `limit` endpoints with due deliveries, longest overdue first; at most `unprovenLimit` of
 * them are unproven. No other node gets them meanwhile. The time in which one was due and no node took it
 * does not count as time in which it failed.
 */
export const takeLeases = (
  sql: Queryable,
  { nowMs, leaseMs, limit, unprovenLimit, lapsePauseMs }: LeaseRequest,
): Promise<readonly Lease[]> => {
  const due = sql`due_at_ms <= ${nowMs} and ${buildLeaseOver(sql, lapsePauseMs)}`;
  const unproven = sql`(failures > 0 or last_delivered_at is null)`;
  return sql<Lease[]>`
    with proven as (
      select id, due_at_ms, lease_until_ms > 0 as lapsed, false as unproven from webhook_endpoints
      where ${due} and not ${unproven} order by due_at_ms limit ${limit} for update skip locked
    ), unproven as (
      select id, due_at_ms, lease_until_ms > 0 as lapsed, true as unproven from webhook_endpoints
      where ${due} and ${unproven} order by due_at_ms limit ${unprovenLimit} for update skip locked
    )
    update webhook_endpoints as endpoint set
      lease_until_ms = ${buildSqlNow(sql)} + ${leaseMs}, lease_number = lease_number + 1,
      failing_since_ms = case when failing_since_ms > 0 and endpoint.due_at_ms > 0
        then least(failing_since_ms + ${nowMs} - endpoint.due_at_ms, ${nowMs}) else failing_since_ms end,
      due_at_ms = case when failing_since_ms > 0 then ${nowMs} else endpoint.due_at_ms end
    from (
      select * from (select * from proven union all select * from unproven) as found
      order by due_at_ms limit ${limit}
    ) as taken
    where endpoint.id = taken.id
    returning endpoint.id, lease_number as number, taken.unproven, lapsed`;
};

/**
 * Renews the leases that have not ended. A row that a flush is changing is left for the next renewal: two
 * transactions that wait for several rows could deadlock.
 */
export const renewLeases = (
  sql: Queryable,
  leases: readonly Lease[],
  leaseMs: number,
): Promise<unknown> => sql`
  update webhook_endpoints set lease_until_ms = ${buildSqlNow(sql)} + ${leaseMs}
  where id in (
    select endpoint.id
    from ${buildRows(sql, leases, { id: 'uuid', number: 'bigint' })} as lease (id, number)
    join webhook_endpoints as endpoint on endpoint.id = lease.id and lease_number = number
    where lease_until_ms > 0 for update of endpoint skip locked)`;

/** Builds the condition that an endpoint is still under this lease. */
export const buildStillLeased = (sql: Queryable, { id, number }: Lease) =>
  sql`id = ${id} and lease_number = ${number} and lease_until_ms > 0`;

const begunColumns = { place: 'bigint', kind: 'smallint', replay: 'smallint', nextAtMs: 'bigint' } as const;

/** Records attempts before they are made, and when the next are due; after `triesMax` a delivery expires. */
export const beginAttempts = (
  sql: Queryable,
  lease: Lease,
  { attempts, triesMax }: { readonly attempts: readonly BegunAttempt[]; readonly triesMax: number },
): Promise<unknown> => sql`
  with begun as (
    update webhook_deliveries as delivery set
      tries = tries + 1 - again, replay = replay and again = 0,
      next_at_ms = case again when 0 then attempt.next_at_ms else delivery.next_at_ms end,
      state = case when again = 0 and tries + 1 >= ${triesMax} then 2 else state end
    from ${buildRows(sql, attempts, begunColumns)}
      as attempt (place, kind, again, next_at_ms)
    where endpoint_id = ${lease.id} and log_number = place and delivery.kind = attempt.kind
      and (again = 1 or state = 0)
    returning state = 2 and again = 0 as expired
  )
  update webhook_endpoints set pending = pending - (select count(*) from begun where expired)
  where id = ${lease.id}`;

/**
 * Ends a lease after a page without deliveries. False when there is new work: read again. The next due time
 * is that of the first waiting delivery, but not before the endpoint may be tried again.
 */
export const releaseLease = (sql: Queryable, lease: Lease, signal: number): Promise<boolean> =>
  hasRow(sql`
    update webhook_endpoints set lease_until_ms = 0, due_at_ms = case when ${buildSends(sql)} then (
      select greatest(wait_until_ms, min(next_at_ms)) from webhook_deliveries
      where endpoint_id = ${lease.id} and state = 0 having count(*) > 0) end
    where ${buildStillLeased(sql, lease)} and signal = ${signal} returning id`);

/** Ends a lease although deliveries are due; the endpoint may be leased again from `dueMs` on. */
export const endLease = (sql: Queryable, lease: Lease, dueMs: number): Promise<unknown> => sql`
  update webhook_endpoints set lease_until_ms = 0, due_at_ms = ${dueMs}
  where ${buildStillLeased(sql, lease)}`;

/** Ends the leases of the process before, as if they had run out. For the start of the only node. */
export const endAllLeases = (sql: Queryable): Promise<void> =>
  asStorage('webhooks.leases', async () => {
    await sql`
      update webhook_endpoints set lease_until_ms = least(lease_until_ms, ${buildSqlNow(sql)})
      where lease_until_ms > 0`;
  });
