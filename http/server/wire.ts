/**
 * What stands on the wire, as text: a request's headers that the facade reads, collected in one pass, bodies
 * in UTF-8, the lines of statuses, and the ids of requests that bring none.
 *
 * Owns which headers matter and which framing is suspect (request smuggling). It does not answer:
 * `framingFault` is the message of a 400, after which the server closes the connection. Duplicates are
 * detected here, because the parser's getters return only one of them.
 */
import { STATUS_CODES } from 'node:http';

const digits = /^[0-9]{1,15}$/;

/** One object per request. All fields are set in one order, so that V8 keeps one shape. */
export class RequestHeaders {
  authorization = '';
  userAuth = '';
  botAuth = '';
  serverAuth = '';
  teamAuth = '';
  /** The same auth header twice, with different values. */
  authRepeated = false;
  contentEncoding = '';
  /** -1 when absent. */
  contentLength = -1;
  chunked = false;
  /** Why the end of the body cannot be trusted, as a message; `''` when it can. */
  framingFault = '';
  /** How many `Connection` lines there are. The parser reads only the first one. */
  connectionLines = 0;
  /** The client asked to close the connection after the reply, in a form that the parser recognises, too. */
  closes = false;
  /** The client asked so in a list of options (`TE, close`) or in a later line; the parser reads neither. */
  closesInList = false;
  /** The `Host` header. The parser rejects a request with two of them. */
  host = '';
  requestId = '';
  ifNoneMatch = '';
  origin = '';
  forwardedFor = '';
  accept = '';
  userAgent = '';
  lastEventId = '';
  /** `null` when absent: an empty one is a fault. Several that differ are joined by line feeds. */
  idempotencyKey: string | null = null;
  traceparent = '';
  voteProof = '';
  fetchSite = '';
  /** The headers that a browser wants to send, of its preflight. */
  requestedHeaders = '';
  /** What the client will use the reply for: browsers that fetch ahead say `prefetch`. */
  purpose = '';
}

const closeInList = /(?:^|,)[ \t]*close[ \t]*(?:,|$)/i;

type AuthField = 'authorization' | 'userAuth' | 'botAuth' | 'serverAuth' | 'teamAuth';

const takeAuth = (headers: RequestHeaders, field: AuthField, value: string): void => {
  if (headers[field] !== '' && headers[field] !== value) headers.authRepeated = true;
  headers[field] = value;
};

/** Equal lines are one (RFC 9112, section 6.3). */
const takeLength = (headers: RequestHeaders, value: string): void => {
  if (headers.contentLength !== -1 && value !== String(headers.contentLength))
    headers.framingFault = 'Content-Length is given twice, with different values.';
  else if (!digits.test(value)) headers.framingFault = 'Content-Length is not a number.';
  else headers.contentLength = Number(value);
  if (headers.chunked) headers.framingFault = 'Content-Length and Transfer-Encoding exclude each other.';
};

const takeCoding = (headers: RequestHeaders, value: string): void => {
  if (headers.chunked) headers.framingFault = 'Transfer-Encoding is given twice.';
  else if (value.toLowerCase() !== 'chunked')
    headers.framingFault = 'Only the transfer coding "chunked" is supported.';
  if (headers.contentLength !== -1) {
    headers.framingFault = 'Content-Length and Transfer-Encoding exclude each other.';
  }
  headers.chunked = true;
};

/** Nearly all clients send one line, `keep-alive`. */
const takeConnection = (headers: RequestHeaders, value: string): void => {
  headers.connectionLines += 1;
  if (headers.connectionLines === 1 && value.toLowerCase() === 'close') headers.closes = true;
  else if (value !== 'keep-alive' && closeInList.test(value)) headers.closesInList = true;
};

/** Headers in which clients say that they fetch ahead. */
const purposeNames: ReadonlySet<string> = new Set(['sec-purpose', 'purpose', 'x-purpose', 'x-moz']);

const takeKey = (headers: RequestHeaders, value: string): void => {
  const { idempotencyKey: key } = headers;
  headers.idempotencyKey = key === null || key === value ? value : `${key}\n${value}`;
};

const takeRareHeader = (headers: RequestHeaders, name: string, value: string): void => {
  if (name === 'idempotency-key') takeKey(headers, value);
  else if (name === 'traceparent') headers.traceparent = value;
  else if (name === 'sec-fetch-site') headers.fetchSite = value;
  else if (name === 'x-vote-proof') headers.voteProof = value;
  else if (name === 'access-control-request-headers') headers.requestedHeaders = value;
  else if (purposeNames.has(name)) headers.purpose += value;
};

/** Several lines of one header are one list. */
const joinLines = (earlier: string, value: string): string =>
  earlier === '' ? value : `${earlier},${value}`;

/** Stores one header; `name` is in lower case. Unknown headers are ignored. */
export const takeHeader = (headers: RequestHeaders, name: string, value: string): void => {
  switch (name) {
    case 'authorization':
      takeAuth(headers, 'authorization', value);
      return;
    case 'user-auth':
      takeAuth(headers, 'userAuth', value);
      return;
    case 'bot-auth':
      takeAuth(headers, 'botAuth', value);
      return;
    case 'server-auth':
      takeAuth(headers, 'serverAuth', value);
      return;
    case 'team-auth':
      takeAuth(headers, 'teamAuth', value);
      return;
    case 'content-length':
      takeLength(headers, value);
      return;
    case 'transfer-encoding':
      takeCoding(headers, value);
      return;
    case 'content-encoding':
      headers.contentEncoding = joinLines(headers.contentEncoding, value);
      return;
    case 'connection':
      takeConnection(headers, value);
      return;
    case 'host':
      headers.host = value;
      return;
    case 'x-request-id':
      headers.requestId = value;
      return;
    case 'if-none-match':
      headers.ifNoneMatch = joinLines(headers.ifNoneMatch, value);
      return;
    case 'origin':
      headers.origin = value;
      return;
    case 'x-forwarded-for':
      headers.forwardedFor = joinLines(headers.forwardedFor, value);
      return;
    case 'accept':
      headers.accept = joinLines(headers.accept, value);
      return;
    case 'user-agent':
      headers.userAgent = value;
      return;
    case 'last-event-id':
      headers.lastEventId = value;
      return;
    default:
      takeRareHeader(headers, name, value);
  }
};

/** Checks and decodes in one call, in half the time of `isUtf8` and a `Buffer` (57 ns per stats post). */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** `null` when the bytes are not UTF-8. */
export const decodeText = (bytes: ArrayBuffer | Buffer): string | null => {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
};

/** By status: `404 Not Found`. */
export const statusLines: readonly string[] = Array.from(
  { length: 600 },
  (_, code) => `${code} ${STATUS_CODES[code] ?? ''}`,
);

/**
 * Tells clients when a connection ends. uWebSockets.js closes it after 8 to 12 s of silence, or when the
 * request says so, but announces neither, and a client might send its next request into the closing.
 */
const keepAliveLine = '\r\nKeep-Alive: timeout=7';
const closeLine = '\r\nConnection: close';

/**
 * The line of a reply's head about its connection, which closes after it if `closes`. A reply that is
 * written with one call announces a closing at its end. A stream or a large body ends without closing, which
 * would lose what waits in the library: its head asks the client to close.
 */
export const toConnectionLine = (headers: RequestHeaders, closes: boolean, endsOpen: boolean): string => {
  if (headers.closes) return closeLine;
  if (!closes) return keepAliveLine;
  return endsOpen ? closeLine : '';
};

/** The last two characters of request ids, base 36: only every 1,296th id formats a number. */
const endings: readonly string[] = Array.from({ length: 1_296 }, (_, index) =>
  index.toString(36).padStart(2, '0'),
);

export class RequestIds {
  readonly #prefix: string;
  #requests = 0;
  /** The current ids without their last two characters. */
  #start = '';

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  create(): string {
    const ending = this.#requests++ % endings.length;
    if (ending === 0) {
      const block = Math.floor(this.#requests / endings.length);
      this.#start = this.#prefix + block.toString(36).padStart(4, '0');
    }
    return this.#start + (endings[ending] as string);
  }
}
