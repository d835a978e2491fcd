/**
 * Sends the messages of the push outbox, and records for each message what the push service answered.
 *
 * A node takes messages under a lease, so every node may send, and another node sends what a dead node took:
 * delivery is at least once. The messages of one browser are sent one after the other; a failure delays only
 * the rest of that browser. After a failure a message waits twice as long each time, or as long as the push
 * service requests. It is abandoned after `attemptsMax` attempts, or when the user has voted meanwhile. Used
 * by jobs.ts, after reminders.ts.
 */
import { hash } from 'node:crypto';
import type { Engine } from '../../engine/engine.ts';
import type { PushClient, PushOutcome } from '../../http/outbound/push.ts';
import type { JobMeters } from '../../http/telemetry/counts.ts';
import type { PushMessage, PushOutbox } from '../../storage/catalogue/votes/push.ts';

export interface PushSenderParts {
  readonly engine: Pick<Engine, 'readVoteStatus'>;
  readonly outbox: Pick<PushOutbox, 'take' | 'recordDelivery' | 'abandon' | 'drop' | 'postpone'>;
  readonly client: Pick<PushClient, 'send'>;
  readonly clock: { nowMs(): number; monotonicMs(): number };
  readonly meters: Pick<JobMeters, 'recordPush' | 'recordPushAnswer'>;
  /** Receives the reason why a message is never sent. */
  readonly onAbandoned: (reason: string) => void;
}

export const pushLimits = {
  /** Messages taken at once; those to different browsers are sent in parallel. */
  takenMax: 40,
  leaseMs: 60_000,
  /** A taken message whose sending has not begun by then waits for the end of the lease. */
  beginMs: 40_000,
  attemptsMax: 8,
  pauseMinMs: 30_000,
  /** Also of what a push service requests. */
  pauseMaxMs: 3_600_000,
} as const;

/** How long a push service keeps a message for a browser that is offline. */
const ttlSeconds = 12 * 3_600;
const nameLengthMax = 100;
const avatarLengthMax = 1_024;
/** The whole note is on the page of the listing; a message has room for some 4,000 bytes. */
const noteLengthMax = 300;

/** Sends until no message is due. Rejects with the first failure of the outbox or the engine. */
export const sendMessages = async (parts: PushSenderParts, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const { takenMax: limit, leaseMs } = pushLimits;
    const taken = await parts.outbox.take({ nowMs: parts.clock.nowMs(), leaseMs, limit });
    const untilMs = parts.clock.monotonicMs() + pushLimits.beginMs;
    const browsers = Map.groupBy(taken, (message) => message.subscriptionId);
    const sent = [...browsers.values()].map((messages) =>
      sendToBrowser(parts, messages, { signal, untilMs }),
    );
    const failure = (await Promise.allSettled(sent)).find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    if (taken.length < limit) return;
  }
};

/** Sends the messages of one browser in order, and stops at the first that cannot be delivered now. */
const sendToBrowser = async (
  parts: PushSenderParts,
  messages: readonly PushMessage[],
  { signal, untilMs }: { readonly signal: AbortSignal; readonly untilMs: number },
): Promise<void> => {
  for (const message of messages) {
    if (signal.aborted || parts.clock.monotonicMs() > untilMs) return;
    const exhausted = message.attempts > pushLimits.attemptsMax;
    if (exhausted) parts.onAbandoned('no attempt has ended: nodes died, or stopped, before the answer');
    if (exhausted || (await isOutdated(parts, message))) {
      await parts.outbox.abandon(message);
      continue;
    }
    const outcome = await parts.client.send(toDelivery(message, signal));
    // The request was interrupted because this node stops. The message is due again when its lease ends.
    if (outcome.kind === 'retry' && signal.aborted) return;
    await recordOutcome(parts, message, outcome);
    if (outcome.kind === 'gone' || outcome.kind === 'retry') return;
  }
};

/** Whether the user has voted again since the message was queued. Not checked for the first attempt. */
const isOutdated = async ({ engine }: PushSenderParts, message: PushMessage): Promise<boolean> =>
  message.review === null &&
  message.attempts > 1 &&
  (await engine.readVoteStatus(message.kind, message.targetId, message.userId)).waitMs > 0;

/** The same for each attempt, so that the browser shows a repeated message only once. */
const toTopic = ({ kind, targetId, userId, review }: PushMessage): string =>
  hash('sha256', `${kind} ${targetId} ${userId}${review === null ? '' : ' review'}`, 'base64url').slice(
    0,
    32,
  );

const shorten = (text: string, lengthMax: number): string => {
  const characters = [...text];
  return characters.length <= lengthMax ? text : `${characters.slice(0, lengthMax - 1).join('')}…`;
};

const results = {
  approved: 'Approved',
  certified: 'Certified',
  denied: 'Not accepted',
  pending: 'Waits for a review again',
} as const;

const toText = (review: PushMessage['review'], name: string): string => {
  if (review === null) return `You can vote again: ${name}`;
  const note = shorten(review.note.trim(), noteLengthMax);
  return `${results[review.type]}: ${name}${note === '' ? '' : `\n${note}`}`;
};

const toPayload = ({ kind, targetId, name, avatar, review }: PushMessage): string => {
  const short = shorten(name, nameLengthMax);
  return JSON.stringify({
    message: toText(review, short),
    resolved: { avatar: avatar.length > avatarLengthMax ? '' : avatar, name: short },
    target_id: targetId,
    target_type: kind,
  });
};

const toDelivery = (message: PushMessage, signal: AbortSignal) => ({
  endpoint: message.endpoint,
  auth: message.auth,
  p256dh: message.p256dh,
  payload: toPayload(message),
  topic: toTopic(message),
  ttlSeconds,
  signal,
});

const recordOutcome = async (parts: PushSenderParts, message: PushMessage, outcome: PushOutcome) => {
  const { outbox, clock, meters } = parts;
  const exhausted = outcome.kind === 'retry' && message.attempts >= pushLimits.attemptsMax;
  meters.recordPush(exhausted ? 'abandoned' : outcome.kind);
  const { host } = new URL(message.endpoint);
  if (outcome.kind === 'delivered') meters.recordPushAnswer(host, '');
  if (outcome.kind === 'rejected' && outcome.isAnswer) meters.recordPushAnswer(host, outcome.reason);
  if (outcome.kind === 'rejected' || exhausted) parts.onAbandoned(outcome.reason);
  switch (exhausted ? 'rejected' : outcome.kind) {
    case 'delivered':
      return outbox.recordDelivery(message, clock.nowMs());
    case 'gone':
      return outbox.drop(message.subscriptionId);
    case 'rejected':
      return outbox.abandon(message);
    case 'retry':
      return outbox.postpone(message, clock.nowMs() + computePauseMs(message, outcome));
  }
};

const computePauseMs = ({ attempts }: PushMessage, outcome: PushOutcome): number => {
  const { pauseMinMs, pauseMaxMs } = pushLimits;
  const doubledMs = Math.min(pauseMaxMs, pauseMinMs * 2 ** (attempts - 1));
  const requestedMs = outcome.kind === 'retry' ? outcome.afterMs : 0;
  return Math.max(doubledMs, Math.min(requestedMs, pauseMaxMs));
};
