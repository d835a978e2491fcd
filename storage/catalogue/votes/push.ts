/**
 * Browsers that get push messages, and the outbox of messages on their way.
 *
 * An endpoint belongs to the user who subscribed with it last. A message is taken by moving its next time
 * ahead, which is its lease: a node that dies with it lets another send it again, so a message is sent at
 * least once. It is gone when it was delivered or given up. Keys never leave but to the sender. Times are
 * the caller's, in ms. Called by catalogue.ts.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import type { Queryable, Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { lockOwner } from '../shared/listings.ts';
import { buildListingNames } from './reminders.ts';

export interface BrowserInfo {
  readonly browser: string;
  readonly browser_ver: string;
  readonly mobile: boolean;
  readonly os: string;
}
export interface SubscriptionRow {
  readonly id: string;
  readonly endpoint: string;
  readonly browser_info: BrowserInfo;
  readonly created_at: Date;
}
export interface PushTarget {
  readonly endpoint: string;
  readonly auth: string;
  readonly p256dh: string;
}
export interface NewSubscription extends PushTarget {
  /** Of the row, if it is a new one. */
  readonly id: string;
  readonly userId: string;
  readonly browserInfo: BrowserInfo;
  readonly nowMs: number;
}
/** A message taken for sending. */
export interface PushMessage extends PushTarget {
  readonly id: number;
  readonly subscriptionId: string;
  readonly incarnation: number;
  readonly userId: string;
  readonly kind: EntityKind;
  readonly targetId: string;
  readonly name: string;
  readonly avatar: string;
  /** From 1. */
  readonly attempts: number;
}
export interface TakeRequest {
  readonly nowMs: number;
  readonly leaseMs: number;
  readonly limit: number;
}

export interface PushOutbox {
  list(userId: string): Promise<readonly SubscriptionRow[]>;
  /** False when the user has `max` already. Resolves when it is in SQL. */
  subscribe(subscription: NewSubscription, max: number): Promise<boolean>;
  /** False when this user has none of that id. Its messages go with it. */
  unsubscribe(userId: string, id: string): Promise<boolean>;
  /** The push service knows it no longer. */
  drop(id: string): Promise<void>;
  /** Messages whose time has come, the longest waiting first; nobody else gets them before the lease ends. */
  take(taking: TakeRequest): Promise<readonly PushMessage[]>;
  recordDelivery(message: PushMessage, nowMs: number): Promise<void>;
  abandon(message: PushMessage): Promise<void>;
  /** This message waits until then, and those to the same browser at least as long. */
  postpone(message: PushMessage, untilMs: number): Promise<void>;
}

export const createPushOutbox = (sql: Sql): PushOutbox => ({
  list: (userId) => asStorage('push.list', () => listSubscriptions(sql, userId)),
  subscribe: (subscription, max) => asStorage('push.subscribe', () => subscribe(sql, subscription, max)),
  unsubscribe: (userId, id) => asStorage('push.unsubscribe', () => unsubscribe(sql, userId, id)),
  drop: (id) => asStorage('push.drop', () => drop(sql, id)),
  take: (taking) => asStorage('push.take', () => take(sql, taking)),
  recordDelivery: (message, nowMs) => asStorage('push.delivered', () => recordDelivery(sql, message, nowMs)),
  abandon: (message) => asStorage('push.abandon', () => abandon(sql, message)),
  postpone: (message, untilMs) => asStorage('push.postpone', () => postpone(sql, message, untilMs)),
});

const listSubscriptions = (sql: Queryable, userId: string) => sql<SubscriptionRow[]>`
  select id, endpoint, browser_info, created_at from push_subscriptions
  where user_id = ${userId} order by created_at, id`;

const subscribe = (sql: Sql, subscription: NewSubscription, max: number): Promise<boolean> =>
  sql.begin(async (transaction) => {
    const { userId, endpoint } = subscription;
    await lockOwner(transaction, 'push', userId);
    await transaction`select pg_advisory_xact_lock(hashtextextended(${`push to ${endpoint}`}, 0))`;
    const [held] = await transaction<{ others: number }[]>`
      select count(*) as others from push_subscriptions
      where user_id = ${userId} and endpoint <> ${endpoint}`;
    if ((held?.others ?? 0) >= max) return false;
    // The browser changed hands: what was on its way to its former user must not reach the new one.
    await transaction`delete from push_subscriptions where endpoint = ${endpoint} and user_id <> ${userId}`;
    await transaction`
      insert into push_subscriptions (id, user_id, endpoint, auth, p256dh, browser_info, created_at)
      values (${subscription.id}, ${userId}, ${endpoint}, ${subscription.auth}, ${subscription.p256dh},
        ${JSON.stringify(subscription.browserInfo)}::text::jsonb, ${new Date(subscription.nowMs)})
      on conflict (endpoint) do update set auth = excluded.auth, p256dh = excluded.p256dh,
        browser_info = excluded.browser_info`;
    return true;
  });

const unsubscribe = async (sql: Queryable, userId: string, id: string): Promise<boolean> => {
  const rows = await sql`
    delete from push_subscriptions where id = ${id} and user_id = ${userId} returning id`;
  return rows.length > 0;
};

const drop = async (sql: Queryable, id: string): Promise<void> => {
  await sql`delete from push_subscriptions where id = ${id}`;
};

const take = (sql: Queryable, { nowMs, leaseMs, limit }: TakeRequest) => sql<PushMessage[]>`
  with taken as (
    update push_messages set attempts = attempts + 1, next_at_ms = ${nowMs + leaseMs}
    where id in (
      select id from push_messages where next_at_ms <= ${nowMs}
      order by next_at_ms limit ${limit} for update skip locked)
    returning id, subscription_id, incarnation, user_id, attempts
  )
  select taken.id, taken.subscription_id as "subscriptionId", taken.incarnation, taken.user_id as "userId",
    taken.attempts, push.endpoint, push.auth, push.p256dh, totals.kind, totals.entity_id as "targetId",
    coalesce(named.name, totals.entity_id) as name, coalesce(named.avatar, '') as avatar
  from taken
  join push_subscriptions as push on push.id = taken.subscription_id
  join totals on totals.incarnation = taken.incarnation
  ${buildListingNames(sql)}
  order by taken.id`;

const recordDelivery = async (sql: Queryable, message: PushMessage, nowMs: number): Promise<void> => {
  await sql`
    with gone as (delete from push_messages where id = ${message.id})
    update reminders set last_acked = greatest(last_acked, ${new Date(nowMs)}::timestamptz)
    where incarnation = ${message.incarnation} and user_id = ${message.userId}`;
};

const abandon = async (sql: Queryable, message: PushMessage): Promise<void> => {
  await sql`delete from push_messages where id = ${message.id}`;
};

/** The lease of this message ends; those of others, which somebody may be sending, are not cut short. */
const postpone = async (sql: Queryable, message: PushMessage, untilMs: number): Promise<void> => {
  await sql`
    update push_messages set next_at_ms = case when id = ${message.id} then ${untilMs}::bigint
      else greatest(next_at_ms, ${untilMs}::bigint) end
    where subscription_id = ${message.subscriptionId}`;
};
