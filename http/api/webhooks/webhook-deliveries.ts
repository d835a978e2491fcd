/**
 * Shows what was sent to a webhook endpoint, deletes that log, and queues events to be sent again.
 */
import type {
  DeliveryRange,
  DeliveryRow,
  ReplayRange,
} from '../../../storage/catalogue/webhooks/deliveries.ts';
import type { SealedEndpoint } from '../../../storage/catalogue/webhooks/endpoints.ts';
import type { App } from '../../app.ts';
import { toEventId, toEventType } from '../../outbound/webhooks/stored-event.ts';
import { createLimitError, createValidationError } from '../../response/errors.ts';
import { noContent, type Reply, replyOk, toTimestamp } from '../../response/reply.ts';
import type { DeliveriesQuery, Delivery, ReplayBody } from './schema.ts';
import { findWebhook, toNextAttempt, type WebhookPath } from './webhooks.ts';

const limitDefault = 50;

/** As in storage/catalogue/webhooks/deliveries.ts. */
const replayMax = 10_000;

const states = ['pending', 'delivered', 'expired'] as const;

const cursorShape = /^([1-9][0-9]{0,14})\.([0-9]{1,4})$/;

/** Throws `validation_failed`. */
const parseCursor = (text: string | undefined): DeliveryRange['before'] => {
  if (text === undefined) return null;
  const [, place, kind] = cursorShape.exec(text) ?? [];
  if (kind !== undefined) return { place: Number(place), kind: Number(kind) };
  throw createValidationError('query', { '/after': 'must be `next` of an earlier reply of this path' });
};

const toDelivery = (app: App, endpoint: SealedEndpoint, row: DeliveryRow): Delivery => {
  const waits = row.state === states.indexOf('pending') || row.replay;
  return {
    id: row.source === null ? null : toEventId(row.source, endpoint.id),
    type: toEventType(row.kind),
    number: row.number,
    target: row.target_type === null ? null : { type: row.target_type, id: row.target_id ?? '' },
    state: states[row.state] ?? 'expired',
    created_at: toTimestamp(row.created_at),
    next_attempt_at: waits ? toNextAttempt(app, endpoint, row.next_at_ms) : null,
    attempts: [...row.attempts],
  };
};

/** `GET …/deliveries`, newest first. */
export const showDeliveries = async (
  app: App,
  path: WebhookPath,
  { state, after, limit = limitDefault }: DeliveriesQuery,
): Promise<Reply> => {
  const before = parseCursor(after);
  const endpoint = await findWebhook(app, path);
  const range = { state: state ?? null, before, limit };
  const rows = await app.catalogue.webhooks.deliveries(endpoint, range);
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return replyOk({
    results: rows.map((row) => toDelivery(app, endpoint, row)),
    next: last === undefined ? null : `${last.place}.${last.kind}`,
  });
};

/** `DELETE …/deliveries`: those that wait stay. */
export const clearDeliveries = async (app: App, path: WebhookPath): Promise<Reply> => {
  const { id } = await findWebhook(app, path);
  await app.catalogue.webhooks.clear(id);
  return noContent;
};

const ownedRange = 'must have since and until: each listing of the team has numbers of its own';
const oneRange = 'must have either number, or from_number and to_number, or since and until';

/** Throws `validation_failed` unless the body names exactly one range of at most `replayMax` numbers. */
export const parseReplayRange = (body: ReplayBody): ReplayRange => {
  const { number, from_number, to_number, since, until, failed_only: failedOnly = false } = body;
  const named = [number, from_number ?? to_number, since ?? until].filter((value) => value !== undefined);
  if (named.length !== 1) throw createValidationError('body', { '': oneRange });
  if (number !== undefined) return { fromNumber: number, toNumber: number };
  if (from_number !== undefined && to_number !== undefined) {
    if (to_number >= from_number && to_number - from_number < replayMax)
      return { fromNumber: from_number, toNumber: to_number };
    const message = `must be from from_number to ${replayMax - 1} more than it`;
    throw createValidationError('body', { '/to_number': message });
  }
  if (since === undefined || until === undefined) throw createValidationError('body', { '': oneRange });
  return { since: new Date(since), until: new Date(until), failedOnly };
};

/** `POST …/replay`: each event is sent once, whatever the health of the endpoint. */
export const enqueueEvents = async (app: App, path: WebhookPath, body: ReplayBody): Promise<Reply> => {
  const range = parseReplayRange(body);
  const { id, incarnation, format, scope, up_only: upOnly } = await findWebhook(app, path);
  if (scope === 'owned' && 'fromNumber' in range) throw createValidationError('body', { '': ownedRange });
  const nowMs = app.clock.nowMs();
  const request = { id, incarnation, format, scope, upOnly, range, nowMs };
  const queued = await app.catalogue.webhooks.replay(request);
  if (queued === null) {
    const message = `A replay sends at most ${replayMax} events. Name a shorter period.`;
    throw createLimitError(message, replayMax);
  }
  app.webhooks.onQueued();
  return { status: 202, json: { queued } };
};
