/**
 * Routes of teams (contract §4.3): show, create, change and delete a team, and list all permissions.
 * members.ts has the routes of members.
 */
import { permissionCatalogue } from '../../engine/rules/permissions.ts';
import { requireCaller } from '../handlers/request-values.ts';
import { createTeam, deleteTeam, editTeam, showTeamSeo } from '../handlers/team-edits.ts';
import { parseRequiredTargets, showTeam } from '../handlers/teams.ts';
import { defineRoute, defineRoutes, replyOk } from '../route.ts';
import { Seo } from '../schema/common.ts';
import { checkLinks } from '../schema/fields.ts';
import { TeamBody, TeamCreated, TeamEditBody, TeamEditParams } from '../schema/team-edits.ts';
import { Team, TeamParams, TeamPermissions, TeamQuery } from '../schema/teams.ts';

export const teamRoutes = defineRoutes('Teams', [
  defineRoute({
    name: 'listTeamPermissions',
    pattern: 'GET /teams/meta/permissions',
    summary: 'List permissions',
    description: 'All 24 permissions that a team member can have. `owner` implies the others.',
    auth: { kind: 'public' },
    caching: 'entity',
    replies: { 200: TeamPermissions },
    handle: () => replyOk({ perms: permissionCatalogue }),
  }),
  defineRoute({
    name: 'getTeam',
    pattern: 'GET /teams/{id}',
    summary: 'Get a team',
    description:
      'One team by id or vanity code, with those of its members, bots and servers that `targets` ' + 'names.',
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
    pattern: 'GET /teams/{id}/seo',
    summary: 'Get the preview of a team',
    description: 'What search engines and link previews show of a team, by id, vanity code or name.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: TeamParams,
    replies: { 200: Seo },
    errors: ['not_found'],
    handle: (app, { params }) => showTeamSeo(app, params.id),
  }),
  defineRoute({
    name: 'createTeam',
    pattern: 'POST /teams',
    summary: 'Create a team',
    description: 'The caller becomes its owner and data holder. At most 50 teams per user.',
    auth: { kind: 'user' },
    body: TeamBody,
    replies: { 201: TeamCreated },
    errors: ['limit_reached'],
    check: ({ body }) => checkLinks(body.extra_links),
    handle: (app, request) => createTeam(app, requireCaller(request), request.body),
  }),
  defineRoute({
    name: 'editTeam',
    pattern: 'PATCH /teams/{tid}',
    summary: 'Change a team',
    description: 'Absent and `null` fields keep their value; a given list replaces the old list.',
    auth: { kind: 'entity', kinds: ['user', 'team'], permission: 'edit_team', type: '=team', id: 'tid' },
    params: TeamEditParams,
    body: TeamEditBody,
    replies: { 204: null },
    check: ({ body }) => checkLinks(body.extra_links),
    handle: (app, request) =>
      editTeam(app, { teamId: request.params.tid, caller: requireCaller(request) }, request.body),
  }),
  defineRoute({
    name: 'deleteTeam',
    pattern: 'DELETE /teams/{tid}',
    summary: 'Delete a team',
    description: 'Deletes it for good; it must not own bots or servers. Its votes become void.',
    auth: { kind: 'entity', kinds: ['user', 'team'], permission: 'owner', type: '=team', id: 'tid' },
    params: TeamEditParams,
    replies: { 204: null },
    errors: ['team_not_empty'],
    handle: (app, request) => deleteTeam(app, request.params.tid, requireCaller(request)),
  }),
]);
