/**
 * Sends one message to one browser through its push service (RFC 8030), encrypted for that browser (RFC 8291)
 * and signed with our key (RFC 8292).
 *
 * web-push encrypts and signs. We open the connection ourselves, because clients choose the address: it goes
 * only to addresses that guarded-address.ts has vetted, follows no redirect, and reads only the status line
 * and headers. One time limit covers everything. Never throws and never retries: every outcome is a value,
 * and the outbox decides what follows.
 */
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { RequestDetails } from 'web-push';
import {
  createPinnedLookup,
  createServerResolver,
  findAddressFault,
  type Reach,
  type ResolveHost,
  resolveBySystem,
  toHost,
  vetHost,
} from './guarded-address.ts';
import { parseRetryAfterMs } from './retry-after.ts';

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
export interface PushDelivery {
  readonly endpoint: string;
  readonly auth: string;
  readonly p256dh: string;
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
 * - `rejected`: it never will work. `reason` is for the log.
 */
export type PushOutcome =
  | { readonly kind: 'delivered' | 'gone' }
  | { readonly kind: 'retry'; readonly afterMs: number; readonly reason: string }
  | { readonly kind: 'rejected'; readonly reason: string };

export interface PushClient {
  /** The VAPID key that browsers need to subscribe. */
  readonly publicKey: string;
  /** Resolves to why nothing can be sent to this endpoint, `null` when it can. Looks up its host. */
  findEndpointFault(endpoint: string): Promise<string | null>;
  send(delivery: PushDelivery): Promise<PushOutcome>;
}

const timeLimitMsDefault = 5_000;
/** Limit for looking up an endpoint's host. Below a request's deadline, because a handler waits for it. */
const resolveMsMax = 1_500;

export const createPushClient = (options: PushOptions): PushClient => {
  const timeLimitMs = options.timeLimitMs ?? timeLimitMsDefault;
  const defaultResolve = options.reach === 'any' ? resolveBySystem : createServerResolver(resolveMsMax);
  const resolve = options.resolve ?? defaultResolve;
  const resolvedOptions = { ...options, resolve, timeLimitMs };
  return {
    publicKey: options.keys.publicKey,
    findEndpointFault: async (endpoint) => {
      const fault = findAddressFault(endpoint, options.reach);
      if (fault !== null) return fault;
      const vetted = await vetHost(new URL(endpoint), options.reach, resolve);
      return vetted.kind === 'vetted' ? null : vetted.reason;
    },
    send: (delivery) => send(resolvedOptions, delivery),
  };
};

type ResolvedOptions = PushOptions & { readonly resolve: ResolveHost; readonly timeLimitMs: number };

const send = async (options: ResolvedOptions, delivery: PushDelivery): Promise<PushOutcome> => {
  const fault = findAddressFault(delivery.endpoint, options.reach);
  if (fault !== null) return { kind: 'rejected', reason: `the endpoint ${fault}` };
  const url = new URL(delivery.endpoint);
  const vetted = await vetHost(url, options.reach, options.resolve);
  if (vetted.kind === 'refused') return { kind: 'rejected', reason: `the endpoint ${vetted.reason}` };
  if (vetted.kind === 'unresolved')
    return { kind: 'retry', afterMs: 0, reason: `the endpoint ${vetted.reason}` };
  const details = await encrypt(options, delivery);
  if (details === null) return { kind: 'rejected', reason: 'the keys of the subscription are unusable' };
  try {
    const signal = createBoundedSignal(options, delivery);
    return toPushOutcome(await post(options, { url, details, addresses: vetted.addresses, signal }));
  } catch (error) {
    return { kind: 'retry', afterMs: 0, reason: String(error) };
  }
};

/** `null` for invalid keys; they are checked when stored, so this is rare. */
const encrypt = async (
  { keys, contact }: ResolvedOptions,
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

const createBoundedSignal = ({ timeLimitMs }: ResolvedOptions, { signal }: PushDelivery): AbortSignal => {
  const limit = AbortSignal.timeout(timeLimitMs);
  return signal === undefined ? limit : AbortSignal.any([limit, signal]);
};

interface PostRequest {
  readonly signal: AbortSignal;
  readonly url: URL;
  readonly details: RequestDetails;
  readonly addresses: readonly string[];
}

/** Resolves as soon as status and headers have arrived, and does not read the body. */
const post = (
  options: ResolvedOptions,
  { url, details, addresses, signal }: PostRequest,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: toHost(url),
        port: url.port === '' ? 443 : Number(url.port),
        path: url.pathname + url.search,
        method: details.method,
        headers: details.headers as Record<string, string>,
        lookup: createPinnedLookup(addresses),
        // A reused connection would skip the check of its address.
        agent: false,
        signal,
        ...(options.ca === undefined ? {} : { ca: options.ca }),
      },
      (response) => {
        resolve(response);
        response.destroy();
      },
    );
    outgoing.on('error', reject);
    outgoing.end(details.body);
  });

const toPushOutcome = (response: IncomingMessage): PushOutcome => {
  const status = response.statusCode ?? 0;
  if (status >= 200 && status <= 299) return { kind: 'delivered' };
  if (status === 404 || status === 410) return { kind: 'gone' };
  const reason = `the push service answered ${status}`;
  if (status === 429 || status >= 500) {
    return { kind: 'retry', afterMs: parseRetryAfterMs(response) ?? 0, reason };
  }
  return { kind: 'rejected', reason };
};
