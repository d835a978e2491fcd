/**
 * Routes of webhooks: a listing's endpoints, what was sent to them, and sending again.
 */
import type { Static } from 'typebox';
import { buildTargetAuth } from '../../auth/auth.ts';
import { requireCaller } from '../../auth/authorise.ts';
import { type AnyRoute, defineRoute, defineRoutes } from '../../route.ts';
import { toTarget } from '../shared/convert.ts';
import {
  Deliveries,
  DeliveriesQuery,
  ReplayBody,
  Replayed,
  WebhookBody,
  WebhookCreated,
  WebhookEditBody,
  WebhookList,
  WebhookParams,
  WebhookSecret,
  WebhooksParams,
  WebhookTest,
} from './schema.ts';
import { clearDeliveries, enqueueEvents, parseReplayRange, showDeliveries } from './webhook-deliveries.ts';
import {
  checkSecret,
  createWebhook,
  deleteWebhook,
  editWebhook,
  replaceWebhookSecret,
  showWebhooks,
  testWebhook,
} from './webhooks.ts';

const collection = '/{target_type}/{target_id}/webhooks';
const item = `${collection}/{webhook_id}` as const;

const editing = { auth: buildTargetAuth('manage_webhooks'), limit: 'webhook_edit' } as const;

const parsePath = (params: Static<typeof WebhookParams>) => ({
  target: toTarget(params),
  webhookId: params.webhook_id,
});

const endpointRoutes: readonly AnyRoute[] = [
  defineRoute('listWebhooks', `GET ${collection}`, {
    summary: 'List webhooks',
    description: 'The webhooks of a bot, server or team, without their secrets.',
    auth: buildTargetAuth('view_webhooks'),
    limit: 'webhook_view',
    params: WebhooksParams,
    replies: { 200: WebhookList },
    handle: (app, { params }) => showWebhooks(app, toTarget(params)),
  }),
  defineRoute('createWebhook', `POST ${collection}`, {
    summary: 'Create a webhook',
    description:
      'Each accepted vote is sent to its address from now on, signed. Only this reply shows the secret.',
    ...editing,
    params: WebhooksParams,
    body: WebhookBody,
    replies: { 201: WebhookCreated },
    errors: ['limit_reached'],
    check: ({ body }) => checkSecret(body),
    handle: (app, request) =>
      createWebhook(app, { caller: requireCaller(request), body: request.body }, toTarget(request.params)),
  }),
  defineRoute('editWebhook', `PATCH ${item}`, {
    summary: 'Change a webhook',
    description: 'Changes it, disables it, or enables it again; absent fields keep their value.',
    ...editing,
    params: WebhookParams,
    body: WebhookEditBody,
    replies: { 204: null },
    check: ({ body }) => checkSecret(body),
    handle: (app, { params, body }) => editWebhook(app, parsePath(params), body),
  }),
  defineRoute('deleteWebhook', `DELETE ${item}`, {
    summary: 'Delete a webhook',
    description: 'Nothing more is sent, and what waits is dropped.',
    ...editing,
    params: WebhookParams,
    replies: { 204: null },
    handle: (app, { params }) => deleteWebhook(app, parsePath(params)),
  }),
  defineRoute('replaceWebhookSecret', `POST ${item}/secret`, {
    summary: 'Replace the secret',
    description: 'The former secret signs, too, for 24 hours, so that receivers can switch.',
    ...editing,
    params: WebhookParams,
    replies: { 200: WebhookSecret },
    handle: (app, { params }) => replaceWebhookSecret(app, parsePath(params)),
  }),
  defineRoute('testWebhook', `POST ${item}/test`, {
    summary: 'Test a webhook',
    description: 'Sends a `webhook.test` event now, waits up to 10 seconds, and shows what came of it.',
    auth: buildTargetAuth('manage_webhooks'),
    limit: 'webhook_test',
    callsOutbound: true,
    params: WebhookParams,
    replies: { 200: WebhookTest },
    errors: ['webhook_disabled'],
    handle: (app, request) => testWebhook(app, parsePath(request.params), requireCaller(request)),
  }),
];

const deliveryRoutes: readonly AnyRoute[] = [
  defineRoute('listWebhookDeliveries', `GET ${item}/deliveries`, {
    summary: 'List deliveries',
    description:
      'What was sent to a webhook and what waits, newest first, with the attempts. Kept for 30 days.',
    auth: buildTargetAuth('view_webhook_logs'),
    limit: 'webhook_view',
    params: WebhookParams,
    query: DeliveriesQuery,
    replies: { 200: Deliveries },
    handle: (app, { params, query }) => showDeliveries(app, parsePath(params), query),
  }),
  defineRoute('clearWebhookDeliveries', `DELETE ${item}/deliveries`, {
    summary: 'Clear deliveries',
    description: 'Deletes the log of what was sent. What waits stays.',
    auth: buildTargetAuth('delete_webhook_logs'),
    limit: 'webhook_edit',
    params: WebhookParams,
    replies: { 204: null },
    handle: (app, { params }) => clearDeliveries(app, parsePath(params)),
  }),
  defineRoute('replayWebhook', `POST ${item}/replay`, {
    summary: 'Send votes again',
    description:
      'Sends events of the vote log once more, up to 10,000, also to a disabled webhook. Receivers ' +
      'know a repeat by its `webhook-id`, which is always the same.',
    ...editing,
    params: WebhookParams,
    body: ReplayBody,
    replies: { 202: Replayed },
    errors: ['limit_reached'],
    check: ({ body }) => void parseReplayRange(body),
    handle: (app, { params, body }) => enqueueEvents(app, parsePath(params), body),
  }),
];

export const webhookRoutes = defineRoutes('Beyond the contract', [...endpointRoutes, ...deliveryRoutes]);
