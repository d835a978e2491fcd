/**
 * Creates, changes and deletes teams and their members for clients.
 *
 * Passes checked bodies to the catalogue and turns its outcomes into replies or errors. After a commit it
 * drops what this node cached. A deletion is delivered to the engine before the reply is sent.
 */
import { DomainError } from '../../engine/errors.ts';
import type { MemberRefusal, TeamActor } from '../../engine/rules/members.ts';
import { expandPermissions, type Permission } from '../../engine/rules/permissions.ts';
import type { TeamOutcome } from '../../storage/catalogue/teams/team-edits.ts';
import type {
  EditOutcome,
  MemberOutcome,
  RemovalOutcome,
} from '../../storage/catalogue/teams/team-members.ts';
import { createPermissionError } from '../auth/authorise.ts';
import { createValidationError } from '../response/validation-error.ts';
import {
  type App,
  type Caller,
  type FacadeSettings,
  noContent,
  type Reply,
  replyCreated,
  replyOk,
} from '../route.ts';
import type { Seo } from '../schema/common.ts';
import type {
  MemberBody,
  MemberEditBody,
  TeamBody,
  TeamCreated,
  TeamEditBody,
} from '../schema/team-edits.ts';
import { createLimitError, createNotFoundError, parsePermissionIds } from './convert.ts';
import { notifyAfterCommit } from './notify-after-commit.ts';

const toTeamActor = (caller: Caller): TeamActor => ({
  kind: caller.kind === 'team' ? 'team' : 'user',
  id: caller.id,
  limits: caller.limits,
});

/** Checks the permission ids of a member. Throws `validation_failed`. */
export const parseMemberPermissions = (ids: readonly string[]): readonly Permission[] =>
  parsePermissionIds('/perms', ids);

/** `POST /teams`. *Ledger* when it resolves. */
export const createTeam = async (app: App, caller: Caller, body: TeamBody): Promise<Reply> => {
  const { teamsPerUserMax } = app.settings;
  const fields = {
    name: body.name,
    short: body.short ?? '',
    tags: body.tags ?? [],
    extraLinks: body.extra_links ?? [],
    nsfw: body.nsfw ?? false,
  };
  const outcome = await app.catalogue.teams.edits.create(caller.id, fields, teamsPerUserMax);
  if (outcome.kind === 'limit_reached') {
    const message = `You own ${teamsPerUserMax} teams, which is the maximum. Delete one first.`;
    throw createLimitError(message, teamsPerUserMax);
  }
  return replyCreated<TeamCreated>({ team_id: outcome.id });
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
