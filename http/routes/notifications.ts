/**
 * Routes of push subscriptions (contract §4.11).
 */
import {
  checkSubscription,
  showPushInfo,
  showSubscriptions,
  subscribe,
  unsubscribe,
} from '../handlers/notifications.ts';
import { type Auth, defineRoute, defineRoutes } from '../route.ts';
import {
  NotificationQuery,
  NotificationsParams,
  PushInfo,
  SubscriptionBody,
  SubscriptionList,
} from '../schema/notifications.ts';

const ownAuth: Auth = { kind: 'self', user: 'id' };

export const notificationRoutes = defineRoutes('Notifications', [
  defineRoute({
    name: 'getPushInfo',
    pattern: 'GET /users/notifications/info',
    summary: 'Get the push key',
    description: 'The public key that a browser needs to subscribe to push messages. It never changes.',
    auth: { kind: 'public' },
    caching: 'entity',
    replies: { 200: PushInfo },
    handle: (app) => showPushInfo(app),
  }),
  defineRoute({
    name: 'listNotifications',
    pattern: 'GET /users/{id}/notifications',
    summary: 'List push subscriptions',
    description: "The user's push subscriptions, oldest first.",
    auth: ownAuth,
    params: NotificationsParams,
    replies: { 200: SubscriptionList },
    handle: (app, { params }) => showSubscriptions(app, params.id),
  }),
  defineRoute({
    name: 'createNotification',
    pattern: 'POST /users/{id}/notifications',
    summary: 'Subscribe a browser',
    description:
      'Subscribes a browser to push messages. If another user has subscribed the same endpoint, it ' +
      'moves to this user.',
    auth: ownAuth,
    params: NotificationsParams,
    body: SubscriptionBody,
    replies: { 204: null },
    errors: ['limit_reached'],
    check: ({ body }) => checkSubscription(body),
    handle: (app, { params, userAgent, body }) => subscribe(app, { userId: params.id, userAgent }, body),
  }),
  defineRoute({
    name: 'deleteNotification',
    pattern: 'DELETE /users/{id}/notification',
    summary: 'End a push subscription',
    description: 'The browser gets no more messages.',
    auth: ownAuth,
    params: NotificationsParams,
    query: NotificationQuery,
    replies: { 204: null },
    errors: ['not_found'],
    handle: (app, { params, query }) => unsubscribe(app, params.id, query.notif_id),
  }),
]);
