/**
 * Sends one message to one browser through its push service (RFC 8030), encrypted for that browser (RFC 8291)
 * and signed with our key (RFC 8292).
 *
 * web-push encrypts and signs; webhooks/send.ts sends, since clients choose the address, and keeps no socket.
 * Never throws and never retries: every outcome is a value, and the outbox decides what follows.
 */
import type { RequestDetails } from 'web-push';
import type { PushTarget } from '../../storage/catalogue/votes/push.ts';
import {
  createResolver,
  findAddressFault,
  type Reach,
  type ResolveHost,
  vetHost,
} from './guarded-address.ts';
import type { WebhookAnswer } from './webhooks/request.ts';
import { createWebhookSender, type WebhookSender } from './webhooks/send.ts';

/** The key pair that identifies this directory to push services; base64url, as web-push generates it. */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}
export interface PushOptions {
  readonly keys: VapidKeys;
  /** How a push service can reach the operator: a `mailto:` or `https:` address. */
  readonly contact: string;
  readonly reach: Reach;
  /** Additional certificate authorities (tests). */
  readonly ca?: string;
  /** By default the system's name servers. */
  readonly resolve?: ResolveHost;
  readonly timeLimitMs?: number;
}
export interface PushDelivery extends PushTarget {
  readonly payload: string;
  /** A later message with the same topic replaces one that was not delivered yet. At most 32 characters. */
  readonly topic: string;
  /** How long the push service keeps it for a browser that is offline. */
  readonly ttlSeconds: number;
  /** Ends the attempt at once, as `retry`. */
  readonly signal?: AbortSignal;
}
/**
 * - `delivered`: the push service has accepted it;
 * - `gone`: the subscription has ended (404, 410);
 * - `retry`: it may work later; `afterMs` is the wait that the service requested, 0 for none;
 * - `rejected`: it never will work. `reason` is for the log; `isAnswer` tells that the service has said so.
 */
export type PushOutcome =
  | { readonly kind: 'delivered' | 'gone' }
  | { readonly kind: 'retry'; readonly afterMs: number; readonly reason: string }
  | { readonly kind: 'rejected'; readonly reason: string; readonly isAnswer: boolean };

const timeLimitMsDefault = 5_000;
/** Limit for looking up an endpoint's host. Below a request's deadline, because a handler waits for it. */
const resolveMsMax = 1_500;

export const createPushClient = (options: PushOptions) => {
  const { reach, timeLimitMs = timeLimitMsDefault, resolve = createResolver(reach, resolveMsMax) } = options;
  const ca = options.ca === undefined ? {} : { ca: options.ca };
  const sender = createWebhookSender({ addresses: reach, timeoutMs: timeLimitMs, keepMs: 0, resolve, ...ca });
  return {
    /** The VAPID key that browsers need to subscribe. */
    publicKey: options.keys.publicKey,
    /** Resolves to why nothing can be sent to this endpoint, `null` when it can. Looks up its host. */
    findEndpointFault: async (endpoint: string) => {
      const fault = findAddressFault(endpoint, reach);
      if (fault !== null) return fault;
      const vetted = await vetHost(new URL(endpoint), reach, resolve);
      return vetted.kind === 'vetted' ? null : vetted.reason;
    },
    send: (delivery: PushDelivery) => send(options, delivery, sender),
  };
};
export type PushClient = ReturnType<typeof createPushClient>;

const send = async (
  options: PushOptions,
  delivery: PushDelivery,
  sender: WebhookSender,
): Promise<PushOutcome> => {
  const fault = findAddressFault(delivery.endpoint, options.reach);
  if (fault !== null) return { kind: 'rejected', reason: `the endpoint ${fault}`, isAnswer: false };
  const details = await encrypt(options, delivery);
  if (details === null)
    return { kind: 'rejected', reason: 'the keys of the subscription are unusable', isAnswer: false };
  const connection = sender.open(delivery.endpoint);
  const { signal } = delivery;
  signal?.addEventListener('abort', connection.close, { once: true });
  if (signal?.aborted) connection.close();
  try {
    return toPushOutcome(
      await connection.post(details.headers as Record<string, string>, details.body ?? ''),
    );
  } finally {
    signal?.removeEventListener('abort', connection.close);
    connection.close();
  }
};

/** `null` for invalid keys; they are checked when stored, so this is rare. */
const encrypt = async (
  { keys, contact }: PushOptions,
  delivery: PushDelivery,
): Promise<RequestDetails | null> => {
  // Loaded with the first message: a node without reminders never needs it.
  const { default: webPush } = await import('web-push');
  const { endpoint, auth, p256dh, payload, topic, ttlSeconds } = delivery;
  try {
    return webPush.generateRequestDetails({ endpoint, keys: { auth, p256dh } }, payload, {
      vapidDetails: { subject: contact, ...keys },
      // Standard VAPID only: no vendor's own key, whatever the endpoint looks like.
      gcmAPIKey: '',
      TTL: ttlSeconds,
      urgency: 'normal',
      topic,
      contentEncoding: 'aes128gcm',
    });
  } catch (error) {
    if (error instanceof Error) return null;
    throw error;
  }
};

const toPushOutcome = ({ status, error, detail, retryAfterMs = 0 }: WebhookAnswer): PushOutcome => {
  if (status >= 200 && status <= 299) return { kind: 'delivered' };
  if (status === 404 || status === 410) return { kind: 'gone' };
  const reason = status === 0 ? detail : `the push service answered ${status}`;
  const isRefused = status === 0 ? error === 'address_refused' : status !== 429 && status < 500;
  return isRefused
    ? { kind: 'rejected', reason, isAnswer: status !== 0 && status !== 413 }
    : { kind: 'retry', afterMs: retryAfterMs, reason };
};
