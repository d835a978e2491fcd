/**
 * Turns a request's token into a session, or throws why not: the token is missing, contradictory, unknown or
 * expired, or not of the kind its header claims. authorise.ts decides what the caller may do. Called by
 * dispatch.ts for every route that is not public.
 */
import { DomainError } from '../../engine/errors.ts';
import { parseToken } from '../../engine/rules/token.ts';
import type { RequestHeaders } from '../server/request-headers.ts';
import type { StoredSession } from './ports.ts';
import type { SessionCache } from './sessions.ts';
import { type PresentedToken, parseTokenHeaders } from './token-headers.ts';

const unknownTokenMessage = 'The token is unknown, revoked or expired.';
/** Usually a character is missing, or "Bearer" was added. The checksum, which is public, shows as much. */
const malformedTokenMessage =
  'The token is malformed. Send it exactly as issued, with nothing but its kind before it.';

const acceptSession = (record: StoredSession | null, token: PresentedToken): StoredSession => {
  if (record === null) {
    throw new DomainError(
      'token_invalid',
      parseToken(token.token) === null ? malformedTokenMessage : unknownTokenMessage,
    );
  }
  if (token.claimedKind !== null && token.claimedKind !== record.kind) {
    throw new DomainError(
      'token_kind_unsupported',
      `This is a ${record.kind} token, but it was sent as a ${token.claimedKind} token.`,
    );
  }
  return record;
};

/**
 * Returns the caller's session, synchronously when it is cached. Throws or rejects with a 401, or with a 503
 * when SQL is unreachable.
 */
export const authenticate = (
  sessions: SessionCache,
  headers: RequestHeaders,
): StoredSession | Promise<StoredSession> => {
  const token = parseTokenHeaders(headers);
  if (token.token === '') {
    throw new DomainError(
      'token_missing',
      'This operation needs a token, in the header "Authorization: <token>".',
    );
  }
  const session = sessions.find(token.token);
  if (!(session instanceof Promise)) return acceptSession(session, token);
  return session.then((record) => acceptSession(record, token));
};
