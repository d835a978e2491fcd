/**
 * Finds out who is calling, and decides what they may do, by the `auth` of the route.
 *
 * Three steps, in the order of checks (docs/behaviour.md): `authenticate` turns the token into a session;
 * `admitCaller` needs only the session and the path (kind, ban, path user); `authorise` judges permissions,
 * those of a limited session too, so it runs after validation, and answers 404 before 403. Anything that is
 * not explicitly allowed is rejected.
 *
 * A token is read from the request's headers, in every form clients use: `Authorization: <Kind> <token>`, a
 * bare `Authorization: <token>`, and `User-Auth`, `Bot-Auth`, `Server-Auth`, `Team-Auth` with or without the
 * kind word. All headers present must agree.
 */
import { DomainError } from '../../engine/errors.ts';
import { isEntityKind } from '../../engine/ids.ts';
import { includesPermission, type Permission } from '../../engine/rules/permissions.ts';
import { parseToken, type TokenKind, tokenKinds } from '../../engine/rules/token.ts';
import type { SessionOfToken } from '../../storage/catalogue/people/sessions.ts';
import { requireFound } from '../response/errors.ts';
import type { RequestHeaders } from '../server/wire.ts';
import type { Auth, Caller, PermissionSource, TeamInBody } from './auth.ts';
import type { SessionCache } from './sessions.ts';

interface PresentedToken {
  /** `''` when no token was sent. */
  token: string;
  /** The kind that the header's name or its kind word claims; `null` when neither does. */
  claimedKind: TokenKind | null;
}

const findKindWord = (text: string): TokenKind | null => {
  const word = text.toLowerCase();
  return tokenKinds.find((kind) => kind === word) ?? null;
};

export const createTokensDisagreeError = (): DomainError =>
  new DomainError('tokens_disagree', 'The request carries more than one token. Send exactly one.');
const createKindsDisagreeError = (): DomainError =>
  new DomainError('token_kind_unsupported', 'The kind words of the token headers contradict each other.');

const takeClaimedKind = (token: PresentedToken, claim: TokenKind | null): void => {
  if (claim === null) return;
  if (token.claimedKind !== null && token.claimedKind !== claim) throw createKindsDisagreeError();
  token.claimedKind = claim;
};

const ascii = /^[\t -~]*$/;

/** Adds one header's value. Throws when it contradicts an earlier header, or has a byte that no token has. */
const takeToken = (presented: PresentedToken, value: string, headerKind: TokenKind | null): void => {
  // First: `trim` removes blanks beyond ASCII, too.
  if (!ascii.test(value)) throw new DomainError('token_invalid', malformedTokenMessage);
  const text = value.trim();
  const space = text.indexOf(' ');
  const wordKind = space === -1 ? null : findKindWord(text.slice(0, space));
  const token = wordKind === null ? text : text.slice(space + 1).trim();
  if (presented.token !== '' && presented.token !== token) throw createTokensDisagreeError();
  presented.token = token;
  takeClaimedKind(presented, headerKind);
  takeClaimedKind(presented, wordKind);
};

const bearerWord = /^ *bearer +/i;

/** Returns the one token of a request, behind the word `Bearer` where that is allowed. Throws a 401. */
export const parseTokenHeaders = (headers: RequestHeaders, bearer = false): PresentedToken => {
  const token: PresentedToken = { token: '', claimedKind: null };
  if (headers.authRepeated) throw createTokensDisagreeError();
  const authorization = bearer ? headers.authorization.replace(bearerWord, '') : headers.authorization;
  if (authorization !== '') takeToken(token, authorization, null);
  if (headers.userAuth !== '') takeToken(token, headers.userAuth, 'user');
  if (headers.botAuth !== '') takeToken(token, headers.botAuth, 'bot');
  if (headers.serverAuth !== '') takeToken(token, headers.serverAuth, 'server');
  if (headers.teamAuth !== '') takeToken(token, headers.teamAuth, 'team');
  return token;
};

type EntityAuth = Extract<Auth, { kind: 'entity' }>;
type OwnerAuth = Extract<Auth, { kind: 'owner' }>;
type Params = Readonly<Record<string, string>>;

const unknownTokenMessage = 'The token is unknown, revoked or expired.';
/** Usually a character is missing, or "Bearer" was added. The checksum, which is public, shows as much. */
const malformedTokenMessage =
  'The token is malformed. Send it exactly as issued, all of it, without "Bearer".';

const acceptSession = (record: SessionOfToken | null, token: PresentedToken): SessionOfToken => {
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
  sessions: Pick<SessionCache, 'find'>,
  headers: RequestHeaders,
  bearer = false,
): SessionOfToken | Promise<SessionOfToken> => {
  const token = parseTokenHeaders(headers, bearer);
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

/** The kinds of tokens that may call a route with this `auth`. */
export const listAcceptedKinds = (auth: Auth): readonly TokenKind[] => {
  switch (auth.kind) {
    case 'public':
      return [];
    case 'bot':
      return ['bot'];
    case 'user':
    case 'self':
      return ['user'];
    case 'kinds':
    case 'owner':
    case 'entity':
      return auth.kinds;
  }
};

const createOtherUserError = (): DomainError =>
  new DomainError('user_mismatch', 'The token belongs to another user than the one in the path.');
const createLimitedSessionError = (): DomainError =>
  new DomainError('forbidden', 'This session is limited to some permissions; this needs an unlimited one.');
const createOtherTeamError = (): DomainError =>
  new DomainError('forbidden', 'A team token makes things for its own team only.');
/** The error of a missing permission, also for handlers that learn of it only from SQL. */
export const createPermissionError = (permission: Permission): DomainError =>
  new DomainError('permission_missing', `This needs the permission ${permission}.`, { permission });

/** The kind of entity that a route acts on: fixed in the route, or named in the path. */
const findEntityKind = (auth: EntityAuth, params: Params): string =>
  auth.type.startsWith('=') ? auth.type.slice(1) : (params[auth.type] ?? '');

/**
 * Checks kind, ban, path user, and whether the session must be unlimited. Throws 401
 * `token_kind_unsupported`, or 403 `banned`, `user_mismatch`, `forbidden`.
 */
export const admitCaller = (
  auth: Auth,
  session: SessionOfToken,
  rest: { readonly params: Params; readonly bannedAllowed: boolean },
): void => {
  const kinds = listAcceptedKinds(auth);
  if (!kinds.includes(session.kind)) {
    throw new DomainError(
      'token_kind_unsupported',
      `A ${session.kind} token cannot do this; accepted: ${kinds.join(', ')}.`,
    );
  }
  if (session.banned && !rest.bannedAllowed) throw new DomainError('banned', 'This user is banned.');
  if (auth.kind === 'self' && rest.params[auth.user] !== session.id) throw createOtherUserError();
  if (auth.kind === 'entity' && auth.user !== undefined && rest.params[auth.user] !== session.id) {
    throw createOtherUserError();
  }
  if (auth.kind === 'entity' && findEntityKind(auth, rest.params) === 'user') {
    if (session.kind !== 'user' || rest.params[auth.id] !== session.id) throw createOtherUserError();
  }
  if ((auth.kind === 'user' || auth.kind === 'self') && session.limits.length > 0)
    throw createLimitedSessionError();
};

/** The request whose permission is checked. */
export interface AccessRequest {
  readonly caller: Caller;
  readonly params: Params;
  /** Already checked against the route's schema. */
  readonly body: unknown;
}

/** An entity's own token, or a user acting on themselves: needs no look-up. */
const isActingOnItself = (auth: EntityAuth, caller: Caller, params: Params): boolean =>
  caller.kind === findEntityKind(auth, params) && caller.id === params[auth.id];

/** The caller is the user whom the route exempts, with an unlimited session. */
const isExempt = (auth: EntityAuth, caller: Caller, params: Params): boolean =>
  auth.unless !== undefined &&
  caller.kind === 'user' &&
  caller.limits.length === 0 &&
  params[auth.unless] === caller.id;

/** The id of the team named in the body, `''` for none. */
const findTeamId = (body: unknown, field: string): string => {
  const id = (body as Readonly<Record<string, unknown>> | undefined)?.[field];
  return typeof id === 'string' ? id : '';
};

/** A limited session has only the permissions among its limits. Throws `permission_missing`. */
const checkLimits = ({ limits }: Caller, permission: Permission): void => {
  if (limits.length > 0 && !includesPermission(limits, permission)) throw createPermissionError(permission);
};

/** Checks the permission in the team named by the body. Rejects with `not_found` or `permission_missing`. */
const authoriseTeam = async (
  source: PermissionSource,
  { field, permission }: TeamInBody,
  { caller, body }: AccessRequest,
): Promise<void> => {
  const access = requireFound(await source.findAccess('team', findTeamId(body, field), caller.id), 'team');
  checkLimits(caller, permission);
  if (!includesPermission(access.permissions, permission)) throw createPermissionError(permission);
};

const authoriseOwner = (source: PermissionSource, auth: OwnerAuth, request: AccessRequest) => {
  const { caller, body } = request;
  const teamId = findTeamId(body, auth.field);
  if (caller.kind === 'team') {
    if (teamId !== '' && teamId !== caller.id) throw createOtherTeamError();
    checkLimits(caller, auth.permission);
    return null;
  }
  if (teamId !== '') return authoriseTeam(source, auth, request);
  checkLimits(caller, auth.permission);
  if (caller.limits.length > 0) throw createLimitedSessionError();
  return null;
};

const authoriseEntity = async (source: PermissionSource, auth: EntityAuth, request: AccessRequest) => {
  const { caller, params } = request;
  const kind = findEntityKind(auth, params);
  const id = params[auth.id] ?? '';
  if (!isEntityKind(kind)) throw new DomainError('target_type_unsupported', `"${kind}" cannot be used here.`);
  const userId = caller.kind === 'user' ? caller.id : '';
  const access = requireFound(await source.findAccess(kind, id, userId), kind);
  if (isExempt(auth, caller, params)) return;
  checkLimits(caller, auth.permission);
  if (caller.kind === 'team' && access.teamId === caller.id) return;
  if (!includesPermission(access.permissions, auth.permission)) throw createPermissionError(auth.permission);
  if (auth.into !== undefined) await authoriseTeam(source, auth.into, request);
};

/**
 * Checks permissions of a valid request: on the entity in the path, and in a team that the body names; the
 * limits of the session count. Returns `null` when there is nothing to wait for, for example when the caller
 * is that entity. Throws or rejects with 404 `not_found`, 403 `permission_missing` or `forbidden`.
 */
export const authorise = (
  source: PermissionSource,
  auth: Auth,
  request: AccessRequest,
): Promise<void> | null => {
  if (auth.kind === 'owner') return authoriseOwner(source, auth, request);
  if (auth.kind !== 'entity' && auth.kind !== 'kinds') return null;
  const { caller, params } = request;
  if (auth.kind === 'entity' && !isActingOnItself(auth, caller, params))
    return authoriseEntity(source, auth, request);
  checkLimits(caller, auth.permission);
  return null;
};

/** Returns the caller of a route that is not public. Throws a plain `Error` on a public route: a bug. */
export const requireCaller = (request: { readonly caller: Caller | null }): Caller => {
  if (request.caller === null) throw new Error('this route must not be public');
  return request.caller;
};
