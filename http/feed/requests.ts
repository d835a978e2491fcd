/**
 * Parses requests of the feed's clients: the targets, channels and position of a URL, and the messages of a
 * WebSocket. Throws `validation_failed` that says what is wrong. Pure.
 */
import { entityKinds, foldTargetId, type Target } from '../../engine/ids.ts';
import { compileCheck } from '../request/check.ts';
import { createValidationError } from '../response/errors.ts';
import { parseLogCursor } from './cursor.ts';
import { type Channel, channels, type FeedRequest } from './interface.ts';
import { FeedMessage } from './schema.ts';
import { feedLimits } from './state.ts';

const idShape = /^[^/,\s\0\p{Surrogate}]{1,64}$/u;
/** Stands for the votes of a target in the id of a stream that got none: they begin with the next one. */
export const noCursor = '.0';

const parseTarget = (text: string, pointer: string): Target => {
  const slash = text.indexOf('/');
  const kind = entityKinds.find((candidate) => candidate === text.slice(0, slash));
  const id = text.slice(slash + 1);
  if (kind !== undefined && idShape.test(id)) return { kind, id: foldTargetId(kind, id) };
  const message = `must be a kind (${entityKinds.join(', ')}), a slash and an id, as bot/815553000470478850`;
  throw createValidationError('query', { [pointer]: message });
};

export const formatTarget = ({ kind, id }: Target): string => `${kind}/${id}`;

const parseTargets = (texts: readonly string[]): readonly Target[] => {
  if (texts.length > feedLimits.targetsPerConnection) {
    const message = `must have at most ${feedLimits.targetsPerConnection} entries`;
    throw createValidationError('query', { '/targets': message });
  }
  const targets = texts.map((text) => parseTarget(text, '/targets'));
  if (new Set(targets.map(formatTarget)).size < targets.length)
    throw createValidationError('query', { '/targets': 'must not name a target twice' });
  return targets;
};

const parseChannels = (texts: readonly string[]): ReadonlySet<Channel> => {
  const known = texts.map((text) => channels.find((channel) => channel === text));
  if (known.every((channel) => channel !== undefined) && known.length > 0) return new Set(known);
  throw createValidationError('query', { '/channels': `must be one or more of ${channels.join(', ')}` });
};

/** Throws `validation_failed` for an invalid cursor. `pointer` names the field that has them. */
const checkCursors = ({ after }: FeedRequest, pointer: string): void => {
  if (after.every((cursor) => cursor === null || parseLogCursor(cursor) !== null)) return;
  throw createValidationError('query', { [pointer]: 'must be what the feed or the log has sent' });
};

const split = (text: string | undefined): readonly string[] =>
  text === undefined || text === '' ? [] : text.split(',').map((part) => part.trim());

/** Parses the query of `GET /feed`. `lastEventId` is that of the client's last event, `''` for none. */
export const parseFeedQuery = (
  query: { readonly targets?: string; readonly channels?: string },
  lastEventId: string,
): FeedRequest => {
  const targets = parseTargets(split(query.targets));
  const cursors = lastEventId === '' ? targets.map(() => noCursor) : split(lastEventId);
  const after = cursors.map((cursor) => (cursor === noCursor ? null : cursor));
  if (after.length !== targets.length) {
    const message = 'must be the id of an event of a stream with the same targets';
    throw createValidationError('query', { '/last_event_id': message });
  }
  const wanted = parseChannels(split(query.channels ?? 'totals'));
  const request = { targets, channels: wanted, after, isResumed: lastEventId !== '' };
  // Whatever the channels are: the ids of the stream repeat the cursors of targets that are gone.
  checkCursors(request, '/last_event_id');
  return request;
};

export type ClientMessage =
  | { readonly op: 'subscribe'; readonly request: FeedRequest }
  | { readonly op: 'unsubscribe'; readonly targets: readonly string[] }
  | { readonly op: 'ping' };

const isMessage = compileCheck(FeedMessage) as (value: unknown) => value is FeedMessage;

const parseJson = (text: string | null): unknown => {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return null;
  }
};

/**
 * Parses a message of a WebSocket; `null` for one that no client may send. Throws `validation_failed` for
 * targets, channels or cursors that are invalid.
 */
export const parseMessage = (text: string | null): ClientMessage | null => {
  const message = parseJson(text);
  if (!isMessage(message)) return null;
  if (message.op === 'ping') return { op: 'ping' };
  const targets = parseTargets(message.targets);
  if (message.op === 'unsubscribe') return { op: 'unsubscribe', targets: targets.map(formatTarget) };
  const after = message.targets.map((target) => message.after?.[target] ?? null);
  const wanted = parseChannels(message.channels ?? ['totals']);
  const request = { targets, after, channels: wanted, isResumed: false };
  if (wanted.has('votes') || wanted.has('voter')) checkCursors(request, '/after');
  return { op: 'subscribe', request };
};
