/**
 * Renders a handler's reply as a body and header lines: content type, caching, ETag, CORS, rate limits.
 *
 * All header lines of a reply form one text, because writing each header separately costs time on the hot
 * path. Therefore every header value that a handler sets is checked for line breaks here. Pure.
 *
 * An entity tag is the first 120 bits of the SHA-1 of the body: it identifies content and has no security
 * purpose.
 */
import { hash } from 'node:crypto';
import type { WireReply } from '../server/exchange.ts';
import type { Cors } from './cors.ts';
import type { ErrorReply } from './errors.ts';
import type { Reply } from './reply.ts';

/** Returns a strong tag, in quotes. */
const computeEtag = (body: string | Uint8Array): string => `"${hash('sha1', body, 'base64').slice(0, 20)}"`;

/** What proxies add to a tag of ours, inside its quotes or after them: `-gzip`, `;br`, `--gzip`. */
const proxySuffix = /^"?(?:[-;:.]{1,2}\w[\w.-]*"?)?$/;

/**
 * Whether an `If-None-Match` value names this tag; weak comparison, as for GET. A tag of ours with the suffix
 * of a proxy is that tag: no other tag begins with it.
 */
const matchesEtag = (ifNoneMatch: string, etag: string): boolean => {
  const start = etag.slice(0, -1);
  const isOurs = (candidate: string): boolean => {
    const tag = candidate.trim().replace(/^W\//i, '');
    return tag.startsWith(start) && proxySuffix.test(tag.slice(start.length));
  };
  return ifNoneMatch === '*' || ifNoneMatch.split(',', 64).some(isOurs);
};

/** How a reply may be cached: `no-store` with a token, else `no-cache` + ETag, or `max-age` for lists. */
export type Caching = 'no-store' | 'entity' | 'list';

/** The properties of the request that shape the reply. */
export interface ReplyContext {
  readonly isRead: boolean;
  readonly caching: Caching;
  /** A token was accepted, or the request changes a counter: the reply must not be cached. */
  readonly isPrivate: boolean;
  readonly ifNoneMatch: string;
  readonly origin: string;
  readonly cors: Cors;
  readonly limitLines: string;
  readonly close: boolean;
}

const jsonLine = '\r\nContent-Type: application/json';
const noStoreLine = '\r\nCache-Control: no-store';
const cacheLines: Record<Caching, string> = {
  'no-store': noStoreLine,
  entity: '\r\nCache-Control: no-cache',
  list: '\r\nCache-Control: max-age=2',
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this rejects.
const unsafeCharacters = /[\u0000-\u001f\u007f]/;

interface RenderedHeaders {
  readonly lines: string;
  readonly hasContentType: boolean;
}

/** Of header objects, which may be reused. */
const renderedHeaders = new WeakMap<object, RenderedHeaders>();
const noHeaders: RenderedHeaders = { lines: '', hasContentType: false };

const renderHeaders = (headers: Reply['headers']): RenderedHeaders => {
  if (headers === undefined) return noHeaders;
  const known = renderedHeaders.get(headers);
  if (known !== undefined) return known;
  const rendered = checkAndRender(headers);
  renderedHeaders.set(headers, rendered);
  return rendered;
};

const checkAndRender = (headers: Readonly<Record<string, string>>): RenderedHeaders => {
  let lines = '';
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[A-Za-z-]+$/.test(name) || unsafeCharacters.test(value))
      throw new Error(`unsafe reply header ${name}`);
    lines += `\r\n${name}: ${value}`;
  }
  const hasContentType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return { lines, hasContentType };
};

const toBody = (reply: Reply): string | Uint8Array | null => {
  if (reply.text !== undefined) return reply.text;
  if (reply.bytes !== undefined) return reply.bytes;
  return reply.json === undefined ? null : JSON.stringify(reply.json);
};

const getEtag = (reply: Reply, body: string | Uint8Array): string => {
  if (reply.tag === undefined) return computeEtag(body);
  if (reply.tag.etag === '') reply.tag.etag = computeEtag(body);
  return reply.tag.etag;
};

/** Returns the cache header lines, and the tag of a reply that may be revalidated. */
const decideCaching = (context: ReplyContext, reply: Reply, body: string | Uint8Array | null) => {
  if (reply.headers !== undefined && 'Cache-Control' in reply.headers) {
    if (reply.tag === undefined || body === null) return { lines: '', etag: '' };
    const etag = getEtag(reply, body);
    return { lines: `\r\nETag: ${etag}`, etag };
  }
  if (!context.isRead || context.isPrivate || context.caching === 'no-store' || reply.status !== 200) {
    return { lines: noStoreLine, etag: '' };
  }
  // Bytes have a tag only if it is computed once: they may be a megabyte.
  if (body === null || (typeof body !== 'string' && reply.tag === undefined))
    return { lines: cacheLines[context.caching], etag: '' };
  const etag = getEtag(reply, body);
  return { lines: `${cacheLines[context.caching]}\r\nETag: ${etag}`, etag };
};

const chooseCorsLines = ({ cors, origin }: { cors: Cors; origin: string }, noStore: boolean): string => {
  if (origin !== '') return cors.lines;
  return noStore ? cors.briefLines : cors.cacheLines;
};

/** Renders a handler's reply. Throws when a header is not safe to write. */
export const renderReply = (context: ReplyContext, reply: Reply): WireReply => {
  const body = toBody(reply);
  const caching = decideCaching(context, reply, body);
  const own = renderHeaders(reply.headers);
  const common =
    caching.lines + context.limitLines + chooseCorsLines(context, caching.lines === noStoreLine) + own.lines;
  const { close } = context;
  if (caching.etag !== '' && context.ifNoneMatch !== '' && matchesEtag(context.ifNoneMatch, caching.etag)) {
    return { status: 304, headers: common, body: null, close };
  }
  const empty = body === null && reply.stream === undefined && reply.push === undefined;
  const headers = empty || own.hasContentType ? common : jsonLine + common;
  if (reply.stream !== undefined)
    return { status: reply.status, headers, body: null, stream: reply.stream, close };
  const wire = { status: reply.status, headers, body, close };
  return reply.push === undefined ? wire : { ...wire, push: reply.push };
};

/** Renders the reply of an error, with the header lines it carries. */
export const renderErrorReply = (
  context: Pick<ReplyContext, 'origin' | 'cors' | 'close'>,
  error: Pick<ErrorReply, 'status' | 'text' | 'headers'>,
): WireReply => ({
  status: error.status,
  headers: jsonLine + noStoreLine + error.headers + chooseCorsLines(context, true),
  body: error.text,
  close: context.close,
});
