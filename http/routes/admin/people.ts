/**
 * Operations on users and tokens (docs/operating.md, "The operator's side").
 */
import { issueToken, putUser, setBan, showUser, showUsers } from '../../handlers/operator/people.ts';
import { parsePage } from '../../handlers/request-values.ts';
import { revokeSession, showSessions } from '../../handlers/sessions.ts';
import { NoParams } from '../../schema/common.ts';
import {
  Done,
  OperatorSessionParams,
  OperatorUser,
  TokenBody,
  TokenIssued,
  TokenParams,
  UserBody,
  UserParams,
  Users,
  UsersQuery,
} from '../../schema/operator.ts';
import { Sessions } from '../../schema/sessions.ts';
import { type AdminOperation, defineOperation } from './operation.ts';

const bans = [
  {
    word: 'ban',
    ban: 'banned',
    told: 'Bans a user: every token of his is refused, on every node within a second.',
  },
  {
    word: 'vote-ban',
    ban: 'vote_banned',
    told: 'Keeps a user from voting; everything else stays open to him.',
  },
] as const;

const banOperations = bans.flatMap(({ word, ban, told }) => [
  defineOperation({
    command: `users ${word}`,
    name: `set_${ban}`,
    method: 'PUT',
    path: `/users/{id}/${word}`,
    summary: told,
    params: UserParams,
    replies: { 200: Done },
    handle: (app, { params }) => setBan(app, params.id, { ban, value: true }),
  }),
  defineOperation({
    command: `users un${word}`,
    name: `lift_${ban}`,
    method: 'DELETE',
    path: `/users/{id}/${word}`,
    summary: `Takes back a ${word}.`,
    params: UserParams,
    replies: { 200: Done },
    handle: (app, { params }) => setBan(app, params.id, { ban, value: false }),
  }),
]);

export const peopleOperations: readonly AdminOperation[] = [
  defineOperation({
    command: 'users list',
    name: 'listUsers',
    method: 'GET',
    path: '/users',
    summary: 'Lists users, 50 on a page.',
    params: NoParams,
    query: UsersQuery,
    replies: { 200: Users },
    handle: (app, { query }) => showUsers(app, parsePage(query), query.ban ?? null),
  }),
  defineOperation({
    command: 'users show',
    name: 'showUser',
    method: 'GET',
    path: '/users/{id}',
    summary: 'One user, with his bans.',
    params: UserParams,
    replies: { 200: OperatorUser },
    handle: (app, { params }) => showUser(app, params.id),
  }),
  defineOperation({
    command: 'users put',
    name: 'putUser',
    method: 'PUT',
    path: '/users/{id}',
    summary: 'Creates a user, or changes the fields given.',
    params: UserParams,
    body: UserBody,
    replies: { 200: Done },
    handle: (app, { params, body }) => putUser(app, params.id, body),
  }),
  ...banOperations,
  defineOperation({
    command: 'tokens issue',
    name: 'issueToken',
    method: 'POST',
    path: '/{target_type}/{target_id}/tokens',
    summary:
      'Makes a token and shows it, this once. It may do all that its target may, or only what is named.',
    params: TokenParams,
    body: TokenBody,
    replies: { 201: TokenIssued },
    handle: (app, { params, body }) =>
      issueToken(app, { kind: params.target_type, id: params.target_id }, body),
  }),
  defineOperation({
    command: 'tokens list',
    name: 'listTokens',
    method: 'GET',
    path: '/{target_type}/{target_id}/tokens',
    summary: 'Sessions that have not ended, without their tokens: only hashes of those are kept.',
    params: TokenParams,
    replies: { 200: Sessions },
    handle: (app, { params }) => showSessions(app, { kind: params.target_type, id: params.target_id }),
  }),
  defineOperation({
    command: 'tokens revoke',
    name: 'revokeToken',
    method: 'DELETE',
    path: '/{target_type}/{target_id}/tokens/{session_id}',
    summary: 'Ends a session: its token is refused, on every node within a second.',
    params: OperatorSessionParams,
    replies: { 200: Done },
    handle: (app, { params }) =>
      revokeSession(app, { kind: params.target_type, id: params.target_id }, params.session_id),
  }),
];
