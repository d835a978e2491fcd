/**
 * Sessions (contract §2.10, §4.1): list, create and revoke them, and test a token. login.ts has the login.
 *
 * A token exists only in the reply that returns it; the store has its SHA-256. engine/rules/sessions.ts
 * decides which permissions a caller may grant, from the permissions that they have on the entity.
 */
import { hash } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import { DomainError } from '../../engine/errors.ts';
import { isEntityKind } from '../../engine/ids.ts';
import type { Permission } from '../../engine/rules/permissions.ts';
import { decideMinting } from '../../engine/rules/sessions.ts';
import { parseToken, type TokenKind, tokenKinds } from '../../engine/rules/token.ts';
import type {
  SessionOfToken,
  SessionOutcome,
  SessionRow,
  SessionTarget,
} from '../../storage/catalogue/people/sessions.ts';
import type { Once } from '../../storage/catalogue/shared/once.ts';
import type { App } from '../app.ts';
import { buildTargetAuth, type Caller } from '../auth/auth.ts';
import { createPermissionError, requireCaller } from '../auth/authorise.ts';
import { type MintedToken, mintToken } from '../auth/mint.ts';
import { createLimitError, createNotFoundError, requireFound } from '../response/errors.ts';
import { type Reply, replyCreated, replyMessage, replyOk, showRow } from '../response/reply.ts';
import { definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import {
  ApiResponse,
  buildFlag,
  buildName,
  buildPermissionIds,
  buildTargetParams,
  buildText,
  buildTextList,
  Timestamp,
  Uuid,
} from './shared/common.ts';
import { parsePermissionIds, toTarget } from './shared/convert.ts';
import { buildObject, describe, describeObject } from './shared/example.ts';
import { type KeyedRequest, markReplayed, readOnce, requireOutcome } from './shared/once.ts';

/** Ten years of 365 days. */
const sessionSecondsMax = 315_360_000;

export const SessionsParams = buildTargetParams(tokenKinds);

export const SessionParams = Type.Object({
  ...SessionsParams.properties,
  session_id: describe(Uuid, 'Id of the session, as the list of sessions shows it.'),
});

export const Session = describeObject(
  'What is known about a token, without the token.',
  {
    created_at: describe(Timestamp, 'When the session was created.'),
    expiry: describe(Timestamp, 'When its token stops working.'),
    id: describe(Uuid, 'Id of the session, to revoke it by.'),
    name: buildText('stats poster', 'Name that was given at creation, 1 to 64 characters.'),
    perm_limits: buildTextList('Ids of the permissions it is limited to; `[]`: unlimited.', []),
    target_id: buildText('815553000470478850', 'Id of the entity that its token acts for.'),
    target_type: buildText('bot', 'Kind of that entity: `user`, `bot`, `server` or `team`.'),
    type: buildText('api', '`login` (a user logged in) or `api` (created by `POST …/sessions`).'),
  },
  { expiry: '2027-03-01T12:00:00.000Z' },
);

export const Sessions = buildObject({
  sessions: describe(Type.Array(Session), 'The sessions of the entity.'),
});

export const SessionBody = buildObject(
  {
    expiry: Type.Integer({
      minimum: 1,
      maximum: sessionSecondsMax,
      description: 'How long the session lasts, in seconds: up to 315,360,000 (ten years).',
      examples: [31_536_000],
    }),
    name: buildName(64, 'Name by which you recognise it in the list, 1 to 64 characters.', 'stats poster'),
    perm_limits: buildPermissionIds(
      'Permission ids to which the session is limited. An empty list means unlimited; only the owner may ' +
        'create an unlimited session.',
      'view_sessions',
    ),
    type: buildText('api', 'Must be `api`.'),
  },
  { perm_limits: [] },
);
export type SessionBody = Static<typeof SessionBody>;

export const SessionCreated = buildObject({
  session_id: describe(Uuid, 'Id of the session, to revoke it by.'),
  target_id: buildText('815553000470478850', 'Id of the entity that the token acts for.'),
  token: buildText('<ACCESS_TOKEN>', 'The token. No other reply shows it.'),
});
export type SessionCreated = Static<typeof SessionCreated>;

export const AuthTestBody = buildObject({
  auth_type: Type.Enum([...tokenKinds], { description: 'The kind of token.', examples: ['bot'] }),
  target_id: Type.String({
    maxLength: 128,
    description: 'Id of the entity that the token should act for.',
    examples: ['815553000470478850'],
  }),
  token: Type.String({
    maxLength: 512,
    description: 'The token to test, with or without the kind in front (`Bot <token>`).',
    examples: ['<ACCESS_TOKEN>'],
  }),
});
export type AuthTestBody = Static<typeof AuthTestBody>;

export const AuthTest = buildObject(
  {
    authorized: buildFlag('Whether the token is valid now and acts for this entity.', true),
    banned: buildFlag('Whether the user behind the token is banned.'),
    data: Type.Record(Type.String(), Type.Unknown(), {
      description: 'Of a valid token: `session_id`, and `perm_limits` (`[]`: unlimited). Else `{}`.',
    }),
    id: buildText('815553000470478850', 'The `target_id` of the request.'),
    target_type: buildText('bot', 'The `auth_type` of the request.'),
  },
  { data: { session_id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a16', perm_limits: [] } },
);
export type AuthTest = Static<typeof AuthTest>;

export const sessionRoutes = defineRoutes('Sessions and login', [
  defineRoute('listSessions', 'GET /{target_type}/{target_id}/sessions', {
    summary: 'List tokens',
    description: 'The sessions of an entity, without their tokens.',
    auth: buildTargetAuth('view_sessions'),
    params: SessionsParams,
    replies: { 200: Sessions },
    handle: async (app, { params }) => {
      const rows = await app.catalogue.sessions.list(toTarget(params));
      return replyOk({ sessions: rows.map(toSession) });
    },
  }),
  defineRoute('createSession', 'POST /{target_type}/{target_id}/sessions', {
    keyed: true,
    summary: 'Create a token',
    description:
      'Creates an API session that acts for the entity. Only this reply shows the token. At most 100 ' +
      'per entity.',
    auth: buildTargetAuth('manage_sessions'),
    params: SessionsParams,
    body: SessionBody,
    replies: { 201: SessionCreated },
    errors: ['session_type_unsupported', 'limit_reached'],
    check: ({ body }) => {
      if (body.type !== 'api') {
        const message = 'Only sessions of the type "api" can be created.';
        throw new DomainError('session_type_unsupported', message, { '/type': 'must be "api"' });
      }
      parsePermLimits(body.perm_limits);
    },
    handle: (app, request) => mintSession(app, request, toTarget(request.params)),
  }),
  defineRoute('revokeSession', 'DELETE /{target_type}/{target_id}/sessions/{session_id}', {
    summary: 'Revoke a token',
    description:
      'The token is refused at once, at other nodes within a second. Repeat it after a 503 until it ' +
      'is 200 or 404.',
    auth: buildTargetAuth('manage_sessions'),
    params: SessionParams,
    replies: { 200: ApiResponse },
    handle: (app, { params }) => revokeSession(app, toTarget(params), params.session_id),
  }),
  definePublicRoute('testToken', 'POST /auth/test', {
    summary: 'Test a token',
    description:
      'Whether a token is valid for an entity, and whether its user is banned. 200 for bad tokens ' +
      'too: see `authorized`.',
    limit: 'auth_test',
    body: AuthTestBody,
    replies: { 200: AuthTest },
    // Reads SQL, not the session cache, so a revoked token is recognised at once.
    handle: async (app, { body }) => {
      const session = await findTestedSession(app, body);
      return replyOk<AuthTest>({
        authorized: session !== null,
        banned: session?.banned ?? false,
        data: session === null ? {} : { session_id: session.sessionId, perm_limits: [...session.limits] },
        id: body.target_id,
        target_type: body.auth_type,
      });
    },
  }),
]);

const parsePermLimits = (ids: readonly string[]): readonly Permission[] =>
  parsePermissionIds('/perm_limits', ids);

export const toSession = (row: SessionRow) => showRow(Session, row);

/** The caller's permissions on the target: `owner` if the caller is the target, or the team that owns it. */
const listGrantedPermissions = async (app: App, caller: Caller, target: SessionTarget) => {
  if (caller.kind === target.kind && caller.id === target.id) return ['owner'];
  if (!isEntityKind(target.kind)) return [];
  const user = caller.kind === 'user' ? caller.id : '';
  const access = requireFound(await app.catalogue.findAccess(target.kind, target.id, user), target.kind);
  if (caller.kind === 'team' && access.teamId === caller.id) return ['owner'];
  return access.permissions;
};

const checkMinting = (requested: readonly Permission[], granted: readonly string[], caller: Caller): void => {
  const verdict = decideMinting({ requested, granted, limits: caller.limits });
  if (verdict.kind === 'not_granted') {
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

/** With a key of the operator's, a repeat of a keyed request can derive the token that it led to. */
const mintFor = (app: App, target: SessionTarget, once: Once | undefined, id = uuidv7()): MintedToken => {
  const { secretsKey } = app.settings;
  if (once === undefined || secretsKey === '') return mintToken(target);
  return mintToken(target, { id, secretsKey, scope: once.scope });
};

/** The token of a session that an earlier request created, `''` if it cannot be derived. */
const findToken = (
  app: App,
  { target, once, created }: { target: SessionTarget; once: Once | undefined; created: SessionOutcome },
): string => {
  const { token, tokenHash } = mintFor(app, target, once, created.id);
  return tokenHash.toString('hex') === created.tokenHash ? token : '';
};

type MintRequest = KeyedRequest & { readonly caller: Caller | null; readonly body: SessionBody };

const buildSession = (minted: MintedToken, { caller, body }: MintRequest, target: SessionTarget) => {
  const { kind, id, sessionId } = requireCaller({ caller });
  return {
    id: minted.id,
    target,
    type: 'api',
    name: body.name,
    permLimits: parsePermLimits(body.perm_limits),
    tokenHash: minted.tokenHash,
    lastsSeconds: body.expiry,
    mintedBy: kind === 'user' ? id : '',
    mintedWith: kind === 'user' ? null : sessionId,
  } as const;
};

/** `POST …/sessions`. Only this reply has the token. *Ledger* when it resolves. */
const mintSession = async (app: App, request: MintRequest, target: SessionTarget): Promise<Reply> => {
  const caller = requireCaller(request);
  const permLimits = parsePermLimits(request.body.perm_limits);
  checkMinting(permLimits, await listGrantedPermissions(app, caller, target), caller);
  const once = readOnce('createSession', request);
  const minted = mintFor(app, target, once);
  const session = buildSession(minted, request, target);
  const { sessionsPerEntityMax: apiSessionsMax } = app.settings;
  const created = requireOutcome(await app.catalogue.sessions.insert(session, { apiSessionsMax, once }));
  if (created.kind === 'refused') throw createPermissionError('manage_sessions');
  if (created.kind === 'limit_reached') {
    const message = `An entity has at most ${apiSessionsMax} API sessions. Revoke one first.`;
    throw createLimitError(message, apiSessionsMax);
  }
  const token = created.replayed ? findToken(app, { target, once, created }) : minted.token;
  const reply: SessionCreated = { session_id: created.id, target_id: target.id, token };
  return markReplayed(created, replyCreated(reply));
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
