/**
 * Schemas of push subscriptions (contract §2.22, §4.11). Requests carry the keys
 * of a browser; replies never do.
 */
import { type Static, Type } from 'typebox';
import { addressText, pushAuth, pushPoint } from '../request/patterns.ts';
import { Flag, Text, Timestamp, UserId, Uuid } from './common.ts';

export const NotificationsParams = Type.Object({ id: UserId });
export const NotificationQuery = Type.Object({ notif_id: Uuid });

export const PushInfo = Type.Object(
  {
    public_key: Type.String({
      description: 'The `applicationServerKey` of `PushManager.subscribe`, in base64url.',
    }),
  },
  {
    examples: [
      {
        public_key: 'BGtkbcjrO12YMoDuq2sCQeHlu47uPx3SHTgFKZFYiBW8Qr0D9vgyZSZPdw6_4ZFEI9Snk1VEAj2qTYI1I1YxBXE',
      },
    ],
  },
);
export type PushInfo = Static<typeof PushInfo>;

export const Subscription = Type.Object({
  browser_info: Type.Object({ browser: Text, browser_ver: Text, mobile: Flag, os: Text }),
  created_at: Timestamp,
  endpoint: Text,
  notif_id: Uuid,
});
export type Subscription = Static<typeof Subscription>;

export const SubscriptionList = Type.Object(
  { notifications: Type.Array(Subscription) },
  {
    examples: [
      {
        notifications: [
          {
            browser_info: { browser: 'Firefox', browser_ver: '128.0', mobile: false, os: 'Linux' },
            created_at: '2026-03-01T12:00:00.000Z',
            endpoint: 'https://push.example.org/wpush/v2/gAAAAABl',
            notif_id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a16',
          },
        ],
      },
    ],
  },
);
export type SubscriptionList = Static<typeof SubscriptionList>;

/** The values of the browser's `PushSubscription.toJSON()`. */
export const SubscriptionBody = Type.Object(
  {
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
  },
  {
    examples: [
      {
        auth: 'BTBZMqHH6r4Tts7J_aSIgg',
        endpoint: 'https://push.example.org/wpush/v2/gAAAAABl',
        p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
      },
    ],
  },
);
export type SubscriptionBody = Static<typeof SubscriptionBody>;
