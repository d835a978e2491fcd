/**
 * Push subscriptions as their user sees, makes and ends them. Sending is ops/jobs' part.
 */
import { ECDH } from 'node:crypto';
import bowser from 'bowser';
import { v7 as uuidv7 } from 'uuid';
import { DomainError } from '../../engine/errors.ts';
import type { BrowserInfo, SubscriptionRow } from '../../storage/catalogue/push.ts';
import { invalid } from '../invalid.ts';
import { type App, noContent, ok, type Reply } from '../route.ts';
import type { PushInfo, Subscription, SubscriptionBody, SubscriptionList } from '../schema/notifications.ts';
import { notFound, timestamp } from './values.ts';

/** `GET /users/notifications/info`. */
export const showPushInfo = (app: App): Reply => {
  const reply: PushInfo = { public_key: app.push.publicKey };
  return ok(reply);
};

const subscriptionOf = (row: SubscriptionRow): Subscription => ({
  browser_info: { ...row.browser_info },
  created_at: timestamp(row.created_at),
  endpoint: row.endpoint,
  notif_id: row.id,
});

/** `GET /users/{id}/notifications`: oldest first. */
export const showSubscriptions = async (app: App, userId: string): Promise<Reply> => {
  const rows = await app.catalogue.push.list(userId);
  const reply: SubscriptionList = { notifications: rows.map(subscriptionOf) };
  return ok(reply);
};

const isPoint = (p256dh: string): boolean => {
  try {
    ECDH.convertKey(p256dh, 'prime256v1', 'base64url', 'hex');
    return p256dh.startsWith(uncompressed);
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
};

/** How 65 bytes that begin with 4 begin in base64. */
const uncompressed = 'B';

/** Throws `validation_failed` for bytes of the right number that are no point of the curve. */
export const checkSubscription = ({ p256dh }: SubscriptionBody): void => {
  if (!isPoint(p256dh)) throw invalid('body', { '/p256dh': 'must be an uncompressed point of P-256' });
};

const wordMax = 64;
const short = (word: string | undefined): string => (word ?? '').slice(0, wordMax);

/** What the browser says of itself; unknown parts are empty. */
const browserInfoOf = (userAgent: string): BrowserInfo => {
  const { browser, os, platform } = userAgent === '' ? nothingKnown : bowser.parse(userAgent);
  return {
    browser: short(browser.name),
    browser_ver: short(browser.version),
    mobile: platform.type === 'mobile' || platform.type === 'tablet',
    os: short(os.name),
  };
};

const nothingKnown: Pick<bowser.Parser.ParsedResult, 'browser' | 'os' | 'platform'> = {
  browser: {},
  os: {},
  platform: {},
};

export interface Subscriber {
  readonly userId: string;
  readonly userAgent: string;
}

/** `POST /users/{id}/notifications`. */
export const subscribe = async (
  app: App,
  { userId, userAgent }: Subscriber,
  body: SubscriptionBody,
): Promise<Reply> => {
  const fault = await app.push.endpointFault(body.endpoint);
  if (fault !== null) throw invalid('body', { '/endpoint': fault });
  const max = app.settings.pushSubscriptionsPerUserMax;
  const subscription = {
    id: uuidv7(),
    userId,
    endpoint: body.endpoint,
    auth: body.auth.replaceAll('=', ''),
    p256dh: body.p256dh.replaceAll('=', ''),
    browserInfo: browserInfoOf(userAgent),
    nowMs: app.clock.nowMs(),
  };
  if (await app.catalogue.push.subscribe(subscription, max)) return noContent;
  const words = `You have ${max} push subscriptions, which is the most: delete one first.`;
  throw new DomainError('limit_reached', words, { limit: String(max) });
};

/** `DELETE /users/{id}/notification`. */
export const unsubscribe = async (app: App, userId: string, notificationId: string): Promise<Reply> => {
  if (await app.catalogue.push.unsubscribe(userId, notificationId)) return noContent;
  throw notFound('push subscription');
};
