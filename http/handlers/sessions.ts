/**
 * Sessions as clients list, mint, revoke and test them.
 *
 * A token exists only in the reply that hands it out: stored is its SHA-256. What a caller may give away is
 * judged by engine/rules/sessions.ts from what he holds on the entity.
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
import { createNotFoundError, parsePermissionIds, toTimestamp } from './convert.ts';

/** What a schema cannot say about the body. Throws `session_type_unsupported` or `validation_failed`. */
export const checkSessionBody = (body: SessionBody): void => {
  if (body.type !== 'api') {
    throw new DomainError('session_type_unsupported', 'Only sessions of the type "api" can be created.', {
      '/type': 'must be "api"',
    });
  }
  parsePermLimits(body.perm_limits);
};

const parsePermLimits = (words: readonly string[]): readonly Permission[] =>
  parsePermissionIds('/perm_limits', words);

const toSession = (row: SessionRow): Session => ({
  created_at: toTimestamp(row.created_at),
  expiry: toTimestamp(row.expiry),
  id: row.id,
  name: row.name,
  perm_limits: [...row.perm_limits],
  target_id: row.target_id,
  target_type: row.target_type,
  type: row.type,
});

/** `GET …/sessions`: metadata only. */
export const showSessions = async (app: App, target: SessionTarget): Promise<Reply> => {
  const rows = await app.catalogue.sessions.list(target);
  return replyOk({ sessions: rows.map(toSession) });
};

/** What the caller holds on the target: everything when he is it, or is the team that owns it. */
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
    throw new DomainError('permission_missing', `You cannot give away ${permission}.`, { permission });
  }
  if (verdict.kind === 'unlimited_refused') {
    const words = 'Only the owner may create an unlimited session: name the permissions in perm_limits.';
    throw new DomainError('permission_missing', words, { permission: 'owner' });
  }
};

/** `POST …/sessions`. The token is in this reply and nowhere else. */
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
    const words = `At most ${sessionsMax} API sessions per entity: revoke one first.`;
    throw new DomainError('limit_reached', words, { limit: String(sessionsMax) });
  }
  const reply: SessionCreated = { session_id: id, target_id: target.id, token };
  return replyCreated(reply);
};

/**
 * `DELETE …/sessions/{session_id}`: the token is dead here at once. A UUID is the same in upper and lower
 * case, for SQL and so for what this node keeps. Rejects with `not_found`.
 */
export const revokeSession = async (app: App, target: SessionTarget, word: string): Promise<Reply> => {
  const sessionId = word.toLowerCase();
  const removed = await app.catalogue.sessions.remove(target, sessionId);
  app.sessions.forget(sessionId);
  if (!removed) throw createNotFoundError('session');
  return replyMessage('Session revoked.', { session_id: sessionId });
};

/** The token without a kind word before it; `null` when that word contradicts the kind. */
const parseBareToken = (token: string, kind: TokenKind): string | null => {
  const match = /^(?:(user|bot|server|team)\s+)?(\S+)$/i.exec(token.trim());
  if (match === null) return null;
  const claimed = match[1]?.toLowerCase();
  return claimed === undefined || claimed === kind ? (match[2] ?? null) : null;
};

const findTestedSession = async (app: App, body: AuthTestBody): Promise<SessionOfToken | null> => {
  const token = parseBareToken(body.token, body.auth_type);
  if (token === null || parseToken(token) === null) return null;
  const session = await app.catalogue.sessions.byTokenHash(hash('sha256', token, 'buffer'));
  if (session === null || session.expiresAtMs <= app.clock.nowMs()) return null;
  return session.kind === body.auth_type && session.id === body.target_id ? session : null;
};

/** `POST /auth/test`: asks SQL itself, so a revoked token is told at once. */
export const testToken = async (app: App, body: AuthTestBody): Promise<Reply> => {
  const session = await findTestedSession(app, body);
  const reply: AuthTest = {
    authorized: session !== null,
    banned: session?.banned ?? false,
    data: session === null ? {} : { session_id: session.sessionId, perm_limits: [...session.limits] },
    id: body.target_id,
    target_type: body.auth_type,
  };
  return replyOk(reply);
};
