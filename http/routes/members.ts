/**
 * Routes of a team's members (contract §4.3), and of a user's permissions on an entity.
 */
import type { Permission } from '../../engine/rules/permissions.ts';
import { requireCaller, toTarget } from '../handlers/request-values.ts';
import {
  addMember,
  editMember,
  parseMemberPermissions,
  removeMember,
  showPermissions,
} from '../handlers/team-edits.ts';
import { type Auth, defineRoute, defineRoutes } from '../route.ts';
import {
  GrantedPermissions,
  MemberBody,
  MemberEditBody,
  MemberParams,
  PermissionsParams,
  TeamEditParams,
} from '../schema/team-edits.ts';

const buildMemberAuth = (permission: Permission): Auth => ({
  kind: 'entity',
  kinds: ['user', 'team'],
  permission,
  type: '=team',
  id: 'tid',
});

export const memberRoutes = defineRoutes('Teams', [
  defineRoute({
    name: 'addTeamMember',
    pattern: 'PUT /teams/{tid}/members',
    summary: 'Add a member',
    description: 'Adds a user to a team. Callers can grant only permissions that they have themselves.',
    auth: buildMemberAuth('add_team_members'),
    params: TeamEditParams,
    body: MemberBody,
    replies: { 204: null },
    errors: ['already_exists', 'limit_reached'],
    check: ({ body }) => void parseMemberPermissions(body.perms),
    handle: (app, request) =>
      addMember(app, { teamId: request.params.tid, caller: requireCaller(request) }, request.body),
  }),
  defineRoute({
    name: 'editTeamMember',
    pattern: 'PATCH /teams/{tid}/members/{mid}',
    summary: 'Change a member',
    description:
      "Changes a member's permissions, or whether they are a data holder or can be mentioned. Callers " +
      'can give and take only permissions that they have themselves.',
    auth: { ...buildMemberAuth('edit_team_members'), unless: 'mid' } as Auth,
    params: MemberParams,
    body: MemberEditBody,
    replies: { 204: null },
    errors: ['last_owner', 'last_data_holder'],
    check: ({ body }) => void parseMemberPermissions(body.perms ?? []),
    handle: (app, request) =>
      editMember(app, { params: request.params, caller: requireCaller(request) }, request.body),
  }),
  defineRoute({
    name: 'removeTeamMember',
    pattern: 'DELETE /teams/{tid}/members/{mid}',
    summary: 'Remove a member',
    description:
      'Removes a member from a team; the sessions that the member created for it end. Members can ' +
      'always remove themselves, except the last one.',
    auth: { ...buildMemberAuth('remove_team_members'), unless: 'mid' } as Auth,
    params: MemberParams,
    replies: { 204: null },
    errors: ['last_owner', 'last_data_holder', 'last_member'],
    handle: (app, request) => removeMember(app, { params: request.params, caller: requireCaller(request) }),
  }),
  defineRoute({
    name: 'getPermissions',
    pattern: 'GET /users/{id}/{target_type}/{target_id}/perms',
    summary: "List a user's permissions",
    description:
      'The permissions of a user on a bot, server or team. Owners have all; users without any, also ' +
      'unknown ones, have `[]`.',
    auth: { kind: 'public' },
    caching: 'entity',
    params: PermissionsParams,
    replies: { 200: GrantedPermissions },
    errors: ['not_found'],
    handle: (app, { params }) => showPermissions(app, toTarget(params), params.id),
  }),
]);
