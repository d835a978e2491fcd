/**
 * Verifies requests of webhooks (Standard Webhooks) and returns their event. Nothing of a request may be
 * trusted before: anyone can send to the address of a webhook.
 */

export interface WebhookUser {
  readonly id: string;
  readonly username: string;
  readonly display_name: string;
  /** A URL, or `''`. */
  readonly avatar: string;
}
export interface WebhookTarget {
  readonly type: 'bot' | 'server' | 'team' | 'pack';
  readonly id: string;
  readonly name: string;
}
interface ListingEvent<Type extends string, Reported> {
  readonly type: Type;
  /** When the user voted, a decision was made, or the rest was noticed: RFC 3339, UTC, milliseconds. */
  readonly timestamp: string;
  readonly data: Reported & { readonly target: WebhookTarget; readonly test: false };
}
export type VoteCreated = ListingEvent<
  'vote.created',
  {
    /** The epoch of the vote log, and the position of the request's first vote in it. */
    readonly epoch: string;
    readonly number: number;
    /** The request's first vote. */
    readonly itag: string;
    /** All votes of the request, in order of their numbers. */
    readonly vote_ids: readonly string[];
    /** How many votes the request counted for. */
    readonly weight: number;
    readonly upvote: boolean;
    /** What the link that led to the vote said as `ref`; `''` for nothing. */
    readonly ref: string;
    readonly user: WebhookUser;
    /** What the user had done by this vote: requests, and days (UTC) in a row with one. */
    readonly voter: { readonly times: number; readonly streak: number; readonly longest: number };
    /** The listing's total once this vote was written. */
    readonly votes: number;
    readonly created_at: string;
    /** When the user may vote again, by the rules at the time of the vote. */
    readonly next_vote_at: string;
  }
>;
type VoteDecision<Type extends string> = ListingEvent<
  Type,
  {
    readonly epoch: string;
    /** The highest position of these votes in the vote log. */
    readonly number: number;
    /** `operator`, `redeemed` or `monthly_reset`; others may come later. */
    readonly reason: string;
    /** How many votes became void, or count again. */
    readonly upvotes: number;
    readonly downvotes: number;
    /** The vote if it was a single one, else `null`. */
    readonly vote: {
      readonly itag: string;
      readonly upvote: boolean;
      readonly created_at: string;
      readonly user: WebhookUser;
    } | null;
    /** For a reset: the votes before this time became void. */
    readonly before: string | null;
    /** The listing's total after the decision. */
    readonly votes: number;
  }
>;
/** A decision made past votes void. */
export type VoteVoided = VoteDecision<'vote.voided'>;
/** The operator took such a decision back. */
export type VoteRestored = VoteDecision<'vote.restored'>;
/** A user who requested a reminder may vote again. */
export type VoteReady = ListingEvent<'vote.ready', { readonly user: WebhookUser }>;
/** The profile was edited: the names of the fields. */
export type ListingUpdated = ListingEvent<'listing.updated', { readonly fields: readonly string[] }>;
/** The server disabled another webhook of the listing. */
export type WebhookDisabled = ListingEvent<
  'webhook.disabled',
  { readonly webhook_id: string; readonly name: string; readonly reason: string }
>;
export interface WebhookTested {
  readonly type: 'webhook.test';
  readonly timestamp: string;
  readonly data: {
    readonly webhook_id: string;
    /** Who pressed the button, or the owner when a token of the listing did. */
    readonly user: WebhookUser;
    readonly target: WebhookTarget;
    readonly test: true;
  };
}
/** Other types may come later: ignore those that you do not know. */
export type ReceivedEvent = (
  | VoteCreated
  | VoteVoided
  | VoteRestored
  | VoteReady
  | ListingUpdated
  | WebhookDisabled
  | WebhookTested
) & {
  /** The same in every attempt: take each id once. */
  readonly id: string;
};

/** A `Request`, or the headers and the body as they came, for example of Node's `http`. */
export interface ReceivedRequest {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string | Uint8Array;
}
export interface ReceiveOptions {
  /** How old a request may be, in seconds; 300 if absent. */
  readonly toleranceSeconds?: number;
  /** Instead of the clock, in milliseconds. */
  readonly nowMs?: number;
}

/** The request does not come from the directory: answer 401. */
export class SignatureError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SignatureError';
  }
}

const encoder = new TextEncoder();

const readHeader = (headers: ReceivedRequest['headers'], name: string): string => {
  const given = headers instanceof Headers ? headers : Object.entries(headers);
  // Some hosts of functions pass them on in capitals.
  const value = [...given].find(([other]) => other.toLowerCase() === name)?.[1];
  if (typeof value === 'string') return value;
  throw new SignatureError(`the header ${name} is missing`);
};

/** Throws on text that is not base64. */
const decode = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/** Node 18 has Web Crypto only as a module. */
const findSubtle = async () => {
  const moduleName = 'node:crypto';
  // Bundlers leave the import as it is.
  const load = () => import(/* webpackIgnore: true */ /* @vite-ignore */ moduleName);
  return globalThis.crypto?.subtle ?? (await load()).webcrypto.subtle;
};

const toKey = async (secret: string) => {
  const subtle = await findSubtle();
  const bytes = decode(secret.replace(/^whsec_/, ''));
  return subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
};

const decodeSignatures = (list: string) =>
  list.split(' ').flatMap((entry) => {
    if (!entry.startsWith('v1,')) return [];
    try {
      return [decode(entry.slice(3))];
    } catch {
      return []; // no base64: no signature
    }
  });

const isSigned = async (
  secrets: readonly string[],
  signatures: readonly Uint8Array<ArrayBuffer>[],
  content: Uint8Array<ArrayBuffer>,
): Promise<boolean> => {
  const subtle = await findSubtle();
  for (const secret of secrets) {
    const key = await toKey(secret);
    // `verify` takes the same time for every wrong signature.
    for (const signature of signatures) if (await subtle.verify('HMAC', key, signature, content)) return true;
  }
  return false;
};

const readBody = async (request: ReceivedRequest | Request): Promise<Uint8Array> => {
  if (request instanceof Request) return new Uint8Array(await request.arrayBuffer());
  const { body } = request;
  if (typeof body === 'string') return encoder.encode(body);
  if (ArrayBuffer.isView(body)) return body;
  throw new TypeError('The body was parsed before: pass it as it came.');
};

const join = (start: string, body: Uint8Array): Uint8Array<ArrayBuffer> => {
  const head = encoder.encode(start);
  const joined = new Uint8Array(head.length + body.length);
  joined.set(head);
  joined.set(body, head.length);
  return joined;
};

/**
 * Verifies a request of a webhook and returns its event. Rejects with a `SignatureError` if it was not signed
 * with one of the secrets, was changed, or is too old.
 *
 * @example
 * const event = await receive(request, process.env.WEBHOOK_SECRET);
 * if (event.type === 'vote.created' && isNew(event.id)) await reward(event.data.user.id);
 */
export const receive = async (
  request: ReceivedRequest | Request,
  secret: string | readonly string[],
  { toleranceSeconds = 300, nowMs = Date.now() }: ReceiveOptions = {},
): Promise<ReceivedEvent> => {
  const id = readHeader(request.headers, 'webhook-id');
  const seconds = readHeader(request.headers, 'webhook-timestamp');
  const signatures = decodeSignatures(readHeader(request.headers, 'webhook-signature'));
  if (!(Math.abs(nowMs / 1_000 - Number(seconds)) <= toleranceSeconds))
    throw new SignatureError('the request is too old, or from the future');
  const body = await readBody(request);
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (!(await isSigned(secrets, signatures, join(`${id}.${seconds}.`, body))))
    throw new SignatureError('the signature does not match');
  return { ...JSON.parse(new TextDecoder().decode(body)), id };
};
