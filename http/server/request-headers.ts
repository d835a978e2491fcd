/**
 * The request headers the facade reads, gathered in one pass.
 *
 * Owns which headers matter and what makes a request's framing suspect. It never decides what to answer:
 * `framingFault` is words for a 400, and the server closes the connection. All duplicates are seen here,
 * because the parser below hands out only one of them. Called by server.ts for every request.
 */

const digits = /^[0-9]{1,15}$/;

/** One object per request, all fields set in one order so that the shape stays the same. */
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
  /** Words that say why the body's end cannot be trusted, `''` when it can. */
  framingFault = '';
  /** One at most: the parser below refuses a second. */
  host = '';
  requestId = '';
  ifNoneMatch = '';
  origin = '';
  forwardedFor = '';
  acceptEncoding = '';
  userAgent = '';
}

type AuthField = 'authorization' | 'userAuth' | 'botAuth' | 'serverAuth' | 'teamAuth';

const takeAuth = (headers: RequestHeaders, field: AuthField, value: string): void => {
  if (headers[field] !== '' && headers[field] !== value) headers.authRepeated = true;
  headers[field] = value;
};

const takeLength = (headers: RequestHeaders, value: string): void => {
  if (headers.contentLength !== -1) headers.framingFault = 'Content-Length is given twice.';
  else if (!digits.test(value)) headers.framingFault = 'Content-Length is not a number.';
  else headers.contentLength = Number(value);
  if (headers.chunked) headers.framingFault = 'Content-Length and Transfer-Encoding exclude each other.';
};

const takeCoding = (headers: RequestHeaders, value: string): void => {
  if (headers.chunked) headers.framingFault = 'Transfer-Encoding is given twice.';
  else if (value.toLowerCase() !== 'chunked')
    headers.framingFault = 'Only the plain coding "chunked" is read.';
  if (headers.contentLength !== -1) {
    headers.framingFault = 'Content-Length and Transfer-Encoding exclude each other.';
  }
  headers.chunked = true;
};

/** Takes one header in; `name` is in lower case. Unknown ones are dropped. */
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
      headers.contentEncoding = value;
      return;
    case 'host':
      headers.host = value;
      return;
    case 'x-request-id':
      headers.requestId = value;
      return;
    case 'if-none-match':
      headers.ifNoneMatch = value;
      return;
    case 'origin':
      headers.origin = value;
      return;
    case 'x-forwarded-for':
      headers.forwardedFor = headers.forwardedFor === '' ? value : `${headers.forwardedFor},${value}`;
      return;
    case 'accept-encoding':
      headers.acceptEncoding = value;
      return;
    case 'user-agent':
      headers.userAgent = value;
      return;
  }
};
