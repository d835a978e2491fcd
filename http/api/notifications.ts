/**
 * Push subscriptions of a user (contract §2.22, §4.11): list, create and delete them. Requests carry the
 * keys of a browser; replies never do. The jobs in ops/jobs send the messages.
 */
import { ECDH } from 'node:crypto';
import bowser from 'bowser';
import { type Static, Type } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import type { BrowserInfo, SubscriptionRow } from '../../storage/catalogue/votes/push.ts';
import type { Auth } from '../auth/auth.ts';
import { createLimitError, createNotFoundError, createValidationError } from '../response/errors.ts';
import { noContent, replyOk, showRow } from '../response/reply.ts';
import { definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import { buildFlag, buildText, Timestamp, UserParams, Uuid } from './shared/common.ts';
import { buildObject, describe, describeObject } from './shared/example.ts';
import { addressText, pushAuth, pushPoint } from './shared/patterns.ts';

export const NotificationQuery = Type.Object({
  notif_id: describe(Uuid, 'Id of the subscription, as the list shows it.'),
});

export const PushInfo = buildObject({
  public_key: buildText(
    'BGtkbcjrO12YMoDuq2sCQeHlu47uPx3SHTgFKZFYiBW8Qr0D9vgyZSZPdw6_4ZFEI9Snk1VEAj2qTYI1I1YxBXE',
    'The `applicationServerKey` of `PushManager.subscribe`, in base64url.',
  ),
});
export type PushInfo = Static<typeof PushInfo>;

export const Subscription = buildObject({
  browser_info: describeObject('The browser that subscribed, from the `User-Agent` of its request.', {
    browser: buildText('Firefox', 'Name of the browser; empty if it is not known.'),
    browser_ver: buildText('128.0', 'Version of the browser; empty if it is not known.'),
    mobile: buildFlag('Whether it runs on a phone or tablet.'),
    os: buildText('Linux', 'The operating system; empty if it is not known.'),
  }),
  created_at: describe(Timestamp, 'When the browser subscribed.'),
  endpoint: buildText('https://push.example.org/wpush/v2/gAAAAABl', 'Its address at the push service.'),
  notif_id: describe(Uuid, 'Id of the subscription, to end it by.'),
});

export const SubscriptionList = buildObject({
  notifications: describe(Type.Array(Subscription), 'The subscriptions, oldest first; up to 20.'),
});
export type SubscriptionList = Static<typeof SubscriptionList>;

/** The values of the browser's `PushSubscription.toJSON()`. */
export const SubscriptionBody = buildObject({
  auth: Type.String({
    pattern: pushAuth,
    description: '16 bytes in base64url.',
    examples: ['BTBZMqHH6r4Tts7J_aSIgg'],
  }),
  endpoint: Type.String({
    minLength: 1,
    maxLength: 1_024,
    pattern: addressText,
    description: 'An https address of a public push service.',
    examples: ['https://push.example.org/wpush/v2/gAAAAABl'],
  }),
  p256dh: Type.String({
    pattern: pushPoint,
    description: 'A point of P-256, 65 bytes in base64url.',
    examples: ['BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4'],
  }),
});
export type SubscriptionBody = Static<typeof SubscriptionBody>;
const ownAuth: Auth = { kind: 'self', user: 'id' };

export const notificationRoutes = defineRoutes('Notifications', [
  definePublicRoute('getPushInfo', 'GET /users/notifications/info', {
    summary: 'Get the push key',
    description: 'The public key that a browser needs to subscribe to push messages. It never changes.',
    caching: 'entity',
    replies: { 200: PushInfo },
    handle: (app) => replyOk<PushInfo>({ public_key: app.push.publicKey }),
  }),
  defineRoute('listNotifications', 'GET /users/{id}/notifications', {
    summary: 'List push subscriptions',
    description: "The user's push subscriptions, oldest first.",
    auth: ownAuth,
    params: UserParams,
    replies: { 200: SubscriptionList },
    handle: async (app, { params }) => {
      const rows = await app.catalogue.push.list(params.id);
      return replyOk<SubscriptionList>({ notifications: rows.map(toSubscription) });
    },
  }),
  defineRoute('createNotification', 'POST /users/{id}/notifications', {
    summary: 'Subscribe a browser',
    description:
      'Subscribes a browser to push messages. If another user has subscribed the same endpoint, it ' +
      'moves to this user.',
    auth: ownAuth,
    params: UserParams,
    body: SubscriptionBody,
    replies: { 204: null },
    errors: ['limit_reached'],
    check: ({ body }) => checkSubscription(body),
    handle: async (app, { params, headers: { userAgent }, body }) => {
      const fault = await app.push.findEndpointFault(body.endpoint);
      if (fault !== null) throw createValidationError('body', { '/endpoint': fault });
      const max = app.settings.pushSubscriptionsPerUserMax;
      const subscription = {
        id: uuidv7(),
        userId: params.id,
        endpoint: body.endpoint,
        auth: body.auth.replaceAll('=', ''),
        p256dh: body.p256dh.replaceAll('=', ''),
        browserInfo: parseBrowserInfo(userAgent),
        nowMs: app.clock.nowMs(),
      };
      if (await app.catalogue.push.subscribe(subscription, max)) return noContent;
      const message = `You have ${max} push subscriptions, which is the maximum. Delete one first.`;
      throw createLimitError(message, max);
    },
  }),
  defineRoute('deleteNotification', 'DELETE /users/{id}/notification', {
    summary: 'End a push subscription',
    description: 'The browser gets no more messages.',
    auth: ownAuth,
    params: UserParams,
    query: NotificationQuery,
    replies: { 204: null },
    errors: ['not_found'],
    handle: async (app, { params, query }) => {
      if (await app.catalogue.push.unsubscribe(params.id, query.notif_id)) return noContent;
      throw createNotFoundError('push subscription');
    },
  }),
]);

const toSubscription = (row: SubscriptionRow) => showRow(Subscription, row, { notif_id: row.id });

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
/** By characters: SQL refuses half of one. */
const cutName = (name: string | undefined): string => [...(name ?? '')].slice(0, nameCharactersMax).join('');

/** Parses the User-Agent header; unknown parts are empty. */
const parseBrowserInfo = (userAgent: string): BrowserInfo => {
  const { browser, os, platform } = bowser.parse(userAgent || ' '); // It refuses an empty text.
  return {
    browser: cutName(browser.name),
    browser_ver: cutName(browser.version),
    mobile: platform.type === 'mobile' || platform.type === 'tablet',
    os: cutName(os.name),
  };
};
