/**
 * Rows of applications (contract §4.6): what can be applied for, and a user's own applications. Banned users
 * may use them: the appeal against a ban is one.
 */
import { sendApplication, showApplications, showPositions } from '../replies/applications.ts';
import { type AnyRow, type Auth, route } from '../route.ts';
import { ApplicationBody, Applications, AppMeta, AppsParams } from '../schema/applications.ts';
import { NoParams } from '../schema/common.ts';

const section = 'Applications';
const ownAuth: Auth = { word: 'self', user: 'user_id' };

export const applicationRows: readonly AnyRow[] = [
  route({
    name: 'getPositions',
    method: 'GET',
    path: '/apps/meta',
    section,
    summary: 'All positions and what each asks, hidden and closed ones too.',
    auth: { word: 'public' },
    caching: 'list',
    params: NoParams,
    replies: { 200: AppMeta },
    errors: [],
    handle: (app) => showPositions(app),
  }),
  route({
    name: 'listApplications',
    method: 'GET',
    path: '/users/{user_id}/apps',
    section,
    summary: "One's own applications, the newest first.",
    auth: ownAuth,
    bannedAllowed: true,
    caching: 'no-store',
    params: AppsParams,
    replies: { 200: Applications },
    errors: [],
    handle: (app, { params }) => showApplications(app, params.user_id),
  }),
  route({
    name: 'createApplication',
    method: 'POST',
    path: '/users/{user_id}/apps',
    section,
    summary: 'Applies for a position. One application per position can be pending.',
    description:
      'The positions `certification` and `resubmit` are about a bot, which the answer to `bot_id` names.',
    auth: ownAuth,
    bannedAllowed: true,
    caching: 'no-store',
    params: AppsParams,
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
];
