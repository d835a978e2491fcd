/**
 * Routes of sessions (contract §4.1): list, create and revoke sessions, test a token. login.ts has the login.
 */
import { tokenKinds } from '../../engine/rules/token.ts';
import { requireCaller, toTarget } from '../handlers/request-values.ts';
import {
  checkSessionBody,
  mintSession,
  revokeSession,
  showSessions,
  testToken,
} from '../handlers/sessions.ts';
import { type Auth, defineRoute, defineRoutes } from '../route.ts';
import { ApiResponse } from '../schema/common.ts';
import {
  AuthTest,
  AuthTestBody,
  SessionBody,
  SessionCreated,
  SessionParams,
  Sessions,
  SessionsParams,
} from '../schema/sessions.ts';

const buildEntityAuth = (permission: 'view_sessions' | 'manage_sessions'): Auth => ({
  kind: 'entity',
  kinds: tokenKinds,
  permission,
  type: 'target_type',
  id: 'target_id',
});

export const sessionRoutes = defineRoutes('Sessions and login', [
  defineRoute({
    name: 'listSessions',
    pattern: 'GET /{target_type}/{target_id}/sessions',
    summary: 'List tokens',
    description: 'The sessions of an entity, without their tokens.',
    auth: buildEntityAuth('view_sessions'),
    params: SessionsParams,
    replies: { 200: Sessions },
    errors: ['not_found'],
    handle: (app, { params }) => showSessions(app, toTarget(params)),
  }),
  defineRoute({
    name: 'createSession',
    pattern: 'POST /{target_type}/{target_id}/sessions',
    summary: 'Create a token',
    description:
      'Creates an API session that acts for the entity. Only this reply shows the token. At most 100 ' +
      'per entity.',
    auth: buildEntityAuth('manage_sessions'),
    params: SessionsParams,
    body: SessionBody,
    replies: { 201: SessionCreated },
    errors: ['session_type_unsupported', 'not_found', 'limit_reached'],
    check: ({ body }) => checkSessionBody(body),
    handle: (app, request) =>
      mintSession(app, { caller: requireCaller(request), body: request.body }, toTarget(request.params)),
  }),
  defineRoute({
    name: 'revokeSession',
    pattern: 'DELETE /{target_type}/{target_id}/sessions/{session_id}',
    summary: 'Revoke a token',
    description:
      'The token is refused at once, at other nodes within a second. Repeat it after a 503 until it ' +
      'is 200 or 404.',
    auth: buildEntityAuth('manage_sessions'),
    params: SessionParams,
    replies: { 200: ApiResponse },
    errors: ['not_found'],
    handle: (app, { params }) => revokeSession(app, toTarget(params), params.session_id),
  }),
  defineRoute({
    name: 'testToken',
    pattern: 'POST /auth/test',
    summary: 'Test a token',
    description:
      'Whether a token is valid for an entity, and whether its user is banned. 200 for bad tokens ' +
      'too: see `authorized`.',
    auth: { kind: 'public' },
    limit: 'auth_test',
    body: AuthTestBody,
    replies: { 200: AuthTest },
    handle: (app, { body }) => testToken(app, body),
  }),
]);
