/**
 * What a caller may do, by the words of a row's `auth`.
 *
 * Two steps, in the order of checks (docs/behaviour.md): `admitCaller` needs only the token and the path
 * (kind, ban, path user, limits); `authorise` needs the body or the catalogue, so it comes after validation,
 * and answers 404 before 403. Anything not allowed in words is refused. Called by dispatch.ts.
 */
import { DomainError } from '../../engine/errors.ts';
import { isEntityKind } from '../../engine/ids.ts';
import { holds, type Permission } from '../../engine/rules/permissions.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import type { Auth, Caller, TeamInBody } from '../route.ts';
import type { PermissionSource, SessionRecord } from './ports.ts';

type EntityAuth = Extract<Auth, { word: 'entity' }>;
type OwnerAuth = Extract<Auth, { word: 'owner' }>;
type Params = Readonly<Record<string, string>>;

const acceptedKinds = (auth: Auth): readonly TokenKind[] => {
  switch (auth.word) {
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

const otherUser = (): DomainError =>
  new DomainError('user_mismatch', 'The token belongs to another user than the one in the path.');
const needsUnlimited = (): DomainError =>
  new DomainError('forbidden', 'This session is limited to some permissions; this needs an unlimited one.');
const foreignTeam = (): DomainError =>
  new DomainError('forbidden', 'A team token makes things for its own team only.');
/** What every refusal for want of a permission says, here and where SQL alone can tell. */
export const permissionMissing = (permission: Permission): DomainError =>
  new DomainError('permission_missing', `This needs the permission ${permission}.`, { permission });

/** The kind of entity a row acts on: named in the row, or in the path. */
const kindOf = (auth: EntityAuth, params: Params): string =>
  auth.type.startsWith('=') ? auth.type.slice(1) : (params[auth.type] ?? '');

/**
 * Kind, ban, path user and limits. Throws 401 `token_kind_unsupported`, or 403 `banned`, `user_mismatch`,
 * `forbidden`, `permission_missing`.
 */
export const admitCaller = (
  auth: Auth,
  session: SessionRecord,
  rest: { readonly params: Params; readonly bannedAllowed: boolean },
): void => {
  const kinds = acceptedKinds(auth);
  if (!kinds.includes(session.kind)) {
    const words = kinds.join(', ');
    throw new DomainError(
      'token_kind_unsupported',
      `A ${session.kind} token cannot do this; accepted: ${words}.`,
    );
  }
  if (session.banned && !rest.bannedAllowed) throw new DomainError('banned', 'This user is banned.');
  if (auth.word === 'self' && rest.params[auth.user] !== session.id) throw otherUser();
  if (auth.word === 'entity' && auth.user !== undefined && rest.params[auth.user] !== session.id) {
    throw otherUser();
  }
  if (auth.word === 'entity' && kindOf(auth, rest.params) === 'user') {
    if (session.kind !== 'user' || rest.params[auth.id] !== session.id) throw otherUser();
  }
  if ((auth.word === 'user' || auth.word === 'self') && session.limits.length > 0) throw needsUnlimited();
  if ('permission' in auth && session.limits.length > 0 && !holds(session.limits, auth.permission)) {
    throw permissionMissing(auth.permission);
  }
  if (auth.word === 'entity' && auth.into !== undefined && session.limits.length > 0) {
    if (!holds(session.limits, auth.into.permission)) throw permissionMissing(auth.into.permission);
  }
};

/** What a caller is about to do. */
export interface Deed {
  readonly caller: Caller;
  readonly params: Params;
  /** Checked by the row's schema. */
  readonly body: unknown;
}

/** An entity's own token, or a user on himself: no look-up is needed. */
const actsOnItself = (auth: EntityAuth, caller: Caller, params: Params): boolean =>
  caller.kind === kindOf(auth, params) && caller.id === params[auth.id];

/** The user whom the row excepts, with a session that is not limited. */
const isExcepted = (auth: EntityAuth, caller: Caller, params: Params): boolean =>
  auth.unless !== undefined &&
  caller.kind === 'user' &&
  caller.limits.length === 0 &&
  params[auth.unless] === caller.id;

/** The id of the team that the body names; `''` when it names none. */
const teamNamed = (body: unknown, field: string): string => {
  const id = (body as Readonly<Record<string, unknown>> | undefined)?.[field];
  return typeof id === 'string' ? id : '';
};

/** The permission in the team that the body names. Rejects with `not_found` or `permission_missing`. */
const authoriseTeam = async (
  source: PermissionSource,
  { field, permission }: TeamInBody,
  { caller, body }: Deed,
): Promise<void> => {
  const standing = await source.permissionsOn('team', teamNamed(body, field), caller.id);
  if (standing === null) throw new DomainError('not_found', 'There is no such team.');
  if (!holds(standing.permissions, permission)) throw permissionMissing(permission);
};

const authoriseOwner = (source: PermissionSource, auth: OwnerAuth, deed: Deed): Promise<void> | null => {
  const { caller, body } = deed;
  const teamId = teamNamed(body, auth.field);
  if (caller.kind === 'team') {
    if (teamId !== '' && teamId !== caller.id) throw foreignTeam();
    return null;
  }
  if (teamId !== '') return authoriseTeam(source, auth, deed);
  if (caller.limits.length > 0) throw needsUnlimited();
  return null;
};

const authoriseEntity = async (source: PermissionSource, auth: EntityAuth, deed: Deed): Promise<void> => {
  const { caller, params } = deed;
  const kind = kindOf(auth, params);
  const id = params[auth.id] ?? '';
  if (!isEntityKind(kind)) throw new DomainError('target_type_unsupported', `"${kind}" cannot be used here.`);
  const standing = await source.permissionsOn(kind, id, caller.kind === 'user' ? caller.id : '');
  if (standing === null) throw new DomainError('not_found', `There is no such ${kind}.`);
  if (caller.kind === 'team' && standing.teamId === caller.id) return;
  if (isExcepted(auth, caller, params)) return;
  if (!holds(standing.permissions, auth.permission)) throw permissionMissing(auth.permission);
  if (auth.into !== undefined) await authoriseTeam(source, auth.into, deed);
};

/**
 * What remains when the request itself is in order: permissions on the entity in the path and in a team that
 * the body names. Limits were checked before. `null` when there is nothing to wait for, for example when the
 * caller is that entity. Throws or rejects with 404 `not_found`, 403 `permission_missing` or `forbidden`.
 */
export const authorise = (source: PermissionSource, auth: Auth, deed: Deed): Promise<void> | null => {
  if (auth.word === 'owner') return authoriseOwner(source, auth, deed);
  if (auth.word !== 'entity' || actsOnItself(auth, deed.caller, deed.params)) return null;
  return authoriseEntity(source, auth, deed);
};
