/**
 * Cross-origin rules of a listener. Any page may call the public one, without credentials: tokens travel in
 * headers and there are no cookies, so nothing is gained by naming origins. No page may read the private one.
 *
 * Pure text, made once. Used by dispatch.ts and reply.ts.
 */

const requestHeaders = [
  'Authorization',
  'User-Auth',
  'Bot-Auth',
  'Server-Auth',
  'Team-Auth',
  'Content-Type',
  'If-None-Match',
  'X-Request-Id',
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
];

/** What one listener says about other origins. Header lines, each beginning with CR LF. */
export interface Cors {
  /** Of a reply that no cache keeps, to a request without an `Origin`: no script gets it. */
  readonly briefLines: string;
  /** Of every other reply: a cache may hand it to a script, which then may read these headers too. */
  readonly lines: string;
  /** Of the answer to OPTIONS on a known path. */
  preflightLines(allow: string): string;
}

const allowOrigin = '\r\nAccess-Control-Allow-Origin: *';
const lines = `${allowOrigin}\r\nAccess-Control-Expose-Headers: ${exposedHeaders.join(', ')}`;

export const publicCors: Cors = {
  briefLines: allowOrigin,
  lines,
  preflightLines: (allow) =>
    `\r\nAllow: ${allow}${lines}\r\nAccess-Control-Allow-Methods: ${allow}` +
    `\r\nAccess-Control-Allow-Headers: ${requestHeaders.join(', ')}\r\nAccess-Control-Max-Age: 7200`,
};

/** Browsers then let only the listener's own pages read its replies. */
export const sameOriginOnly: Cors = {
  briefLines: '',
  lines: '',
  preflightLines: (allow) => `\r\nAllow: ${allow}`,
};
