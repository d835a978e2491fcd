/**
 * What a caller may do, by the words of a row's `auth`.
 *
 * Two steps, in the order of checks (docs/behaviour.md): `admitCaller` needs only the token and the path
 * (kind, ban, path user, limits); `authoriseEntity` needs the catalogue, so it comes after validation, and
 * answers 404 before 403. Anything not allowed in words is refused. Called by dispatch.ts.
 */
import { DomainError } from '../../engine/errors.ts';
import { isEntityKind } from '../../engine/ids.ts';
import { holds, type Permission } from '../../engine/rules/permissions.ts';
import type { TokenKind } from '../../engine/rules/token.ts';
import type { Auth, Caller } from '../route.ts';
import type { PermissionSource, SessionRecord } from './ports.ts';

type EntityAuth = Extract<Auth, { word: 'entity' }>;
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
    case 'entity':
      return auth.kinds;
  }
};

const otherUser = (): DomainError =>
  new DomainError('user_mismatch', 'The token belongs to another user than the one in the path.');
const needsUnlimited = (): DomainError =>
  new DomainError('forbidden', 'This session is limited to some permissions; this needs an unlimited one.');
const missing = (permission: Permission): DomainError =>
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
  if (auth.word === 'entity' && kindOf(auth, rest.params) === 'user') {
    if (session.kind !== 'user' || rest.params[auth.id] !== session.id) throw otherUser();
  }
  if ((auth.word === 'user' || auth.word === 'self') && session.limits.length > 0) throw needsUnlimited();
  if (auth.word === 'entity' && session.limits.length > 0 && !holds(session.limits, auth.permission)) {
    throw missing(auth.permission);
  }
};

/** An entity's own token, or a user on himself: no look-up is needed. */
const actsOnItself = (auth: EntityAuth, caller: Caller, params: Params): boolean =>
  caller.kind === kindOf(auth, params) && caller.id === params[auth.id];

/** The user whom the row excepts, with a session that is not limited. */
const isExcepted = (auth: EntityAuth, caller: Caller, params: Params): boolean =>
  auth.unless !== undefined &&
  caller.kind === 'user' &&
  caller.limits.length === 0 &&
  params[auth.unless] === caller.id;

const lookUp = async (
  source: PermissionSource,
  auth: EntityAuth,
  who: { readonly caller: Caller; readonly params: Params },
): Promise<void> => {
  const kind = kindOf(auth, who.params);
  const id = who.params[auth.id] ?? '';
  if (!isEntityKind(kind)) throw new DomainError('target_type_unsupported', `"${kind}" cannot be used here.`);
  const { caller } = who;
  const standing = await source.permissionsOn(kind, id, caller.kind === 'user' ? caller.id : '');
  if (standing === null) throw new DomainError('not_found', `There is no such ${kind}.`);
  if (caller.kind === 'team' && standing.teamId === caller.id) return;
  if (isExcepted(auth, caller, who.params)) return;
  if (!holds(standing.permissions, auth.permission)) throw missing(auth.permission);
};

/**
 * The permission on the entity in the path; limits were checked before. Nothing to wait for when the caller
 * is that entity. Rejects with 404 `not_found` or 403 `permission_missing`.
 */
export const authoriseEntity = (
  source: PermissionSource,
  auth: EntityAuth,
  who: { readonly caller: Caller; readonly params: Params },
): Promise<void> | null => (actsOnItself(auth, who.caller, who.params) ? null : lookUp(source, auth, who));
