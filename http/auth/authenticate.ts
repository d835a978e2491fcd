/**
 * Turns a request's token into a caller, or says why not: missing, contradictory, unknown or expired, or
 * not the kind its header claims. Never decides what the caller may do: that is authorise.ts. Called by
 * dispatch.ts for every row that is not public.
 */
import { DomainError } from '../../engine/errors.ts';
import { parseToken } from '../../engine/rules/token.ts';
import type { RequestHeaders } from '../server/request-headers.ts';
import type { StoredSession } from './ports.ts';
import type { SessionCache } from './sessions.ts';
import { type PresentedToken, parseTokenHeaders } from './token-headers.ts';

const unknownTokenMessage = 'The token is unknown, revoked or expired.';
/** Most who see it lost a character, or wrote "Bearer". It says only what the checksum tells anybody. */
const malformedTokenMessage =
  'This is no whole token. Send it as it was given, first letter to last, and before it at most its kind.';

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
 * The caller's session, at once when it is cached. Throws or rejects with a 401, or a 503 when SQL is away.
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
  const found = sessions.find(token.token);
  if (!(found instanceof Promise)) return acceptSession(found, token);
  return found.then((record) => acceptSession(record, token));
};
