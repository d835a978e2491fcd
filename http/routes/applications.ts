/**
 * Routes of applications (contract §4.6): the positions, and a user's own applications. Banned users may use
 * them, because the appeal against a ban is an application.
 */
import { sendApplication, showApplications, showPositions } from '../handlers/applications.ts';
import { type Auth, defineRoute, defineRoutes } from '../route.ts';
import {
  ApplicationBody,
  ApplicationMeta,
  Applications,
  ApplicationsParams,
} from '../schema/applications.ts';

const ownAuth: Auth = { kind: 'self', user: 'user_id' };

export const applicationRoutes = defineRoutes('Applications', [
  defineRoute({
    name: 'getPositions',
    pattern: 'GET /apps/meta',
    summary: 'List positions',
    description: 'All positions that users can apply for, with their questions; hidden and closed ones too.',
    auth: { kind: 'public' },
    caching: 'list',
    replies: { 200: ApplicationMeta },
    handle: (app) => showPositions(app),
  }),
  defineRoute({
    name: 'listApplications',
    pattern: 'GET /users/{user_id}/apps',
    summary: "List a user's applications",
    description:
      'The 200 newest applications of the user, newest first, each with the questions as they were.',
    auth: ownAuth,
    bannedAllowed: true,
    params: ApplicationsParams,
    replies: { 200: Applications },
    handle: (app, { params }) => showApplications(app, params.user_id),
  }),
  defineRoute({
    name: 'createApplication',
    pattern: 'POST /users/{user_id}/apps',
    summary: 'Apply for a position',
    description:
      'A user can have one pending application per position; `cooldown` hours must pass between two. ' +
      'The positions `certification` and `resubmit` are about a bot: the answer to `bot_id` must be ' +
      'its id.',
    auth: ownAuth,
    bannedAllowed: true,
    params: ApplicationsParams,
    body: ApplicationBody,
    replies: { 204: null },
    errors: [
      'banned',
      'permission_missing',
      'position_closed',
      'bot_not_eligible',
      'already_exists',
      'application_wait',
    ],
    handle: (app, { params, body }) => sendApplication(app, params.user_id, body),
  }),
]);
