/**
 * Operations on users and tokens (docs/operators/commands.md). A ban takes effect at once:
 * this file drops the sessions that this node caches, and storage/nodes/shared-catalogue.ts drops those on
 * the other nodes.
 */
import { DomainError } from '../../engine/errors.ts';
import type { BanKind } from '../../storage/catalogue/people/people-edits.ts';
import type { SessionTarget } from '../../storage/catalogue/people/sessions.ts';
import { revokeSession, Sessions, toSession } from '../api/sessions.ts';
import { UserParams } from '../api/shared/common.ts';
import { parsePermissionIds, toTarget } from '../api/shared/convert.ts';
import { patternMessages, userId } from '../api/shared/patterns.ts';
import type { App } from '../app.ts';
import { mintToken } from '../auth/mint.ts';
import { createNotFoundError, createValidationError, requireFound } from '../response/errors.ts';
import { type Reply, replyCreated, replyMessage, replyOk, toTimestamp } from '../response/reply.ts';
import { UsersQuery } from './list-schema.ts';
import { defineList, replyWhole, toRequest } from './lists.ts';
import { type AdminOperation, defineOperation } from './operation.ts';
import { previewBan, previewRevocation } from './previews.ts';
import {
  NewUserParams,
  OperatorSessionParams,
  OperatorUser,
  TokenBody,
  TokenIssued,
  TokenParams,
  UserBody,
  Users,
} from './schema.ts';

const bans = [
  {
    verb: 'ban',
    ban: 'banned',
    summary: 'Bans a user: all their tokens are refused, on every node within a second.',
  },
  {
    verb: 'vote-ban',
    ban: 'vote_banned',
    summary: 'Bans a user from voting; they can still do everything else.',
  },
] as const;

const banOperations = bans.flatMap(({ verb, ban, summary }) => [
  defineOperation(`users ${verb}`, `PUT /users/{id}/${verb}`, {
    summary,
    params: NewUserParams,
    preview: (app, { params }) => previewBan(app, params.id, ban),
    handle: (app, { params }) => setBan(app, params.id, { ban, value: true }),
  }),
  defineOperation(`users un${verb}`, `DELETE /users/{id}/${verb}`, {
    summary: `Lifts a ${verb}.`,
    params: UserParams,
    handle: (app, { params }) => setBan(app, params.id, { ban, value: false }),
  }),
]);

export const peopleOperations: readonly AdminOperation[] = [
  defineList('users list', 'GET /users', {
    summary: 'Lists users by id, 50 per page; a search also finds names.',
    query: UsersQuery,
    list: Users,
    read: (app, { query }) =>
      app.catalogue.operator.lists.users({ ...toRequest(query), ban: query.ban ?? null }),
  }),
  defineOperation('users show', 'GET /users/{id}', {
    summary: 'Shows a user and their bans.',
    params: UserParams,
    replies: { 200: OperatorUser },
    handle: async (app, { params }) => {
      const row = requireFound(await app.catalogue.operator.people.find(params.id), 'user');
      return replyOk({ ...row, created_at: toTimestamp(row.created_at) });
    },
  }),
  defineOperation('users put', 'PUT /users/{id}', {
    summary: 'Creates a user, or changes the given fields.',
    params: NewUserParams,
    body: UserBody,
    handle: async (app, { params: { id }, body }) => {
      const { username = null, display_name: displayName = null, avatar = null, flags = null } = body;
      await app.catalogue.operator.people.put(id, { username, displayName, avatar, flags });
      return replyMessage(`User ${id} is written.`);
    },
  }),
  ...banOperations,
  defineOperation('tokens issue', 'POST /{target_type}/{target_id}/tokens', {
    summary:
      'Issues a token and shows it only once. It has all permissions of its target, or only the named ones.',
    params: TokenParams,
    body: TokenBody,
    replies: { 201: TokenIssued },
    handle: (app, { params, body }) => issueToken(app, toTarget(params), body),
  }),
  defineOperation('tokens list', 'GET /{target_type}/{target_id}/tokens', {
    summary: 'Lists the active sessions without their tokens: only the hashes of tokens are stored.',
    params: TokenParams,
    replies: { 200: Sessions },
    handle: async (app, { params }) => {
      const rows = await app.catalogue.sessions.list(toTarget(params));
      return replyWhole('sessions', rows.map(toSession));
    },
  }),
  defineOperation('tokens revoke', 'DELETE /{target_type}/{target_id}/tokens/{session_id}', {
    summary: 'Revokes a session: its token is refused, on every node within a second.',
    params: OperatorSessionParams,
    preview: (app, { params }) => previewRevocation(app, toTarget(params), params.session_id),
    handle: (app, { params }) => revokeSession(app, toTarget(params), params.session_id),
  }),
];

const banPhrases: Readonly<Record<BanKind, readonly [string, string]>> = {
  banned: ['is banned', 'is no longer banned'],
  vote_banned: ['may not vote', 'may vote again'],
};

const setBan = async (app: App, id: string, { ban, value }: { ban: BanKind; value: boolean }) => {
  const { stranger, sessions } = await app.catalogue.operator.people.setBan(id, { ban, value });
  app.sessions.forgetTarget('user', id);
  app.sessions.forget(...sessions);
  if (stranger && !value) throw createNotFoundError('user');
  const message = `User ${id} ${banPhrases[ban][value ? 0 : 1]}.`;
  return replyMessage(stranger ? `${message} The id was unknown before: check that it is right.` : message);
};

const userIdShape = new RegExp(userId);
const thirtyDaysSeconds = 30 * 86_400;
const unchangedFields = { username: null, displayName: null, avatar: null, flags: null } as const;

/** Issues a token; only this reply has it. Creates a user who does not exist. *Ledger* when it resolves. */
const issueToken = async (app: App, target: SessionTarget, body: TokenBody): Promise<Reply> => {
  const permLimits = parsePermissionIds('/perm_limits', body.perm_limits ?? []);
  if (target.kind === 'user') {
    if (!userIdShape.test(target.id))
      throw createValidationError('path', { '/target_id': patternMessages[userId] ?? '' });
    await app.catalogue.operator.people.put(target.id, unchangedFields);
  }
  const { id, token, tokenHash } = mintToken(target);
  const { kind } = await app.catalogue.sessions.insert(
    {
      id,
      target,
      type: target.kind === 'user' ? 'login' : 'api',
      name: body.name ?? 'by the operator',
      permLimits,
      tokenHash,
      lastsSeconds: body.expiry ?? thirtyDaysSeconds,
      mintedBy: '',
      mintedWith: null,
      onlyIfThere: true,
    },
    { apiSessionsMax: app.settings.sessionsPerEntityMax },
  );
  if (kind === 'refused') throw createNotFoundError(target.kind);
  if (kind === 'limit_reached') {
    throw new DomainError('limit_reached', 'The maximum number of sessions is reached. Revoke one first.');
  }
  return replyCreated({ session_id: id, target_id: target.id, token });
};
