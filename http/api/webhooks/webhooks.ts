/**
 * Shows, creates, changes and tests webhook endpoints. webhook-deliveries.ts has what was sent.
 *
 * Only the reply that creates a secret shows it. It is stored sealed. Every edit is *ledger* when its reply
 * is sent, and takes effect with the next flush and the next page of deliveries.
 */
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import { DomainError } from '../../../engine/errors.ts';
import type { Target } from '../../../engine/ids.ts';
import type {
  EndpointRow,
  SealedEndpoint,
  SealedSecret,
} from '../../../storage/catalogue/webhooks/endpoints.ts';
import type { App } from '../../app.ts';
import type { Caller } from '../../auth/auth.ts';
import { findAddressFault } from '../../outbound/guarded-address.ts';
import {
  createWebhookSecret,
  findEventsFault,
  findFormatFault,
  isTopgg,
  isWebhookSecret,
  openSecrets,
  toWebhookBody,
  toWebhookHeaders,
} from '../../outbound/webhooks/formats.ts';
import type { TestEvent, WebhookEventType, WebhookFormat } from '../../outbound/webhooks/stored-event.ts';
import {
  createLimitError,
  createNotFoundError,
  createValidationError,
  requireFound,
} from '../../response/errors.ts';
import { noContent, type Reply, replyCreated, replyOk, showRow, toTimestamp } from '../../response/reply.ts';
import {
  Webhook,
  type WebhookBody,
  type WebhookCreated,
  type WebhookEditBody,
  type WebhookSecret,
  type WebhookTest,
} from './schema.ts';

/** One endpoint of one listing. */
export interface WebhookPath {
  readonly target: Target;
  readonly webhookId: string;
}

const formerSecretMs = 24 * 3_600_000;
const testMsMax = 10_000;
const hintLength = 4;

/** Throws `not_found` where the operator has switched webhooks off. */
const requireWebhooks = (app: App): void => {
  if (app.settings.webhooks === 'off')
    throw new DomainError('not_found', 'Webhooks are switched off on this server.');
};

/** Finds an endpoint of this listing. Throws `not_found`. */
export const findWebhook = async (app: App, { target, webhookId }: WebhookPath): Promise<SealedEndpoint> => {
  requireWebhooks(app);
  return requireFound(await app.catalogue.webhooks.find(target, webhookId), 'webhook');
};

/** Whether it is a former owner's webhook, which the present owner may use only at another address. */
const isTransferred = ({ disabled_reason: reason }: EndpointRow): boolean => reason === 'transferred';

const toWebhook = (app: App, row: EndpointRow) =>
  showRow(Webhook, row, {
    url: isTransferred(row) ? `${new URL(row.url).origin}/…` : row.url,
    failing_since: row.failing_since_ms === 0 ? null : toTimestamp(new Date(row.failing_since_ms)),
    next_attempt_at: row.pending === 0 ? null : toNextAttempt(app, row),
  });

/** Shows when it is tried next, or a delivery of it that waits longer: at once for what is due. */
export const toNextAttempt = (
  { clock }: App,
  { due_at_ms: dueMs }: Pick<EndpointRow, 'due_at_ms'>,
  nextAtMs = 0,
): string | null => (dueMs === null ? null : toTimestamp(new Date(Math.max(dueMs, nextAtMs, clock.nowMs()))));

/** `GET …/webhooks`. */
export const showWebhooks = async (app: App, target: Target): Promise<Reply> => {
  requireWebhooks(app);
  const rows = await app.catalogue.webhooks.list(target);
  return replyOk({ webhooks: rows.map((row) => toWebhook(app, row)) });
};

/** Throws `validation_failed` for a secret that cannot sign. */
export const checkSecret = ({ secret }: Pick<WebhookBody, 'secret'>): void => {
  if (secret === undefined || isWebhookSecret(secret)) return;
  throw createValidationError('body', { '/secret': 'must be whsec_ and 24 to 64 bytes in base64' });
};

interface Addressed {
  readonly url: string;
  readonly format: WebhookFormat;
}

/** Throws `validation_failed` when this format cannot be sent there. */
const checkAddress = ({ settings }: App, { kind }: Target, { url, format }: Addressed): void => {
  const fault = findAddressFault(url, settings.webhookAddresses, true) ?? findFormatFault(format, url);
  if (fault !== null) throw createValidationError('body', { '/url': fault });
  if (!isTopgg(format) || kind === 'bot' || kind === 'server') return;
  throw createValidationError('body', {
    '/format': 'must be standard or discord here: top.gg has only bots and servers',
  });
};

/** Throws `validation_failed` for a text that no request would carry. */
const sealAuthorization = (
  app: App,
  id: string,
  { authorization, format }: { authorization: string | null; format: WebhookFormat },
): Buffer | null => {
  if (authorization === null) return null;
  if (format === 'topgg') return app.webhooks.secrets.seal(authorization, id);
  throw createValidationError('body', { '/authorization': 'must be absent unless the format is topgg' });
};

/** Throws `validation_failed` when this format cannot send these events. */
const checkEvents = (format: WebhookFormat, events: readonly WebhookEventType[]): void => {
  const fault = findEventsFault(format, events);
  if (fault !== null) throw createValidationError('body', { '/events': fault });
};

const sealSecret = (app: App, secret: string, endpointId: string): SealedSecret => ({
  sealed: app.webhooks.secrets.seal(secret, endpointId),
  hint: `whsec_…${secret.slice(-hintLength)}`,
});

/** `POST …/webhooks`. Only this reply has the secret. */
export const createWebhook = async (
  app: App,
  { caller, body }: { caller: Caller; body: WebhookBody },
  target: Target,
): Promise<Reply> => {
  requireWebhooks(app);
  const { name, url, events = ['vote.created'], format = 'standard', up_only: upOnly = false } = body;
  const { scope = 'listing' } = body;
  if (scope === 'owned' && target.kind !== 'team')
    throw createValidationError('body', { '/scope': 'must be listing here: only teams own listings' });
  checkAddress(app, target, { url, format });
  checkEvents(format, events);
  const id = uuidv7();
  const secret = body.secret ?? createWebhookSecret();
  const max = app.settings.webhooksPerEntityMax;
  const createdBy = caller.kind === 'user' ? caller.id : '';
  const fields = { id, name, url, events, format, scope, upOnly, createdBy };
  const authorization = sealAuthorization(app, id, { authorization: body.authorization ?? null, format });
  const endpoint = { ...fields, authorization, secret: sealSecret(app, secret, id) };
  const outcome = await app.catalogue.webhooks.insert(target, { endpoint, max });
  if (outcome === 'not_found') throw createNotFoundError(target.kind);
  if (outcome === 'limit_reached')
    throw createLimitError(`An entity has at most ${max} webhooks. Delete one first.`, max);
  app.webhooks.onEdited();
  const created: WebhookCreated = {
    ...toWebhook(app, await findWebhook(app, { target, webhookId: id })),
    secret,
  };
  return replyCreated(created);
};

/**
 * Returns the address and the format that the edit changes; an unchanged one would undo another user's edit
 * of the same moment. Throws `validation_failed` when the secret, which is not shown again, would go to
 * another address, or in another format (`topgg` sends it as it is).
 */
const readMove = (existing: SealedEndpoint, { url, format, secret }: WebhookEditBody) => {
  const move = {
    ...(url === undefined || url === existing.url ? {} : { url }),
    ...(format === undefined || format === existing.format ? {} : { format }),
  };
  if (Object.keys(move).length > 0 && secret === undefined) {
    const fault = 'must be given when url or format changes: a secret that the new receiver knows';
    throw createValidationError('body', { '/secret': fault });
  }
  return move;
};

/** `PATCH …/webhooks/{webhook_id}`. */
export const editWebhook = async (app: App, path: WebhookPath, body: WebhookEditBody): Promise<Reply> => {
  const { target, webhookId: id } = path;
  const existing = await findWebhook(app, path);
  if (isTransferred(existing) && body.enabled === true && body.url === undefined)
    throw createValidationError('body', { '/url': "must be given: the present one is the former owner's" });
  const format = body.format ?? (existing.format as WebhookFormat);
  if (body.url !== undefined || body.format !== undefined)
    checkAddress(app, target, { url: body.url ?? existing.url, format });
  checkEvents(format, body.events ?? (existing.events as readonly WebhookEventType[]));
  const { name, events, enabled, up_only: upOnly, secret, authorization } = body;
  const move = readMove(existing, body);
  // Another receiver must not get the text that the former one compares.
  const isMoved = Object.keys(move).length > 0;
  const text = authorization === undefined && isMoved ? null : authorization;
  const changes = {
    ...move,
    name,
    events,
    enabled,
    upOnly,
    ...(secret === undefined ? {} : { secret: sealSecret(app, secret, id) }),
    ...(text === undefined
      ? {}
      : { authorization: sealAuthorization(app, id, { authorization: text, format }) }),
  };
  const done = await app.catalogue.webhooks.update(target, { id, changes, nowMs: app.clock.nowMs() });
  if (!done) throw createNotFoundError('webhook');
  app.webhooks.onEdited();
  return noContent;
};

/** `DELETE …/webhooks/{webhook_id}`. */
export const deleteWebhook = async (app: App, { target, webhookId }: WebhookPath): Promise<Reply> => {
  requireWebhooks(app);
  if (!(await app.catalogue.webhooks.remove(target, webhookId))) throw createNotFoundError('webhook');
  app.webhooks.onEdited();
  return noContent;
};

/** `POST …/webhooks/{webhook_id}/secret`. Only this reply has the new secret. */
export const replaceWebhookSecret = async (app: App, path: WebhookPath): Promise<Reply> => {
  requireWebhooks(app);
  const { target, webhookId: endpointId } = path;
  const secret = createWebhookSecret();
  const formerUntilMs = app.clock.nowMs() + formerSecretMs;
  const sealed = { ...sealSecret(app, secret, endpointId), formerUntilMs };
  const done = await app.catalogue.webhooks.replaceSecret(target, { endpointId, secret: sealed });
  if (!done) throw createNotFoundError('webhook');
  const reply: WebhookSecret = { secret };
  return replyOk(reply);
};

/** Why a webhook sends nothing after a change of `SECRETS_KEY`. */
const unreadable = 'secret_unreadable';

const createDisabledError = (reason: string): DomainError => {
  const advice =
    reason === unreadable
      ? 'Its secret or authorization can no longer be read: replace them.'
      : 'The webhook is disabled. Enable it first: PATCH {"enabled":true}.';
  return new DomainError('webhook_disabled', advice, { reason });
};

const buildTest = async (app: App, endpoint: SealedEndpoint, { target, caller }: TestRequest) => {
  const userId = caller.kind === 'user' ? caller.id : endpoint.created_by || target.id;
  const { name, user } = await app.catalogue.webhooks.describe(endpoint.incarnation, userId);
  const nowMs = app.clock.nowMs();
  const event: TestEvent = {
    type: 'webhook.test',
    id: uuidv4(),
    timestamp: new Date(nowMs).toISOString(),
    data: {
      webhook_id: endpoint.id,
      user,
      target: { type: target.kind, id: target.id, name },
      test: true,
    },
  };
  const format = endpoint.format as WebhookFormat;
  const body = toWebhookBody(format, event) ?? '';
  const sealed = {
    ...endpoint,
    formerSecret: endpoint.former_secret,
    formerUntilMs: endpoint.former_until_ms,
    authorization: endpoint.authorization_text,
  };
  const opened = openSecrets(app.webhooks.secrets, sealed, nowMs);
  if (opened === null) throw createDisabledError(unreadable);
  const sentAtSeconds = Math.floor(nowMs / 1_000);
  return { headers: toWebhookHeaders({ format, id: event.id, sentAtSeconds, body, ...opened }), body };
};

interface TestRequest {
  readonly target: Target;
  readonly caller: Caller;
}

/** `POST …/webhooks/{webhook_id}/test`: sends now and shows the outcome. Changes nothing. */
export const testWebhook = async (app: App, path: WebhookPath, caller: Caller): Promise<Reply> => {
  const endpoint = await findWebhook(app, path);
  if (!endpoint.enabled) throw createDisabledError(endpoint.disabled_reason);
  const { headers, body } = await buildTest(app, endpoint, { target: path.target, caller });
  const connection = app.webhooks.sender.open(endpoint.url);
  const cancel = app.clock.after(testMsMax, connection.close);
  const { status, milliseconds, error, detail, response } = await connection.post(headers, body);
  cancel();
  connection.close();
  const late = error === 'closed';
  const reply: WebhookTest = {
    delivered: error === '',
    status,
    milliseconds,
    error: late ? 'timeout' : error,
    detail: late ? `There was no answer within ${testMsMax} ms.` : detail,
    response,
  };
  return replyOk(reply);
};
