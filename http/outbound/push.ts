/**
 * Sends one message to one browser through its push service (RFC 8030), encrypted for that browser (RFC 8291)
 * and signed with our key (RFC 8292).
 *
 * web-push encrypts and signs; the connection is ours, because the address is a client's: it goes only to
 * addresses judged by guarded-address.ts, follows no redirect, and reads nothing but the status line and
 * headers. One time limit covers all of it. Never throws and never retries: every end is a value, and the
 * outbox decides what follows. Called by ops/jobs and by the handlers that take subscriptions.
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

/** The pair that names this directory to push services; base64url, as web-push makes it. */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}
export interface PushOptions {
  readonly keys: VapidKeys;
  /** Whom a push service may write to: a `mailto:` or `https:` address. */
  readonly contact: string;
  readonly reach: Reach;
  /** Authorities to believe beside the usual ones (tests). */
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
  /** The push service keeps it for a browser that is away no longer than this. */
  readonly ttlSeconds: number;
  /** Ends the attempt at once, as `retry`. */
  readonly signal?: AbortSignal;
}
/**
 * - `delivered`: the push service has it;
 * - `gone`: the subscription has ended (404, 410);
 * - `retry`: it may work another time; `afterMs` is what the service asked for, 0 when nothing;
 * - `rejected`: it never will. `reason` is for the log.
 */
export type PushOutcome =
  | { readonly kind: 'delivered' | 'gone' }
  | { readonly kind: 'retry'; readonly afterMs: number; readonly reason: string }
  | { readonly kind: 'rejected'; readonly reason: string };

export interface PushClient {
  /** What browsers need to subscribe. */
  readonly publicKey: string;
  /** Why nothing can be sent to this endpoint, `null` when it can. Resolves its host. */
  findEndpointFault(endpoint: string): Promise<string | null>;
  send(delivery: PushDelivery): Promise<PushOutcome>;
}

const timeLimitMsDefault = 5_000;
/** Shorter than a request may take: a handler waits for it. */
const resolveMsMax = 1_500;

export const createPushClient = (options: PushOptions): PushClient => {
  const timeLimitMs = options.timeLimitMs ?? timeLimitMsDefault;
  const byReach = options.reach === 'any' ? resolveBySystem : createServerResolver(resolveMsMax);
  const resolve = options.resolve ?? byReach;
  const settled = { ...options, resolve, timeLimitMs };
  return {
    publicKey: options.keys.publicKey,
    findEndpointFault: async (endpoint) => {
      const fault = findAddressFault(endpoint, options.reach);
      if (fault !== null) return fault;
      const vetted = await vetHost(new URL(endpoint), options.reach, resolve);
      return vetted.kind === 'vetted' ? null : vetted.words;
    },
    send: (delivery) => send(settled, delivery),
  };
};

type ResolvedOptions = PushOptions & { readonly resolve: ResolveHost; readonly timeLimitMs: number };

const send = async (options: ResolvedOptions, delivery: PushDelivery): Promise<PushOutcome> => {
  const fault = findAddressFault(delivery.endpoint, options.reach);
  if (fault !== null) return { kind: 'rejected', reason: `the endpoint ${fault}` };
  const url = new URL(delivery.endpoint);
  const vetted = await vetHost(url, options.reach, options.resolve);
  if (vetted.kind === 'refused') return { kind: 'rejected', reason: `the endpoint ${vetted.words}` };
  if (vetted.kind === 'unresolved')
    return { kind: 'retry', afterMs: 0, reason: `the endpoint ${vetted.words}` };
  const details = await encrypt(options, delivery);
  if (details === null) return { kind: 'rejected', reason: 'the keys of the subscription are unusable' };
  try {
    const signal = createBoundedSignal(options, delivery);
    return toPushOutcome(await post(options, { url, details, addresses: vetted.addresses, signal }));
  } catch (error) {
    return { kind: 'retry', afterMs: 0, reason: String(error) };
  }
};

/** `null` for keys that are no keys; they were checked when they came, so this is rare. */
const encrypt = async (
  { keys, contact }: ResolvedOptions,
  delivery: PushDelivery,
): Promise<RequestDetails | null> => {
  // Loaded with the first message: a directory without reminders never needs it.
  const { default: webPush } = await import('web-push');
  const { endpoint, auth, p256dh, payload, topic, ttlSeconds } = delivery;
  try {
    return webPush.generateRequestDetails({ endpoint, keys: { auth, p256dh } }, payload, {
      vapidDetails: { subject: contact, ...keys },
      // Of a push service nothing else is known: no keys of one vendor, whatever the endpoint looks like.
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

/** Resolves as soon as status and headers are there, and reads on no further. */
const post = (
  options: ResolvedOptions,
  { url, details, addresses, signal }: PostRequest,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const posting = request(
      {
        host: toHost(url),
        port: url.port === '' ? 443 : Number(url.port),
        path: url.pathname + url.search,
        method: details.method,
        headers: details.headers as Record<string, string>,
        lookup: createPinnedLookup(addresses),
        // A connection kept alive would outlive the judgement of its address.
        agent: false,
        signal,
        ...(options.ca === undefined ? {} : { ca: options.ca }),
      },
      (response) => {
        resolve(response);
        response.destroy();
      },
    );
    posting.on('error', reject);
    posting.end(details.body);
  });

const toPushOutcome = (response: IncomingMessage): PushOutcome => {
  const status = response.statusCode ?? 0;
  if (status >= 200 && status <= 299) return { kind: 'delivered' };
  if (status === 404 || status === 410) return { kind: 'gone' };
  const reason = `the push service answered ${status}`;
  if (status === 429 || status >= 500) {
    return { kind: 'retry', afterMs: parseRetryAfterMs(response), reason };
  }
  return { kind: 'rejected', reason };
};

/**
 * `Retry-After` in seconds or as a date; a date counts from the service's own clock. 0 when there is none.
 */
const parseRetryAfterMs = ({ headers }: IncomingMessage): number => {
  const given = headers['retry-after'] ?? '';
  if (/^\d{1,9}$/.test(given)) return Number(given) * 1_000;
  const [untilMs, nowMs] = [Date.parse(given), Date.parse(headers.date ?? '')];
  return Number.isNaN(untilMs) || Number.isNaN(nowMs) ? 0 : Math.max(0, untilMs - nowMs);
};
