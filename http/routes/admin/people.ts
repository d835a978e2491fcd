/**
 * Operations on users and tokens (docs/operating.md, "The operator's side").
 */
import { showUsers } from '../../handlers/operator/lists.ts';
import { issueToken, putUser, setBan, showTokens, showUser } from '../../handlers/operator/people.ts';
import { previewBan, previewRevocation } from '../../handlers/operator/previews.ts';
import { revokeSession } from '../../handlers/sessions.ts';
import {
  OperatorSessionParams,
  OperatorUser,
  TokenBody,
  TokenIssued,
  TokenParams,
  UserBody,
  UserParams,
  Users,
} from '../../schema/operator.ts';
import { UsersQuery } from '../../schema/operator-lists.ts';
import { Sessions } from '../../schema/sessions.ts';
import { type AdminOperation, defineOperation } from './operation.ts';

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
  defineOperation({
    command: `users ${verb}`,
    name: `set_${ban}`,
    pattern: `PUT /users/{id}/${verb}`,
    summary,
    params: UserParams,
    preview: (app, { params }) => previewBan(app, params.id, ban),
    handle: (app, { params }) => setBan(app, params.id, { ban, value: true }),
  }),
  defineOperation({
    command: `users un${verb}`,
    name: `lift_${ban}`,
    pattern: `DELETE /users/{id}/${verb}`,
    summary: `Lifts a ${verb}.`,
    params: UserParams,
    handle: (app, { params }) => setBan(app, params.id, { ban, value: false }),
  }),
]);

export const peopleOperations: readonly AdminOperation[] = [
  defineOperation({
    command: 'users list',
    name: 'listUsers',
    pattern: 'GET /users',
    summary: 'Lists users by id, 50 per page; a search also finds names.',
    query: UsersQuery,
    replies: { 200: Users },
    handle: (app, { query }) => showUsers(app, query),
  }),
  defineOperation({
    command: 'users show',
    name: 'showUser',
    pattern: 'GET /users/{id}',
    summary: 'Shows a user and their bans.',
    params: UserParams,
    replies: { 200: OperatorUser },
    handle: (app, { params }) => showUser(app, params.id),
  }),
  defineOperation({
    command: 'users put',
    name: 'putUser',
    pattern: 'PUT /users/{id}',
    summary: 'Creates a user, or changes the given fields.',
    params: UserParams,
    body: UserBody,
    handle: (app, { params, body }) => putUser(app, params.id, body),
  }),
  ...banOperations,
  defineOperation({
    command: 'tokens issue',
    name: 'issueToken',
    pattern: 'POST /{target_type}/{target_id}/tokens',
    summary:
      'Issues a token and shows it only once. It has all permissions of its target, or only the named ones.',
    params: TokenParams,
    body: TokenBody,
    replies: { 201: TokenIssued },
    handle: (app, { params, body }) =>
      issueToken(app, { kind: params.target_type, id: params.target_id }, body),
  }),
  defineOperation({
    command: 'tokens list',
    name: 'listTokens',
    pattern: 'GET /{target_type}/{target_id}/tokens',
    summary: 'Lists the active sessions without their tokens: only the hashes of tokens are stored.',
    params: TokenParams,
    replies: { 200: Sessions },
    handle: (app, { params }) => showTokens(app, { kind: params.target_type, id: params.target_id }),
  }),
  defineOperation({
    command: 'tokens revoke',
    name: 'revokeToken',
    pattern: 'DELETE /{target_type}/{target_id}/tokens/{session_id}',
    summary: 'Revokes a session: its token is refused, on every node within a second.',
    params: OperatorSessionParams,
    preview: (app, { params }) =>
      previewRevocation(app, { kind: params.target_type, id: params.target_id }, params.session_id),
    handle: (app, { params }) =>
      revokeSession(app, { kind: params.target_type, id: params.target_id }, params.session_id),
  }),
];
