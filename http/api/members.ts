/**
 * Creates, changes and deletes teams and their members (contract §4.3).
 *
 * Passes checked bodies to the catalogue and turns its outcomes into replies or errors. After a commit it
 * drops what this node cached. A deletion is delivered to the engine before the reply is sent.
 */
import { type Static, Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { entityKinds } from '../../engine/ids.ts';
import { findUnfitFields } from '../../engine/rules/listings.ts';
import type { MemberRefusal, TeamActor } from '../../engine/rules/members.ts';
import { expandPermissions, type Permission } from '../../engine/rules/permissions.ts';
import type { TeamOutcome } from '../../storage/catalogue/teams/team-edits.ts';
import type {
  EditOutcome,
  MemberOutcome,
  RemovalOutcome,
} from '../../storage/catalogue/teams/team-members.ts';
import type { App, FacadeSettings } from '../app.ts';
import type { Auth, Caller } from '../auth/auth.ts';
import { createPermissionError, requireCaller } from '../auth/authorise.ts';
import { createLimitError, createNotFoundError, createValidationError } from '../response/errors.ts';
import { noContent, type Reply, replyCreated, replyOk } from '../response/reply.ts';
import { definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import {
  buildName,
  buildPermissionIds,
  buildTargetParams,
  buildTextList,
  Flag,
  TeamIdOrVanity,
  toNullable,
  UserId,
  Uuid,
} from './shared/common.ts';
import { parsePermissionIds, toTarget } from './shared/convert.ts';
import { buildObject, describe } from './shared/example.ts';
import { buildLine, buildProse, buildTags, LinksInput, toLinkRows } from './shared/fields.ts';
import { replyHints } from './shared/listing-hints.ts';
import { type KeyedRequest, markReplayed, readOnce, requireOutcome } from './shared/once.ts';

/** The kinds of entities on which a user can have permissions. */
export const permissionKinds = entityKinds.filter((kind) => kind !== 'pack');

const TeamId = describe(TeamIdOrVanity, 'Id of the team.');
export const TeamEditParams = Type.Object({ tid: TeamId });
export const MemberParams = Type.Object({ tid: TeamId, mid: describe(UserId, 'Id of the member (a user).') });

export const PermissionsParams = Type.Object({
  id: UserId,
  ...buildTargetParams(permissionKinds).properties,
});

const name = describe(buildLine(3, 32, 'Keepers'), 'Name of the team, 3 to 32 characters.');

const optionalFields = {
  extra_links: Type.Optional(toNullable(LinksInput, 'Up to 20 links; `null` is the same as absent.')),
  nsfw: Type.Optional(toNullable(Flag, 'Whether the team is for adults only; `null` is the same as absent.')),
  short: Type.Optional(
    toNullable(
      buildProse(0, 150, 'We keep the lights on.'),
      'Short description, up to 150 characters; `null` is the same as absent.',
    ),
  ),
  tags: Type.Optional(
    toNullable(buildTags(0), 'Up to 5 different tags of 3 to 30 characters; `null` is the same as absent.'),
  ),
};

export const TeamBody = buildObject(
  { name, ...optionalFields },
  {
    extra_links: [{ name: 'Website', value: 'https://example.org' }],
    nsfw: false,
    short: 'We keep the lights on.',
    tags: ['utility'],
  },
);
export type TeamBody = Static<typeof TeamBody>;

export const TeamEditBody = buildObject(
  { name: Type.Optional(name), ...optionalFields },
  { short: 'We keep the lights on, day and night.' },
);
export type TeamEditBody = Static<typeof TeamEditBody>;
export const TeamCreated = buildObject({ team_id: describe(Uuid, 'Id of the new team.') });
export type TeamCreated = Static<typeof TeamCreated>;

const PermissionIds = buildPermissionIds(
  'Permission ids (see `GET /teams/meta/permissions`), up to 64.',
  'edit_bots',
);

export const MemberBody = buildObject({
  perms: PermissionIds,
  user_id: buildName(
    128,
    'Id of a user whom the directory knows, and who is not a bot.',
    '728871946456137770',
  ),
});

export const MemberEditBody = buildObject(
  {
    data_holder: Type.Optional(
      toNullable(Flag, 'Whether the member answers for all data of the team. Absent or `null`: unchanged.'),
    ),
    mentionable: Type.Optional(
      toNullable(Flag, 'Whether the member may be mentioned in alerts. Absent or `null`: unchanged.'),
    ),
    perms: Type.Optional(
      toNullable(
        PermissionIds,
        'All permission ids that the member has from now on, up to 64. Absent, `null` or `[]`: unchanged.',
      ),
    ),
  },
  { data_holder: null, mentionable: true, perms: ['edit_bots'] },
);

export const GrantedPermissions = buildObject({
  perms: buildTextList('Ids of all permissions that the user has there, in the order of the catalogue.', [
    'edit_bots',
    'view_sessions',
  ]),
});

const buildMemberAuth = (permission: Permission): Auth => ({
  kind: 'entity',
  kinds: ['user', 'team'],
  permission,
  type: '=team',
  id: 'tid',
});

export const memberRoutes = defineRoutes('Teams', [
  defineRoute('addTeamMember', 'PUT /teams/{tid}/members', {
    summary: 'Add a member',
    description: 'Adds a user to a team. Callers can grant only permissions that they have themselves.',
    auth: buildMemberAuth('add_team_members'),
    params: TeamEditParams,
    body: MemberBody,
    replies: { 204: null },
    errors: ['already_exists', 'limit_reached'],
    check: ({ body }) => void parseMemberPermissions(body.perms),
    handle: async (app, request) => {
      const outcome = await app.catalogue.teams.members.add(toMemberRequest(request, request.body.user_id), {
        permissions: parseMemberPermissions(request.body.perms),
        membersMax: app.settings.membersPerTeamMax,
      });
      if (outcome.kind !== 'done') throw toMemberError(app, outcome);
      return noContent;
    },
  }),
  defineRoute('editTeamMember', 'PATCH /teams/{tid}/members/{mid}', {
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
    // Tokens that the member created and that have more permissions than the member still has are revoked.
    handle: async (app, request) => {
      const { perms, data_holder: dataHolder = null, mentionable = null } = request.body;
      const permissions = perms?.length ? parseMemberPermissions(perms) : null;
      const changes = { permissions, dataHolder, mentionable };
      const member = toMemberRequest(request, request.params.mid);
      const outcome = await app.catalogue.teams.members.edit(member, changes);
      if (outcome.kind !== 'done') throw toMemberError(app, outcome);
      app.sessions.forget(...outcome.revoked);
      return noContent;
    },
  }),
  defineRoute('removeTeamMember', 'DELETE /teams/{tid}/members/{mid}', {
    summary: 'Remove a member',
    description:
      'Removes a member from a team; the sessions that the member created for it end. Members can ' +
      'always remove themselves, except the last one.',
    auth: { ...buildMemberAuth('remove_team_members'), unless: 'mid' } as Auth,
    params: MemberParams,
    replies: { 204: null },
    errors: ['last_owner', 'last_data_holder', 'last_member'],
    handle: async (app, request) => {
      const outcome = await app.catalogue.teams.members.remove(toMemberRequest(request, request.params.mid));
      if (outcome.kind !== 'removed') throw toMemberError(app, outcome);
      app.sessions.forget(...outcome.revoked);
      return noContent;
    },
  }),
  definePublicRoute('getPermissions', 'GET /users/{id}/{target_type}/{target_id}/perms', {
    summary: "List a user's permissions",
    description:
      'The permissions of a user on a bot, server or team. Owners have all; users without any, also ' +
      'unknown ones, have `[]`.',
    caching: 'entity',
    params: PermissionsParams,
    replies: { 200: GrantedPermissions },
    handle: async (app, { params }) => {
      const { kind, id } = toTarget(params);
      const access = await app.catalogue.findAccess(kind, id, params.id);
      if (access === null) throw createNotFoundError(kind);
      return replyOk({ perms: expandPermissions(access.permissions) });
    },
  }),
]);

/** The caller as who changes a team or what it owns: the team itself, or a user. */
export const toTeamActor = ({ kind, id, limits }: Caller): TeamActor => ({
  kind: kind === 'team' ? 'team' : 'user',
  id,
  limits,
});

/** A request of a member of the team in the path. */
interface TeamRequest {
  readonly params: { readonly tid: string };
  readonly caller: Caller | null;
}

const toMemberRequest = (request: TeamRequest, userId: string) => ({
  teamId: request.params.tid,
  userId,
  actor: toTeamActor(requireCaller(request)),
});

/** Checks the permission ids of a member. Throws `validation_failed`. */
export const parseMemberPermissions = (ids: readonly string[]): readonly Permission[] =>
  parsePermissionIds('/perms', ids);

/** `POST /teams`. *Ledger* when it resolves. */
export const createTeam = async (
  app: App,
  request: KeyedRequest & { readonly body: TeamBody },
): Promise<Reply> => {
  const { body } = request;
  const max = app.settings.teamsPerUserMax;
  const fields = {
    name: body.name,
    short: body.short ?? '',
    tags: body.tags ?? [],
    extraLinks: toLinkRows(body.extra_links) ?? [],
    nsfw: body.nsfw ?? false,
  };
  const userId = requireCaller(request).id;
  const once = readOnce('createTeam', request);
  const outcome = requireOutcome(
    await app.catalogue.teams.edits.create({ userId, ownedMax: max, once }, fields),
  );
  if (outcome.kind === 'limit_reached')
    throw createLimitError(`You own ${max} teams, which is the maximum. Delete one first.`, max);
  return markReplayed(outcome, replyCreated<TeamCreated>({ team_id: outcome.id }));
};

const toTeamError = (outcome: Exclude<TeamOutcome, { kind: 'done' }>): DomainError => {
  if (outcome.kind === 'permission_missing') return createPermissionError(outcome.permission);
  if (outcome.kind === 'not_found') return createNotFoundError('team');
  const message = 'The team still owns bots or servers: delete or transfer them first.';
  return new DomainError('team_not_empty', message);
};

/** `PATCH /teams/{tid}`: absent and `null` fields keep their value. *Ledger* when it resolves. */
export const editTeam = async (
  app: App,
  request: TeamRequest & { readonly body: TeamEditBody },
): Promise<Reply> => {
  const { tid } = request.params;
  const { body } = request;
  const actor = toTeamActor(requireCaller(request));
  const outcome = await app.catalogue.teams.edits.edit(
    { teamId: tid, actor },
    {
      name: body.name ?? null,
      short: body.short ?? null,
      tags: body.tags ?? null,
      extraLinks: toLinkRows(body.extra_links),
      nsfw: body.nsfw ?? null,
    },
  );
  if (outcome.kind !== 'done') throw toTeamError(outcome);
  app.catalogue.teams.drop(tid);
  return replyHints('', findUnfitFields('team', outcome.listing ?? {}));
};

/** `DELETE /teams/{tid}`. When it resolves, the team is gone on every node and its tokens are refused. */
export const deleteTeam = async (app: App, request: TeamRequest): Promise<Reply> => {
  const { tid } = request.params;
  await app.engine.waitForFlush('team', tid);
  const actor = toTeamActor(requireCaller(request));
  const outcome = await app.catalogue.teams.edits.remove({ teamId: tid, actor });
  if (outcome.kind !== 'done') throw toTeamError(outcome);
  app.catalogue.teams.drop(tid);
  app.sessions.forgetTarget('team', tid);
  await app.engine.deliverAdjustments('team', tid);
  return noContent;
};

type MemberRefusalReason = Exclude<MemberRefusal['reason'], 'permission_missing'>;

const refusalErrors: Record<MemberRefusalReason, (settings: FacadeSettings) => DomainError> = {
  already_member: () => new DomainError('already_exists', 'This user is already a member.'),
  members_full: ({ membersPerTeamMax }) =>
    createLimitError(`A team has at most ${membersPerTeamMax} members.`, membersPerTeamMax),
  unknown_member: () => createNotFoundError('member'),
  last_owner: () =>
    new DomainError('last_owner', 'The team would have no owner. Make another member an owner first.'),
  last_data_holder: () =>
    new DomainError(
      'last_data_holder',
      'The team would have no data holder. Make another member a data holder first.',
    ),
  last_member: () =>
    new DomainError('last_member', 'The last member cannot leave the team. Delete the team instead.'),
};

const toMemberError = (
  app: App,
  outcome: Exclude<MemberOutcome | EditOutcome | RemovalOutcome, { kind: 'done' | 'removed' }>,
): DomainError => {
  if (outcome.kind === 'unknown_team') return createNotFoundError('team');
  if (outcome.kind === 'unknown_user') {
    return createValidationError('body', {
      '/user_id': 'must be the id of a user whom the directory knows, and not of a bot',
    });
  }
  if (outcome.reason === 'permission_missing') return createPermissionError(outcome.permission);
  return refusalErrors[outcome.reason](app.settings);
};
