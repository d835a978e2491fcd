/**
 * Browsers that receive push messages, and the outbox of messages that wait to be sent: those of reminders,
 * and those that tell owners about a review of their listing.
 *
 * An endpoint belongs to the user who subscribed with it last. `take` counts an attempt and moves the next
 * one to the end of a lease before anything is sent: another node sends the message again if this one dies,
 * at least once, but later each time. It is deleted when it is delivered or abandoned. Only the sender reads
 * the keys. All times come from the caller, in ms.
 */
import type { EntityKind } from '../../../engine/ids.ts';
import type { Queryable, Sql, Transaction } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { hasRow, readNumber } from '../../sql/rows.ts';
import { lockOwner, type Review } from '../shared/listings.ts';
import { buildListingNames } from '../shared/people.ts';

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
  /** The id of the row if the endpoint is new. */
  readonly id: string;
  readonly userId: string;
  readonly browserInfo: BrowserInfo;
  readonly nowMs: number;
}
/** A message leased for sending. */
export interface PushMessage extends PushTarget {
  readonly id: number;
  readonly subscriptionId: string;
  readonly incarnation: number;
  /** What the message is about; `null`: the wait for a vote is over. */
  readonly review: Review | null;
  readonly userId: string;
  readonly kind: EntityKind;
  readonly targetId: string;
  readonly name: string;
  readonly avatar: string;
  /** Attempts including this one, also those whose node died before it recorded an outcome. */
  readonly attempts: number;
}
export interface TakeRequest {
  readonly nowMs: number;
  /** For a first attempt; four fifths of it at least. Each further one doubles it, six times at most. */
  readonly leaseMs: number;
  readonly limit: number;
}

export const createPushOutbox = (sql: Sql) =>
  bindStorage('push', sql, {
    list: listSubscriptions,
    subscribe,
    unsubscribe,
    drop,
    take,
    recordDelivery,
    abandon,
    postpone,
  });

export type PushOutbox = ReturnType<typeof createPushOutbox>;

const listSubscriptions = (sql: Queryable, userId: string) => sql<SubscriptionRow[]>`
  select id, endpoint, browser_info, created_at from push_subscriptions
  where user_id = ${userId} order by created_at, id`;

/** Stores a subscription; ledger when it resolves. False when the user already has `max` others. */
const subscribe = (sql: Sql, subscription: NewSubscription, max: number): Promise<boolean> =>
  sql.begin(async (transaction) => {
    const { userId, endpoint } = subscription;
    await lockOwner(transaction, 'push', userId);
    await transaction`select pg_advisory_xact_lock(hashtextextended(${`push to ${endpoint}`}, 0))`;
    const others = await readNumber(transaction`
      select count(*) from push_subscriptions where user_id = ${userId} and endpoint <> ${endpoint}`);
    if (others >= max) return false;
    // If the browser has another user now, messages to the former user must not reach the new one.
    await transaction`delete from push_subscriptions where endpoint = ${endpoint} and user_id <> ${userId}`;
    await transaction`
      insert into push_subscriptions (id, user_id, endpoint, auth, p256dh, browser_info, created_at)
      values (${subscription.id}, ${userId}, ${endpoint}, ${subscription.auth}, ${subscription.p256dh},
        ${JSON.stringify(subscription.browserInfo)}::text::jsonb, ${new Date(subscription.nowMs)})
      on conflict (endpoint) do update set auth = excluded.auth, p256dh = excluded.p256dh,
        browser_info = excluded.browser_info`;
    return true;
  });

/** Deletes a subscription and its messages. False when this user has none with this id. */
const unsubscribe = (sql: Queryable, userId: string, id: string): Promise<boolean> =>
  hasRow(sql`
    delete from push_subscriptions where id = ${id} and user_id = ${userId} returning id`);

/** Deletes a subscription that the push service no longer knows. */
const drop = (sql: Queryable, id: string): Promise<unknown> =>
  sql`delete from push_subscriptions where id = ${id}`;

/**
 * Leases due messages, longest overdue first: no other node receives them before the lease ends. The leases
 * of messages taken together end apart, so that one that ends its node is met alone.
 */
const take = (sql: Queryable, { nowMs, leaseMs, limit }: TakeRequest) => sql<PushMessage[]>`
  with taken as (
    update push_messages set attempts = attempts + 1,
      next_at_ms = ${nowMs} + (${leaseMs} * 2 ^ least(attempts, 6) * (0.8 + 0.2 * random()))::bigint
    where id in (
      select id from push_messages where next_at_ms <= ${nowMs}
      order by next_at_ms limit ${limit} for update skip locked)
    returning id, subscription_id, coalesce(incarnation, reviewed) as incarnation, user_id, attempts,
      case when reviewed is not null
        then jsonb_build_object('type', review_type, 'note', review_note) end as review
  )
  select taken.id, taken.subscription_id as "subscriptionId", taken.incarnation, taken.user_id as "userId",
    taken.attempts, taken.review, push.endpoint, push.auth, push.p256dh, totals.kind,
    totals.entity_id as "targetId", coalesce(named.name, totals.entity_id) as name,
    coalesce(named.avatar, '') as avatar
  from taken
  join push_subscriptions as push on push.id = taken.subscription_id
  join totals on totals.incarnation = taken.incarnation
  ${buildListingNames(sql)}
  order by taken.id`;

/** Those who own a listing: a user, or a team. */
export interface ReviewedListing {
  readonly incarnation: number;
  readonly owner_id: string | null;
  readonly team_id: string | null;
}

/**
 * Queues a message to each browser of the owner; of a team's members those get it who may be mentioned. It
 * replaces one about an earlier review that was not sent yet, under another id: that may be on its way.
 */
export const enqueueReview = async (
  transaction: Transaction,
  { incarnation, owner_id: owner, team_id: team }: ReviewedListing,
  { type, note }: Review,
): Promise<void> => {
  await transaction`delete from push_messages where reviewed = ${incarnation}`;
  await transaction`
    insert into push_messages (subscription_id, reviewed, user_id, review_type, review_note, next_at_ms)
    select id, ${incarnation}, user_id, ${type}, ${note}, 0 from push_subscriptions
    where user_id = ${owner} or user_id in (
      select user_id from team_members where team_id = ${team} and mentionable)
    order by id`;
};

/** Deletes a delivered message and records the time on its reminder, if it has one. */
const recordDelivery = (sql: Queryable, message: PushMessage, nowMs: number): Promise<unknown> => sql`
  with deleted as (delete from push_messages where id = ${message.id})
  update reminders set last_acked = greatest(last_acked, ${new Date(nowMs)}::timestamptz)
  where incarnation = ${message.incarnation} and user_id = ${message.userId}
    and ${message.review === null}`;

/** Deletes a message that will not be sent again. */
const abandon = (sql: Queryable, message: PushMessage): Promise<unknown> =>
  sql`delete from push_messages where id = ${message.id}`;

/**
 * Delays this message until `untilMs`, and other messages to the same browser at least until then: their
 * leases are not cut short, because a node may be sending them.
 */
const postpone = (sql: Queryable, message: PushMessage, untilMs: number): Promise<unknown> => sql`
  update push_messages set next_at_ms = case when id = ${message.id} then ${untilMs}::bigint
    else greatest(next_at_ms, ${untilMs}::bigint) end
  where subscription_id = ${message.subscriptionId}`;
