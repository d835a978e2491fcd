/**
 * Schemas of push subscriptions (contract §2.22, §4.11). Requests carry the keys
 * of a browser; replies never do.
 */
import { type Static, Type } from 'typebox';
import { addressText, pushAuth, pushPoint } from '../request/patterns.ts';
import { buildFlag, buildText, Timestamp, UserId, Uuid } from './common.ts';
import { buildObject, describe } from './example.ts';

export const NotificationsParams = Type.Object({ id: UserId });
export const NotificationQuery = Type.Object({
  notif_id: describe(Uuid, 'Id of the subscription, as the list shows it.'),
});

export const PushInfo = buildObject({
  public_key: Type.String({
    description: 'The `applicationServerKey` of `PushManager.subscribe`, in base64url.',
    examples: ['BGtkbcjrO12YMoDuq2sCQeHlu47uPx3SHTgFKZFYiBW8Qr0D9vgyZSZPdw6_4ZFEI9Snk1VEAj2qTYI1I1YxBXE'],
  }),
});
export type PushInfo = Static<typeof PushInfo>;

export const Subscription = buildObject({
  browser_info: describe(
    buildObject({
      browser: buildText('Firefox', 'Name of the browser; empty if it is not known.'),
      browser_ver: buildText('128.0', 'Version of the browser; empty if it is not known.'),
      mobile: buildFlag('Whether it runs on a phone or tablet.'),
      os: buildText('Linux', 'The operating system; empty if it is not known.'),
    }),
    'The browser that subscribed, from the `User-Agent` of its request.',
  ),
  created_at: describe(Timestamp, 'When the browser subscribed.'),
  endpoint: buildText('https://push.example.org/wpush/v2/gAAAAABl', 'Its address at the push service.'),
  notif_id: describe(Uuid, 'Id of the subscription, to end it by.'),
});
export type Subscription = Static<typeof Subscription>;

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
