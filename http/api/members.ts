/**
 * Creates, changes and deletes teams and their members (contract §4.3).
 *
 * Passes checked bodies to the catalogue and turns its outcomes into replies or errors. After a commit it
 * drops what this node cached. A deletion is delivered to the engine before the reply is sent.
 */
import { type Static, Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { entityKinds } from '../../engine/ids.ts';
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
import { createPermissionError } from '../auth/authorise.ts';
import { createLimitError, createNotFoundError } from '../response/errors.ts';
import { noContent, type Reply, replyCreated, replyOk } from '../response/reply.ts';
import { createValidationError } from '../response/validation-error.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import {
  buildTargetType,
  buildTextList,
  Flag,
  type Seo,
  TargetId,
  toNullable,
  UserId,
  Uuid,
} from './shared/common.ts';
import { parsePermissionIds } from './shared/convert.ts';
import { buildObject, describe } from './shared/example.ts';
import { buildLine, buildProse, buildTags, LinksInput } from './shared/fields.ts';
import { notifyAfterCommit } from './shared/notify-after-commit.ts';
import { type KeyedRequest, markReplayed, readOnce, requireOutcome } from './shared/once.ts';
import { plainText } from './shared/patterns.ts';
import { requireCaller, toTarget } from './shared/request-values.ts';

/** More than there are permissions; duplicates are dropped. */
const permissionIdsMax = 64;

/** The kinds of entities on which a user can have permissions. */
export const permissionKinds = entityKinds.filter((kind) => kind !== 'pack');

const TeamId = describe(TargetId, 'Id of the team.');
export const TeamEditParams = Type.Object({ tid: TeamId });
export const MemberParams = Type.Object({ tid: TeamId, mid: describe(UserId, 'Id of the member (a user).') });

export const PermissionsParams = Type.Object({
  id: UserId,
  target_type: buildTargetType(permissionKinds),
  target_id: TargetId,
});

const name = describe(buildLine(3, 32, 'Keepers'), 'Name of the team, 3 to 32 characters.');

const optionalFields = {
  extra_links: Type.Optional(
    describe(toNullable(LinksInput), 'Up to 20 links; `null` is the same as absent.'),
  ),
  nsfw: Type.Optional(
    describe(toNullable(Flag), 'Whether the team is for adults only; `null` is the same as absent.'),
  ),
  short: Type.Optional(
    describe(
      toNullable(buildProse(0, 150, 'We keep the lights on.')),
      'Short description, up to 150 characters; `null` is the same as absent.',
    ),
  ),
  tags: Type.Optional(
    describe(
      toNullable(buildTags(0)),
      'Up to 5 different tags of 3 to 30 characters; `null` is the same as absent.',
    ),
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

const PermissionIds = Type.Array(Type.String({ examples: ['edit_bots'] }), {
  maxItems: permissionIdsMax,
  description: 'Permission ids (see `GET /teams/meta/permissions`), up to 64.',
});

export const MemberBody = buildObject({
  perms: PermissionIds,
  user_id: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: plainText,
    description: 'Id of a user whom the directory knows, and who is not a bot.',
    examples: ['728871946456137770'],
  }),
});
export type MemberBody = Static<typeof MemberBody>;

export const MemberEditBody = buildObject(
  {
    data_holder: Type.Optional(
      describe(
        toNullable(Flag),
        'Whether the member answers for all data of the team. Absent or `null`: unchanged.',
      ),
    ),
    mentionable: Type.Optional(
      describe(
        toNullable(Flag),
        'Whether the member may be mentioned in alerts. Absent or `null`: unchanged.',
      ),
    ),
    perms: Type.Optional(
      describe(
        toNullable(PermissionIds),
        'All permission ids that the member has from now on, up to 64. Absent, `null` or `[]`: unchanged.',
      ),
    ),
  },
  { data_holder: null, mentionable: true, perms: ['edit_bots'] },
);
export type MemberEditBody = Static<typeof MemberEditBody>;

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
    handle: (app, request) =>
      addMember(app, { teamId: request.params.tid, caller: requireCaller(request) }, request.body),
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
    handle: (app, request) =>
      editMember(app, { params: request.params, caller: requireCaller(request) }, request.body),
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
    handle: (app, request) => removeMember(app, { params: request.params, caller: requireCaller(request) }),
  }),
  defineRoute('getPermissions', 'GET /users/{id}/{target_type}/{target_id}/perms', {
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

const toTeamActor = (caller: Caller): TeamActor => ({
  kind: caller.kind === 'team' ? 'team' : 'user',
  id: caller.id,
  limits: caller.limits,
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
  const { teamsPerUserMax } = app.settings;
  const fields = {
    name: body.name,
    short: body.short ?? '',
    tags: body.tags ?? [],
    extraLinks: body.extra_links ?? [],
    nsfw: body.nsfw ?? false,
  };
  const outcome = requireOutcome(
    await app.catalogue.teams.edits.create(requireCaller(request).id, fields, {
      ownedMax: teamsPerUserMax,
      once: readOnce('createTeam', request),
    }),
  );
  if (outcome.kind === 'limit_reached') {
    const message = `You own ${teamsPerUserMax} teams, which is the maximum. Delete one first.`;
    throw createLimitError(message, teamsPerUserMax);
  }
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
  target: { readonly teamId: string; readonly caller: Caller },
  body: TeamEditBody,
): Promise<Reply> => {
  const outcome = await app.catalogue.teams.edits.edit(target.teamId, toTeamActor(target.caller), {
    name: body.name ?? null,
    short: body.short ?? null,
    tags: body.tags ?? null,
    extraLinks: body.extra_links ?? null,
    nsfw: body.nsfw ?? null,
  });
  if (outcome.kind !== 'done') throw toTeamError(outcome);
  app.catalogue.teams.drop(target.teamId);
  return noContent;
};

/** `DELETE /teams/{tid}`. When it resolves, the team is gone on every node and its tokens are refused. */
export const deleteTeam = async (app: App, teamId: string, caller: Caller): Promise<Reply> => {
  await app.engine.waitForFlush('team', teamId);
  const outcome = await app.catalogue.teams.edits.remove(teamId, toTeamActor(caller));
  if (outcome.kind !== 'done') throw toTeamError(outcome);
  app.catalogue.teams.drop(teamId);
  app.sessions.forgetTarget('team', teamId);
  await notifyAfterCommit(app.engine.deliverAdjustments('team', teamId));
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

/** The path parameters and the caller of an operation on one member. */
export interface MemberPath {
  readonly params: { readonly tid: string; readonly mid: string };
  readonly caller: Caller;
}

/** `PUT /teams/{tid}/members`. *Ledger* when it resolves. */
export const addMember = async (
  app: App,
  target: { readonly teamId: string; readonly caller: Caller },
  body: MemberBody,
): Promise<Reply> => {
  const request = { teamId: target.teamId, userId: body.user_id, actor: toTeamActor(target.caller) };
  const outcome = await app.catalogue.teams.members.add(request, {
    permissions: parseMemberPermissions(body.perms),
    membersMax: app.settings.membersPerTeamMax,
  });
  if (outcome.kind !== 'done') throw toMemberError(app, outcome);
  return noContent;
};

/**
 * `PATCH /teams/{tid}/members/{mid}`: absent, `null` and `[]` fields keep their value. When it resolves,
 * tokens that the member created and that have more permissions than the member still has are refused.
 */
export const editMember = async (app: App, path: MemberPath, body: MemberEditBody): Promise<Reply> => {
  const { tid: teamId, mid: userId } = path.params;
  const permissionIds = body.perms ?? [];
  const outcome = await app.catalogue.teams.members.edit(
    { teamId, userId, actor: toTeamActor(path.caller) },
    {
      permissions: permissionIds.length === 0 ? null : parseMemberPermissions(permissionIds),
      dataHolder: body.data_holder ?? null,
      mentionable: body.mentionable ?? null,
    },
  );
  if (outcome.kind !== 'done') throw toMemberError(app, outcome);
  app.sessions.forget(...outcome.revoked);
  return noContent;
};

/** `DELETE /teams/{tid}/members/{mid}`. When it resolves, tokens that they minted for it are refused. */
export const removeMember = async (app: App, path: MemberPath): Promise<Reply> => {
  const { tid: teamId, mid: userId } = path.params;
  const outcome = await app.catalogue.teams.members.remove({
    teamId,
    userId,
    actor: toTeamActor(path.caller),
  });
  if (outcome.kind !== 'removed') throw toMemberError(app, outcome);
  app.sessions.forget(...outcome.revoked);
  return noContent;
};

/** `GET /users/{id}/{target_type}/{target_id}/perms`: `owner` is shown as all permissions. */
export const showPermissions = async (
  app: App,
  target: { readonly kind: 'bot' | 'server' | 'team'; readonly id: string },
  userId: string,
): Promise<Reply> => {
  const access = await app.catalogue.findAccess(target.kind, target.id, userId);
  if (access === null) throw createNotFoundError(target.kind);
  return replyOk({ perms: expandPermissions(access.permissions) });
};

/** `GET /teams/{id}/seo`: finds the team by id, vanity code or name. */
export const showTeamSeo = async (app: App, idVanityOrName: string): Promise<Reply> => {
  const { teams } = app.catalogue;
  let profile = await teams.find(idVanityOrName);
  if (profile === null) {
    const id = await teams.idByName(idVanityOrName);
    profile = id === null ? null : await teams.find(id);
  }
  if (profile === null) throw createNotFoundError('team');
  return replyOk<Seo>({ avatar: '', id: profile.id, name: profile.name, short: profile.short });
};
