/**
 * Sends a request to a service that the operator configured (login provider, bot look-up) and checks its
 * answer.
 *
 * Such a service is not trusted: one time limit covers connecting, waiting and reading; reading stops at a
 * size cap (counted after decompression); redirects are never followed; the answer must match a TypeBox
 * schema. Never throws and never retries: every outcome is a value, which the caller translates for clients.
 * URLs come from settings only, never from a request.
 */
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import type { Agent, RequestInit as ClientRequest } from 'undici';
import { createConnector, loadUndici } from './connect.ts';
import { resolveBySystem } from './guarded-address.ts';

/** The bounds of one request. */
export interface FetchLimits {
  /** For connecting, waiting and reading together. */
  readonly timeLimitMs: number;
  readonly answerBytesMax: number;
}
export interface FetchRequest extends FetchLimits {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * - `ok`: status 2xx and JSON that matches the schema;
 * - `refused`: any other status, also a redirect; `answer` is its JSON, `null` when it is not JSON;
 * - `unreachable`: no connection, no answer in time, or one that ended early;
 * - `limited`: the answer is too large, or this machine has no descriptor, port or memory left;
 * - `malformed`: 2xx, but not JSON, or not matching the schema.
 * `reason` is for the log, not for a client.
 */
export type FetchResult<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  | { readonly kind: 'refused'; readonly status: number; readonly answer: unknown }
  | { readonly kind: 'unreachable' | 'limited'; readonly reason: string }
  | { readonly kind: 'malformed'; readonly reason: string };

/** A service's answer. `text` is `null` when it is over the cap. */
export interface FetchedText {
  readonly status: number;
  readonly contentType: string;
  readonly text: string | null;
}

/** Fetches JSON. Fulfils within the time limit and never rejects. */
export const fetchJson = async <Schema extends TSchema>(
  schema: Schema,
  request: FetchRequest,
): Promise<FetchResult<Static<Schema>>> => {
  const raw = await fetchBounded(request.url, request, {
    method: request.method ?? 'GET',
    headers: { accept: 'application/json', ...request.headers },
    ...(request.body === undefined ? {} : { body: request.body }),
  });
  if (!('reason' in raw)) return toFetchResult(schema, raw);
  return { kind: raw.isOurs ? 'limited' : 'unreachable', reason: raw.reason };
};

/** What connections fail with when this machine has no room for them. */
const ownCodes: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

/**
 * Sends one bounded request, for libraries that build their own. A redirect is returned as an answer. Never
 * rejects.
 */
export const fetchBounded = async (
  url: string,
  { timeLimitMs, answerBytesMax }: FetchLimits,
  request: RequestInit,
): Promise<FetchedText | { readonly reason: string; readonly isOurs: boolean }> => {
  const signal = AbortSignal.timeout(timeLimitMs);
  try {
    const { fetch, dispatcher } = openClient();
    // It takes all that the global one takes; only their types differ.
    const sent = request as ClientRequest;
    const response = await fetch(url, { ...sent, redirect: 'manual', signal, dispatcher });
    const contentType = response.headers.get('content-type') ?? '';
    return { status: response.status, contentType, text: await readText(response, answerBytesMax) };
  } catch (error) {
    if (signal.aborted) return { reason: `no answer within ${timeLimitMs} ms`, isOurs: false };
    const { cause = error } = error as { readonly cause?: unknown };
    return { reason: String(cause), isOurs: ownCodes.has((cause as NodeJS.ErrnoException).code) };
  }
};

/** No request has longer than a login, which is this. */
const connectMsMax = 10_000;
let dispatcher: Agent | undefined;

/** The sockets of all these services. */
const openClient = () => {
  const { Agent, fetch } = loadUndici();
  const connect = { resolve: resolveBySystem, timeLimitMs: connectMsMax };
  dispatcher ??= new Agent({ connect: createConnector(connect) });
  return { fetch, dispatcher };
};

/** Reads the body; `null` when it is longer than `bytesMax`, and the rest stays unread. */
const readText = async (response: Pick<Response, 'body'>, bytesMax: number): Promise<string | null> => {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early cancels the stream, which closes the connection.
  for await (const chunk of response.body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** `undefined` when the text is not JSON. */
const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

const validators = new WeakMap<TSchema, ReturnType<typeof Compile>>();

const matchesSchema = (schema: TSchema, value: unknown): boolean => {
  const validator = validators.get(schema) ?? Compile(schema);
  validators.set(schema, validator);
  return validator.Check(value);
};

const toFetchResult = <Schema extends TSchema>(
  schema: Schema,
  raw: FetchedText,
): FetchResult<Static<Schema>> => {
  if (raw.text === null) return { kind: 'limited', reason: 'the answer is too large' };
  const value = parseJson(raw.text);
  if (raw.status < 200 || raw.status > 299) {
    return { kind: 'refused', status: raw.status, answer: value ?? null };
  }
  if (value === undefined) return { kind: 'malformed', reason: 'the answer is not JSON' };
  // The check proves the type.
  return matchesSchema(schema, value)
    ? { kind: 'ok', value: value as Static<Schema> }
    : { kind: 'malformed', reason: 'the answer does not have the expected shape' };
};
