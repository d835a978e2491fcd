/**
 * Shows, creates and deletes the push subscriptions of a user. The jobs in ops/jobs send the messages.
 */
import { ECDH } from 'node:crypto';
import bowser from 'bowser';
import { v7 as uuidv7 } from 'uuid';
import type { BrowserInfo, SubscriptionRow } from '../../storage/catalogue/votes/push.ts';
import { createValidationError } from '../response/validation-error.ts';
import { type App, noContent, type Reply, replyOk } from '../route.ts';
import type { PushInfo, Subscription, SubscriptionBody, SubscriptionList } from '../schema/notifications.ts';
import { createLimitError, createNotFoundError, toTimestamp } from './convert.ts';

/** `GET /users/notifications/info`. */
export const showPushInfo = (app: App): Reply => {
  return replyOk<PushInfo>({ public_key: app.push.publicKey });
};

const toSubscription = (row: SubscriptionRow): Subscription => ({
  browser_info: { ...row.browser_info },
  created_at: toTimestamp(row.created_at),
  endpoint: row.endpoint,
  notif_id: row.id,
});

/** `GET /users/{id}/notifications`: oldest first. */
export const showSubscriptions = async (app: App, userId: string): Promise<Reply> => {
  const rows = await app.catalogue.push.list(userId);
  return replyOk<SubscriptionList>({ notifications: rows.map(toSubscription) });
};

const isCurvePoint = (p256dh: string): boolean => {
  try {
    ECDH.convertKey(p256dh, 'prime256v1', 'base64url', 'hex');
    return p256dh.startsWith(uncompressedPrefix);
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
};

/** The first base64 character of an uncompressed point, whose first byte is 4. */
const uncompressedPrefix = 'B';

/** Throws `validation_failed` if the key has the right length but is not a point of the curve. */
export const checkSubscription = ({ p256dh }: SubscriptionBody): void => {
  if (!isCurvePoint(p256dh))
    throw createValidationError('body', { '/p256dh': 'must be an uncompressed point of P-256' });
};

const nameCharactersMax = 64;
const cutName = (name: string | undefined): string => (name ?? '').slice(0, nameCharactersMax);

/** Parses the User-Agent header; unknown parts are empty. */
const parseBrowserInfo = (userAgent: string): BrowserInfo => {
  const { browser, os, platform } = userAgent === '' ? unknownBrowser : bowser.parse(userAgent);
  return {
    browser: cutName(browser.name),
    browser_ver: cutName(browser.version),
    mobile: platform.type === 'mobile' || platform.type === 'tablet',
    os: cutName(os.name),
  };
};

const unknownBrowser: Pick<bowser.Parser.ParsedResult, 'browser' | 'os' | 'platform'> = {
  browser: {},
  os: {},
  platform: {},
};

export interface PushSubscriber {
  readonly userId: string;
  readonly userAgent: string;
}

/** `POST /users/{id}/notifications`. */
export const subscribe = async (
  app: App,
  { userId, userAgent }: PushSubscriber,
  body: SubscriptionBody,
): Promise<Reply> => {
  const fault = await app.push.findEndpointFault(body.endpoint);
  if (fault !== null) throw createValidationError('body', { '/endpoint': fault });
  const max = app.settings.pushSubscriptionsPerUserMax;
  const subscription = {
    id: uuidv7(),
    userId,
    endpoint: body.endpoint,
    auth: body.auth.replaceAll('=', ''),
    p256dh: body.p256dh.replaceAll('=', ''),
    browserInfo: parseBrowserInfo(userAgent),
    nowMs: app.clock.nowMs(),
  };
  if (await app.catalogue.push.subscribe(subscription, max)) return noContent;
  const message = `You have ${max} push subscriptions, which is the maximum. Delete one first.`;
  throw createLimitError(message, max);
};

/** `DELETE /users/{id}/notification`. */
export const unsubscribe = async (app: App, userId: string, notificationId: string): Promise<Reply> => {
  if (await app.catalogue.push.unsubscribe(userId, notificationId)) return noContent;
  throw createNotFoundError('push subscription');
};
