/**
 * Lists, creates, revokes and tests sessions.
 *
 * A token exists only in the reply that returns it; the store has its SHA-256. engine/rules/sessions.ts
 * decides which permissions a caller may grant, from the permissions that they have on the entity.
 */
import { hash } from 'node:crypto';
import { DomainError } from '../../engine/errors.ts';
import { isEntityKind } from '../../engine/ids.ts';
import type { Permission } from '../../engine/rules/permissions.ts';
import { decideMinting } from '../../engine/rules/sessions.ts';
import { parseToken, type TokenKind } from '../../engine/rules/token.ts';
import type { SessionOfToken, SessionRow, SessionTarget } from '../../storage/catalogue/people/sessions.ts';
import { createPermissionError } from '../auth/authorise.ts';
import { mintToken } from '../auth/mint.ts';
import { type App, type Caller, type Reply, replyCreated, replyMessage, replyOk } from '../route.ts';
import type { AuthTest, AuthTestBody, Session, SessionBody, SessionCreated } from '../schema/sessions.ts';
import { createLimitError, createNotFoundError, parsePermissionIds, toTimestamp } from './convert.ts';

/** Checks what a schema cannot. Throws `session_type_unsupported` or `validation_failed`. */
export const checkSessionBody = (body: SessionBody): void => {
  if (body.type !== 'api') {
    throw new DomainError('session_type_unsupported', 'Only sessions of the type "api" can be created.', {
      '/type': 'must be "api"',
    });
  }
  parsePermLimits(body.perm_limits);
};

const parsePermLimits = (ids: readonly string[]): readonly Permission[] =>
  parsePermissionIds('/perm_limits', ids);

export const toSession = (row: SessionRow): Session => ({
  created_at: toTimestamp(row.created_at),
  expiry: toTimestamp(row.expiry),
  id: row.id,
  name: row.name,
  perm_limits: [...row.perm_limits],
  target_id: row.target_id,
  target_type: row.target_type,
  type: row.type,
});

/** `GET …/sessions`: without tokens. */
export const showSessions = async (app: App, target: SessionTarget): Promise<Reply> => {
  const rows = await app.catalogue.sessions.list(target);
  return replyOk({ sessions: rows.map(toSession) });
};

/** The caller's permissions on the target: `owner` if the caller is the target, or the team that owns it. */
const listGrantedPermissions = async (
  app: App,
  caller: Caller,
  target: SessionTarget,
): Promise<readonly string[]> => {
  if (caller.kind === target.kind && caller.id === target.id) return ['owner'];
  if (!isEntityKind(target.kind)) return [];
  const user = caller.kind === 'user' ? caller.id : '';
  const access = await app.catalogue.findAccess(target.kind, target.id, user);
  if (access === null) throw createNotFoundError(target.kind);
  if (caller.kind === 'team' && access.teamId === caller.id) return ['owner'];
  return access.permissions;
};

const checkMinting = (requested: readonly Permission[], granted: readonly string[], caller: Caller): void => {
  const verdict = decideMinting({ requested, granted, limits: caller.limits });
  if (verdict.kind === 'not_held') {
    const { permission } = verdict;
    throw new DomainError('permission_missing', `You cannot grant the permission ${permission}.`, {
      permission,
    });
  }
  if (verdict.kind === 'unlimited_refused') {
    const message = 'Only the owner may create an unlimited session: name the permissions in perm_limits.';
    throw new DomainError('permission_missing', message, { permission: 'owner' });
  }
};

/** `POST …/sessions`. Only this reply has the token. *Ledger* when it resolves. */
export const mintSession = async (
  app: App,
  request: { readonly caller: Caller; readonly body: SessionBody },
  target: SessionTarget,
): Promise<Reply> => {
  const { caller, body } = request;
  const permLimits = parsePermLimits(body.perm_limits);
  checkMinting(permLimits, await listGrantedPermissions(app, caller, target), caller);
  const { id, token, tokenHash } = mintToken(target);
  const session = {
    id,
    target,
    type: 'api',
    name: body.name,
    permLimits,
    tokenHash,
    lastsSeconds: body.expiry,
    mintedBy: caller.kind === 'user' ? caller.id : '',
    mintedWith: caller.kind === 'user' ? null : caller.sessionId,
  } as const;
  const sessionsMax = app.settings.sessionsPerEntityMax;
  const outcome = await app.catalogue.sessions.insert(session, sessionsMax);
  if (outcome === 'refused') throw createPermissionError('manage_sessions');
  if (outcome === 'limit_reached') {
    const message = `An entity has at most ${sessionsMax} API sessions. Revoke one first.`;
    throw createLimitError(message, sessionsMax);
  }
  return replyCreated<SessionCreated>({ session_id: id, target_id: target.id, token });
};

/**
 * `DELETE …/sessions/{session_id}`. When it resolves, this node refuses the token. The id is changed to lower
 * case, because the session cache compares it exactly and SQL does not. Rejects with `not_found`.
 */
export const revokeSession = async (app: App, target: SessionTarget, id: string): Promise<Reply> => {
  const sessionId = id.toLowerCase();
  const removed = await app.catalogue.sessions.remove(target, sessionId);
  app.sessions.forget(sessionId);
  if (!removed) throw createNotFoundError('session');
  return replyMessage('Session revoked.', { session_id: sessionId });
};

/** Strips a kind prefix from a token (`bot TOKEN`); `null` if the prefix names another kind. */
const parseBareToken = (token: string, kind: TokenKind): string | null => {
  const match = /^(?:(user|bot|server|team)\s+)?(\S+)$/i.exec(token.trim());
  if (match === null) return null;
  const prefix = match[1]?.toLowerCase();
  return prefix === undefined || prefix === kind ? (match[2] ?? null) : null;
};

const findTestedSession = async (app: App, body: AuthTestBody): Promise<SessionOfToken | null> => {
  const token = parseBareToken(body.token, body.auth_type);
  if (token === null || parseToken(token) === null) return null;
  const session = await app.catalogue.sessions.byTokenHash(hash('sha256', token, 'buffer'));
  if (session === null || session.expiresAtMs <= app.clock.nowMs()) return null;
  return session.kind === body.auth_type && session.id === body.target_id ? session : null;
};

/** `POST /auth/test`: reads SQL, not the session cache, so a revoked token is recognised at once. */
export const testToken = async (app: App, body: AuthTestBody): Promise<Reply> => {
  const session = await findTestedSession(app, body);
  return replyOk<AuthTest>({
    authorized: session !== null,
    banned: session?.banned ?? false,
    data: session === null ? {} : { session_id: session.sessionId, perm_limits: [...session.limits] },
    id: body.target_id,
    target_type: body.auth_type,
  });
};
