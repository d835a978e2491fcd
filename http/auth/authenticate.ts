/**
 * Turns a request's token into a caller, or says why not: missing, contradictory, unknown or expired, or
 * not the kind its header claims. Never decides what the caller may do: that is authorise.ts. Called by
 * dispatch.ts for every row that is not public.
 */
import { DomainError } from '../../engine/errors.ts';
import { parseToken } from '../../engine/rules/token.ts';
import type { RequestHeaders } from '../request-headers.ts';
import { type Presented, presentedToken } from './headers.ts';
import type { SessionRecord } from './ports.ts';
import type { SessionCache } from './sessions.ts';

const notKnown = 'The token is unknown, revoked or expired.';
/** Most who see it lost a character, or wrote "Bearer". It says only what the checksum tells anybody. */
const notWhole =
  'This is no whole token. Send it as it was given, first letter to last, and before it at most its kind.';

const admit = (record: SessionRecord | null, presented: Presented): SessionRecord => {
  if (record === null) {
    throw new DomainError('token_invalid', parseToken(presented.token) === null ? notWhole : notKnown);
  }
  if (presented.claim !== null && presented.claim !== record.kind) {
    throw new DomainError(
      'token_kind_unsupported',
      `This is a ${record.kind} token, but it was sent as a ${presented.claim} token.`,
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
): SessionRecord | Promise<SessionRecord> => {
  const presented = presentedToken(headers);
  if (presented.token === '') {
    throw new DomainError(
      'token_missing',
      'This operation needs a token, in the header "Authorization: <token>".',
    );
  }
  const found = sessions.find(presented.token);
  if (!(found instanceof Promise)) return admit(found, presented);
  return found.then((record) => admit(record, presented));
};
