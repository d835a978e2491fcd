/**
 * Bounds the deliveries of webhooks: a backlog that is too long, rows that are too old, rows of endpoints
 * that were deleted. And counts them for the metrics.
 *
 * Every statement changes a bounded number of rows and may be repeated. A delivery that expires stays for
 * `replay`.
 */
import type { Target } from '../../../engine/ids.ts';
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { changeInSteps, readColumn, readNumber, rowsPerStep } from '../../sql/rows.ts';

/** Deliveries that may wait for one endpoint; the oldest beyond expire. */
export const pendingPerEndpointMax = 10_000;

/** Lets the oldest deliveries expire where too many wait. Any number of nodes may do it at once. */
export const expireBacklogs = (sql: Sql): Promise<void> =>
  asStorage('webhooks.expire', async () => {
    const rows = await sql<{ id: string; excess: number }[]>`
      select id, pending - ${pendingPerEndpointMax} as excess from webhook_endpoints
      where pending > ${pendingPerEndpointMax} order by id limit 100`;
    for (const { id, excess } of rows) await expireOldest(sql, id, Math.min(excess, rowsPerStep));
  });

const expireOldest = (sql: Queryable, id: string, count: number): Promise<unknown> => sql`
  with expired as (
    update webhook_deliveries set state = 2, body = null
    where endpoint_id = ${id} and state = 0 and (log_number, kind) in (
      select log_number, kind from webhook_deliveries where endpoint_id = ${id} and state = 0
      order by log_number limit ${count})
    returning 1
  )
  update webhook_endpoints set pending = pending - (select count(*) from expired) where id = ${id}`;

/** Deletes deliveries older than `days`, and those of deleted endpoints. */
export const purgeDeliveries = (sql: Sql, days: number, signal: AbortSignal): Promise<void> =>
  asStorage('webhooks.purge', async () => {
    while (!signal.aborted && (await purgeOld(sql, days)) === rowsPerStep);
    for (const id of await listOrphans(sql))
      await changeInSteps(
        () => sql`
          delete from webhook_deliveries where ctid in (
            select ctid from webhook_deliveries where endpoint_id = ${id} limit ${rowsPerStep})`,
        signal,
      );
  });

const purgeOld = (sql: Queryable, days: number): Promise<number> =>
  readNumber(sql`
    with deleted as (
      delete from webhook_deliveries where ctid in (
        select ctid from webhook_deliveries where created_at < now() - make_interval(days => ${days})
        limit ${rowsPerStep})
      returning endpoint_id, state
    ), counted as (
      update webhook_endpoints as endpoint set pending = pending - sums.count
      from (select endpoint_id, count(*) as count from deleted where state = 0 group by endpoint_id) as sums
      where endpoint.id = sums.endpoint_id
    )
    select count(*) as deleted from deleted`);

/** Lists deleted endpoints that still have deliveries. One index look-up per endpoint, not per delivery. */
const listOrphans = (sql: Queryable): Promise<readonly string[]> =>
  readColumn<string>(sql`
    with recursive known as (
      (select endpoint_id from webhook_deliveries order by endpoint_id limit 1)
      union all
      select (select endpoint_id from webhook_deliveries as next
        where next.endpoint_id > known.endpoint_id order by next.endpoint_id limit 1)
      from known where known.endpoint_id is not null
    )
    select endpoint_id from known where endpoint_id is not null
      and not exists (select from webhook_endpoints where id = known.endpoint_id)`);

/** For the metrics and for the bound of all deliveries together. */
export interface WebhookFigures {
  readonly pending: number;
  readonly healthy: number;
  readonly failing: number;
  readonly disabled: number;
  /** When the longest waiting endpoint was due, ms; 0 when none is, or at once (a decision about votes). */
  readonly oldestDueMs: number;
}

export const readWebhookFigures = (sql: Queryable, failingFrom: number): Promise<WebhookFigures> =>
  asStorage('webhooks.figures', async () => {
    const [row] = await sql<WebhookFigures[]>`
      select coalesce(sum(pending), 0)::bigint as pending,
        count(*) filter (where enabled and failures < ${failingFrom}) as healthy,
        count(*) filter (where enabled and failures >= ${failingFrom}) as failing,
        count(*) filter (where not enabled) as disabled,
        coalesce(min(due_at_ms) filter (where due_at_ms > 0), 0) as "oldestDueMs"
      from webhook_endpoints`;
    return row ?? { pending: 0, healthy: 0, failing: 0, disabled: 0, oldestDueMs: 0 };
  });

/** Lists at most `limit` listings that have an enabled endpoint, or whose owner has one for all. */
export const listWatched = (sql: Queryable, limit: number): Promise<readonly Target[]> =>
  asStorage(
    'webhooks.watched',
    () => sql<Target[]>`
      select kind, entity_id as id from totals
      where incarnation in (
        select incarnation from webhook_endpoints where enabled
        union all
        select listed.incarnation from webhook_endpoints as owned
        join totals as team on team.incarnation = owned.incarnation
        cross join lateral (
          select incarnation from bots where team_id = team.entity_id
          union all select incarnation from servers where team_id = team.entity_id
        ) as listed
        where owned.scope = 'owned' and owned.enabled)
      limit ${limit}`,
  );
