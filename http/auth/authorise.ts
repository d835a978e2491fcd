/**
 * What a caller may do, by the words of a row's `auth`.
 *
 * Two steps, in the order of checks (docs/behaviour.md): `admitCaller` needs only the token and the path
 * (kind, ban, path user, limits); `authorise` needs the body or the catalogue, so it comes after validation,
 * and answers 404 before 403. Anything not allowed in words is refused. Called by dispatch.ts.
 */
import { DomainError } from '../../engine/errors.ts';
import { isEntityKind } from '../../engine/ids.ts';
import { includesPermission, type Permission } from '../../engine/rules/permissions.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import type { Auth, Caller, TeamInBody } from '../route.ts';
import type { PermissionSource, StoredSession } from './ports.ts';

type EntityAuth = Extract<Auth, { kind: 'entity' }>;
type OwnerAuth = Extract<Auth, { kind: 'owner' }>;
type Params = Readonly<Record<string, string>>;

const listAcceptedKinds = (auth: Auth): readonly TokenKind[] => {
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
/** What every refusal for want of a permission says, here and where SQL alone can tell. */
export const createPermissionError = (permission: Permission): DomainError =>
  new DomainError('permission_missing', `This needs the permission ${permission}.`, { permission });

/** The kind of entity a row acts on: named in the row, or in the path. */
const findEntityKind = (auth: EntityAuth, params: Params): string =>
  auth.type.startsWith('=') ? auth.type.slice(1) : (params[auth.type] ?? '');

/**
 * Kind, ban, path user and limits. Throws 401 `token_kind_unsupported`, or 403 `banned`, `user_mismatch`,
 * `forbidden`, `permission_missing`.
 */
export const admitCaller = (
  auth: Auth,
  session: StoredSession,
  rest: { readonly params: Params; readonly bannedAllowed: boolean },
): void => {
  const kinds = listAcceptedKinds(auth);
  if (!kinds.includes(session.kind)) {
    const words = kinds.join(', ');
    throw new DomainError(
      'token_kind_unsupported',
      `A ${session.kind} token cannot do this; accepted: ${words}.`,
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
  if (
    'permission' in auth &&
    session.limits.length > 0 &&
    !includesPermission(session.limits, auth.permission)
  ) {
    throw createPermissionError(auth.permission);
  }
  if (auth.kind === 'entity' && auth.into !== undefined && session.limits.length > 0) {
    if (!includesPermission(session.limits, auth.into.permission))
      throw createPermissionError(auth.into.permission);
  }
};

/** What a caller is about to do. */
export interface AccessRequest {
  readonly caller: Caller;
  readonly params: Params;
  /** Checked by the row's schema. */
  readonly body: unknown;
}

/** An entity's own token, or a user on himself: no look-up is needed. */
const isActingOnItself = (auth: EntityAuth, caller: Caller, params: Params): boolean =>
  caller.kind === findEntityKind(auth, params) && caller.id === params[auth.id];

/** The user whom the row excepts, with a session that is not limited. */
const isExempt = (auth: EntityAuth, caller: Caller, params: Params): boolean =>
  auth.unless !== undefined &&
  caller.kind === 'user' &&
  caller.limits.length === 0 &&
  params[auth.unless] === caller.id;

/** The id of the team that the body names; `''` when it names none. */
const findTeamId = (body: unknown, field: string): string => {
  const id = (body as Readonly<Record<string, unknown>> | undefined)?.[field];
  return typeof id === 'string' ? id : '';
};

/** The permission in the team that the body names. Rejects with `not_found` or `permission_missing`. */
const authoriseTeam = async (
  source: PermissionSource,
  { field, permission }: TeamInBody,
  { caller, body }: AccessRequest,
): Promise<void> => {
  const access = await source.findAccess('team', findTeamId(body, field), caller.id);
  if (access === null) throw new DomainError('not_found', 'There is no such team.');
  if (!includesPermission(access.permissions, permission)) throw createPermissionError(permission);
};

const authoriseOwner = (
  source: PermissionSource,
  auth: OwnerAuth,
  deed: AccessRequest,
): Promise<void> | null => {
  const { caller, body } = deed;
  const teamId = findTeamId(body, auth.field);
  if (caller.kind === 'team') {
    if (teamId !== '' && teamId !== caller.id) throw createOtherTeamError();
    return null;
  }
  if (teamId !== '') return authoriseTeam(source, auth, deed);
  if (caller.limits.length > 0) throw createLimitedSessionError();
  return null;
};

const authoriseEntity = async (
  source: PermissionSource,
  auth: EntityAuth,
  deed: AccessRequest,
): Promise<void> => {
  const { caller, params } = deed;
  const kind = findEntityKind(auth, params);
  const id = params[auth.id] ?? '';
  if (!isEntityKind(kind)) throw new DomainError('target_type_unsupported', `"${kind}" cannot be used here.`);
  const access = await source.findAccess(kind, id, caller.kind === 'user' ? caller.id : '');
  if (access === null) throw new DomainError('not_found', `There is no such ${kind}.`);
  if (caller.kind === 'team' && access.teamId === caller.id) return;
  if (isExempt(auth, caller, params)) return;
  if (!includesPermission(access.permissions, auth.permission)) throw createPermissionError(auth.permission);
  if (auth.into !== undefined) await authoriseTeam(source, auth.into, deed);
};

/**
 * What remains when the request itself is in order: permissions on the entity in the path and in a team that
 * the body names. Limits were checked before. `null` when there is nothing to wait for, for example when the
 * caller is that entity. Throws or rejects with 404 `not_found`, 403 `permission_missing` or `forbidden`.
 */
export const authorise = (
  source: PermissionSource,
  auth: Auth,
  deed: AccessRequest,
): Promise<void> | null => {
  if (auth.kind === 'owner') return authoriseOwner(source, auth, deed);
  if (auth.kind !== 'entity' || isActingOnItself(auth, deed.caller, deed.params)) return null;
  return authoriseEntity(source, auth, deed);
};
