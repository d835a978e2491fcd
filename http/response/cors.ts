/**
 * Cross-origin (CORS) rules of a listener. Any page may call the public listener, without credentials: tokens
 * travel in headers and there are no cookies, so a list of origins would add no security. No page of another
 * origin may read the private listener.
 *
 * Constant text, built once; only the reply to a preflight repeats what that requested.
 */

const requestHeaders = [
  'Authorization',
  'User-Auth',
  'Bot-Auth',
  'Server-Auth',
  'Team-Auth',
  'Content-Type',
  'If-None-Match',
  'Last-Event-ID',
  'X-Request-Id',
  'Idempotency-Key',
  'X-Vote-Proof',
  'traceparent',
  'tracestate',
  'baggage',
];
const exposedHeaders = [
  'X-Session-Invalid',
  'Retry-After',
  'ETag',
  'X-Request-Id',
  'RateLimit',
  'RateLimit-Policy',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Idempotency-Replayed',
  'X-Listing-Hints',
];

/** The CORS header lines of one listener, each beginning with CR LF. */
export interface Cors {
  /** For a reply that is not cached, to a request without an `Origin`: no script will read it. */
  readonly briefLines: string;
  /** For a reply that a cache may later give to a script, to a request without an `Origin`. */
  readonly cacheLines: string;
  /** For every other reply: a script gets it, and may read these headers too. */
  readonly lines: string;
  /**
   * For the reply to OPTIONS on a known path. `requested` is what the request names as the headers to come
   * (`Access-Control-Request-Headers`).
   */
  preflightLines(allow: string, requested: string): string;
}

const allowOrigin = '\r\nAccess-Control-Allow-Origin: *';
const exposeLines = `${allowOrigin}\r\nAccess-Control-Expose-Headers: `;
const lines = exposeLines + exposedHeaders.join(', ');

/** A list of header names, short enough to be repeated. */
const headerNames = /^(?=.{1,1024}$)[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/;

/** Those that the API reads, and any other that the page will send: nothing reads it, so it does no harm. */
const allowHeaders = (requested: string): string =>
  headerNames.test(requested) ? `${requestHeaders.join(', ')}, ${requested}` : requestHeaders.join(', ');

export const publicCors: Cors = {
  briefLines: allowOrigin,
  // The others do not outlive the request: they stand in errors, or count one client's requests.
  cacheLines: `${exposeLines}ETag, X-Request-Id`,
  lines,
  preflightLines: (allow, requested) =>
    `\r\nAllow: ${allow}${lines}\r\nAccess-Control-Allow-Methods: ${allow}` +
    `\r\nAccess-Control-Allow-Headers: ${allowHeaders(requested)}\r\nAccess-Control-Max-Age: 7200`,
};

/** No CORS headers: browsers let only pages of the same origin read the replies. */
export const sameOriginOnly: Cors = {
  briefLines: '',
  cacheLines: '',
  lines: '',
  preflightLines: (allow) => `\r\nAllow: ${allow}`,
};
