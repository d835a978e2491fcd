/**
 * Rows of a team's members (contract §4.3), and of what a user may do with an entity.
 */
import type { Permission } from '../../engine/rules/permissions.ts';
import { callerOf, targetKindOf } from '../replies/request.ts';
import {
  addMember,
  editMember,
  permissionsOf,
  removeMember,
  showPermissions,
} from '../replies/team-edits.ts';
import { type AnyRow, type Auth, route } from '../route.ts';
import {
  HeldPermissions,
  MemberBody,
  MemberEditBody,
  MemberParams,
  PermsParams,
  permissionKinds,
  TeamEditParams,
} from '../schema/team-edits.ts';

const section = 'Teams';

const memberAuth = (permission: Permission): Auth => ({
  word: 'entity',
  kinds: ['user', 'team'],
  permission,
  type: '=team',
  id: 'tid',
});

export const memberRows: readonly AnyRow[] = [
  route({
    name: 'addTeamMember',
    method: 'PUT',
    path: '/teams/{tid}/members',
    section,
    summary: 'Adds a member, with permissions that the caller holds himself.',
    auth: memberAuth('add_team_members'),
    caching: 'no-store',
    params: TeamEditParams,
    body: MemberBody,
    replies: { 204: null },
    errors: ['already_exists', 'limit_reached'],
    check: ({ body }) => void permissionsOf(body.perms),
    handle: (app, request) =>
      addMember(app, { teamId: request.params.tid, caller: callerOf(request) }, request.body),
  }),
  route({
    name: 'editTeamMember',
    method: 'PATCH',
    path: '/teams/{tid}/members/{mid}',
    section,
    summary: "Changes a member's permissions, or whether he holds the data or can be mentioned.",
    auth: { ...memberAuth('edit_team_members'), unless: 'mid' } as Auth,
    caching: 'no-store',
    params: MemberParams,
    body: MemberEditBody,
    replies: { 204: null },
    errors: ['last_owner', 'last_data_holder'],
    check: ({ body }) => void permissionsOf(body.perms ?? []),
    handle: (app, request) =>
      editMember(app, { params: request.params, caller: callerOf(request) }, request.body),
  }),
  route({
    name: 'removeTeamMember',
    method: 'DELETE',
    path: '/teams/{tid}/members/{mid}',
    section,
    summary: 'Removes a member, or leaves the team.',
    auth: { ...memberAuth('remove_team_members'), unless: 'mid' } as Auth,
    caching: 'no-store',
    params: MemberParams,
    replies: { 204: null },
    errors: ['last_owner', 'last_data_holder', 'last_member'],
    handle: (app, request) => removeMember(app, { params: request.params, caller: callerOf(request) }),
  }),
  route({
    name: 'getPermissions',
    method: 'GET',
    path: '/users/{id}/{target_type}/{target_id}/perms',
    section,
    summary: 'The permissions a user holds on an entity, with all that owning implies.',
    auth: { word: 'public' },
    caching: 'entity',
    params: PermsParams,
    replies: { 200: HeldPermissions },
    errors: ['target_type_unsupported', 'not_found'],
    check: ({ params }) => void targetKindOf(params.target_type, permissionKinds),
    handle: (app, { params }) => {
      const kind = targetKindOf(params.target_type, permissionKinds);
      return showPermissions(app, { kind, id: params.target_id }, params.id);
    },
  }),
];
