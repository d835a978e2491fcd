/**
 * Cross-origin rules. Any page may call the service, without credentials: tokens travel in headers and there
 * are no cookies, so nothing is gained by naming origins. Pure text, used by dispatch.ts.
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
];

const exposed = exposedHeaders.join(', ');
const allowOrigin = '\r\nAccess-Control-Allow-Origin: *';
/** Header lines of a reply to a request that has an `Origin`. */
export const corsLines = `${allowOrigin}\r\nAccess-Control-Expose-Headers: ${exposed}`;

/** Header lines of the answer to OPTIONS on a known path. */
export const preflightLines = (allow: string): string =>
  `\r\nAllow: ${allow}${allowOrigin}\r\nAccess-Control-Allow-Methods: ${allow}` +
  `\r\nAccess-Control-Allow-Headers: ${requestHeaders.join(', ')}\r\nAccess-Control-Max-Age: 7200`;
