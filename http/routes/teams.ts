/**
 * Rows of teams (contract §4.3): one team, its life, and the permissions there are. Members have their own
 * file.
 */
import { permissionCatalogue } from '../../engine/rules/permissions.ts';
import { requireCaller } from '../handlers/request-values.ts';
import { createTeam, deleteTeam, editTeam, showTeamSeo } from '../handlers/team-edits.ts';
import { parseRequiredTargets, showTeam } from '../handlers/teams.ts';
import { type AnyRoute, defineRoute, replyOk } from '../route.ts';
import { NoParams, Seo } from '../schema/common.ts';
import { checkLinks } from '../schema/fields.ts';
import { TeamBody, TeamCreated, TeamEditBody, TeamEditParams } from '../schema/team-edits.ts';
import { Team, TeamParams, TeamPermissions, TeamQuery } from '../schema/teams.ts';

const section = 'Teams';

export const teamRoutes: readonly AnyRoute[] = [
  defineRoute({
    name: 'listTeamPermissions',
    method: 'GET',
    path: '/teams/meta/permissions',
    section,
    summary: 'All permissions a team member can hold.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: NoParams,
    replies: { 200: TeamPermissions },
    errors: [],
    handle: () => replyOk({ perms: permissionCatalogue }),
  }),
  defineRoute({
    name: 'getTeam',
    method: 'GET',
    path: '/teams/{id}',
    section,
    summary: 'One team, with the entities asked for.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: TeamParams,
    query: TeamQuery,
    replies: { 200: Team },
    errors: ['not_found'],
    handle: (app, { params, query }) => showTeam(app, params.id, parseRequiredTargets(query)),
  }),
  defineRoute({
    name: 'getTeamSeo',
    method: 'GET',
    path: '/teams/{id}/seo',
    section,
    summary: 'What search engines show of a team; by id, vanity code or name.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: TeamParams,
    replies: { 200: Seo },
    errors: ['not_found'],
    handle: (app, { params }) => showTeamSeo(app, params.id),
  }),
  defineRoute({
    name: 'createTeam',
    method: 'POST',
    path: '/teams',
    section,
    summary: 'Creates a team; the caller becomes its owner.',
    auth: { kind: 'user' },
    caching: 'no-store',
    params: NoParams,
    body: TeamBody,
    replies: { 201: TeamCreated },
    errors: ['limit_reached'],
    check: ({ body }) => checkLinks(body.extra_links),
    handle: (app, request) => createTeam(app, requireCaller(request), request.body),
  }),
  defineRoute({
    name: 'editTeam',
    method: 'PATCH',
    path: '/teams/{tid}',
    section,
    summary: 'Changes a team. Absent and null fields stay as they are; lists are replaced whole.',
    auth: { kind: 'entity', kinds: ['user', 'team'], permission: 'edit_team', type: '=team', id: 'tid' },
    caching: 'no-store',
    params: TeamEditParams,
    body: TeamEditBody,
    replies: { 204: null },
    errors: [],
    check: ({ body }) => checkLinks(body.extra_links),
    handle: (app, request) =>
      editTeam(app, { teamId: request.params.tid, caller: requireCaller(request) }, request.body),
  }),
  defineRoute({
    name: 'deleteTeam',
    method: 'DELETE',
    path: '/teams/{tid}',
    section,
    summary: 'Deletes a team that owns nothing. Irreversible.',
    auth: { kind: 'entity', kinds: ['user', 'team'], permission: 'owner', type: '=team', id: 'tid' },
    caching: 'no-store',
    params: TeamEditParams,
    replies: { 204: null },
    errors: ['team_not_empty'],
    handle: (app, request) => deleteTeam(app, request.params.tid, requireCaller(request)),
  }),
];
