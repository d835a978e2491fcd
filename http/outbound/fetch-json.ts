/**
 * Asks a service that the operator configured (login provider, bot look-up) and judges its answer.
 *
 * Nothing of such a service is trusted: one time limit covers connecting, waiting and reading, an answer over
 * the cap is not read on (compressed ones are counted unpacked), a redirect is never followed, and what comes
 * back must fit a TypeBox schema. Never throws and never retries: every end is a value, and what it means for
 * a client is the caller's to say. Addresses come from settings only, never from a request. Called by the
 * clients of this folder.
 */
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';

/** What bounds one exchange. */
export interface FetchLimits {
  /** For the whole exchange. */
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
 * - `ok`: status 2xx, JSON, as the schema says;
 * - `refused`: any other status, also a redirect; `answer` is its JSON, `null` when it is none;
 * - `unreachable`: no connection, no answer in time, or one that broke off;
 * - `malformed`: 2xx, but too large, not JSON, or not as the schema says.
 * `reason` is for the log, not for a client.
 */
export type FetchResult<Value> =
  | { readonly kind: 'ok'; readonly value: Value }
  | { readonly kind: 'refused'; readonly status: number; readonly answer: unknown }
  | { readonly kind: 'unreachable'; readonly reason: string }
  | { readonly kind: 'malformed'; readonly reason: string };

/** A service's answer, read whole. `text` is `null` when it is over the cap. */
export interface FetchedText {
  readonly status: number;
  readonly contentType: string;
  readonly text: string | null;
}

/** Asks for JSON. Settles within the time limit, always with a value. */
export const fetchJson = async <Schema extends TSchema>(
  schema: Schema,
  asking: FetchRequest,
): Promise<FetchResult<Static<Schema>>> => {
  const raw = await fetchBounded(asking.url, asking, {
    method: asking.method ?? 'GET',
    headers: { accept: 'application/json', ...asking.headers },
    ...(asking.body === undefined ? {} : { body: asking.body }),
  });
  return 'reason' in raw ? { kind: 'unreachable', reason: raw.reason } : toFetchResult(schema, raw);
};

/**
 * One exchange within its bounds, for libraries that bring their own request. Redirects come back as what
 * they are.
 */
export const fetchBounded = async (
  url: string,
  { timeLimitMs, answerBytesMax }: FetchLimits,
  request: RequestInit,
): Promise<FetchedText | { readonly reason: string }> => {
  const signal = AbortSignal.timeout(timeLimitMs);
  try {
    const response = await fetch(url, { ...request, redirect: 'manual', signal });
    const contentType = response.headers.get('content-type') ?? '';
    return { status: response.status, contentType, text: await readText(response, answerBytesMax) };
  } catch (error) {
    if (signal.aborted) return { reason: `no answer within ${timeLimitMs} ms` };
    const { cause } = error as { readonly cause?: unknown };
    return { reason: String(cause ?? error) };
  }
};

/** The body, or `null` once it is longer than `bytesMax`: the rest is left unread. */
const readText = async (response: Response, bytesMax: number): Promise<string | null> => {
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

/** `undefined` for what is no JSON. */
const parseJson = (text: string | null): unknown => {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

const compiledChecks = new WeakMap<TSchema, (value: unknown) => boolean>();

const matchesSchema = (schema: TSchema, value: unknown): boolean => {
  const known = compiledChecks.get(schema);
  if (known !== undefined) return known(value);
  const validator = Compile(schema);
  const check = (candidate: unknown): boolean => validator.Check(candidate);
  compiledChecks.set(schema, check);
  return check(value);
};

const toFetchResult = <Schema extends TSchema>(
  schema: Schema,
  raw: FetchedText,
): FetchResult<Static<Schema>> => {
  const value = parseJson(raw.text);
  if (raw.status < 200 || raw.status > 299) {
    return { kind: 'refused', status: raw.status, answer: value ?? null };
  }
  if (raw.text === null) return { kind: 'malformed', reason: 'the answer is too large' };
  if (value === undefined) return { kind: 'malformed', reason: 'the answer is not JSON' };
  // The check has just said that it is this.
  return matchesSchema(schema, value)
    ? { kind: 'ok', value: value as Static<Schema> }
    : { kind: 'malformed', reason: 'the answer is not of the expected shape' };
};
