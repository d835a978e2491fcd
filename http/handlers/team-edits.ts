/**
 * Teams and members as clients make, change and delete them.
 *
 * Passes checked bodies to the catalogue and turns its outcomes into replies or errors. After a change is
 * committed it drops what this node cached; after a deletion the engine hears of it before the answer goes.
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
import { createNotFoundError, parsePermissionIds } from './convert.ts';
import { notifyAfterCommit } from './notify-after-commit.ts';

const toTeamActor = (caller: Caller): TeamActor => ({
  kind: caller.kind === 'team' ? 'team' : 'user',
  id: caller.id,
  limits: caller.limits,
});

const createLimitError = (words: string, limit: number): DomainError =>
  new DomainError('limit_reached', words, { limit: String(limit) });

/** The words as permissions. Throws `validation_failed`. */
export const parseMemberPermissions = (words: readonly string[]): readonly Permission[] =>
  parsePermissionIds('/perms', words);

/** `POST /teams`. */
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
    throw createLimitError(`You own ${teamsPerUserMax} teams already, which is the most.`, teamsPerUserMax);
  }
  const reply: TeamCreated = { team_id: outcome.id };
  return replyCreated(reply);
};

const toTeamError = (outcome: Exclude<TeamOutcome, { kind: 'done' }>): DomainError => {
  if (outcome.kind === 'permission_missing') return createPermissionError(outcome.permission);
  if (outcome.kind === 'not_found') return createNotFoundError('team');
  const words = 'The team still owns bots or servers: delete or transfer them first.';
  return new DomainError('team_not_empty', words);
};

/** `PATCH /teams/{tid}`: absent and `null` fields stay as they are. */
export const editTeam = async (
  app: App,
  who: { readonly teamId: string; readonly caller: Caller },
  body: TeamEditBody,
): Promise<Reply> => {
  const outcome = await app.catalogue.teams.edits.edit(who.teamId, toTeamActor(who.caller), {
    name: body.name ?? null,
    short: body.short ?? null,
    tags: body.tags ?? null,
    extraLinks: body.extra_links ?? null,
    nsfw: body.nsfw ?? null,
  });
  if (outcome.kind !== 'done') throw toTeamError(outcome);
  app.catalogue.teams.drop(who.teamId);
  return noContent;
};

/** `DELETE /teams/{tid}`: its tokens are dead and it is unknown everywhere when this resolves. */
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
  already_member: () => new DomainError('already_exists', 'This user is a member already.'),
  members_full: ({ membersPerTeamMax }) =>
    createLimitError(`A team has at most ${membersPerTeamMax} members.`, membersPerTeamMax),
  unknown_member: () => createNotFoundError('member'),
  last_owner: () => new DomainError('last_owner', 'The team would have no owner: make another one first.'),
  last_data_holder: () =>
    new DomainError('last_data_holder', 'The team would have no data holder: make another one first.'),
  last_member: () => new DomainError('last_member', 'The last member cannot go: delete the team instead.'),
};

const toMemberError = (
  app: App,
  outcome: Exclude<MemberOutcome | EditOutcome | RemovalOutcome, { kind: 'done' | 'removed' }>,
): DomainError => {
  if (outcome.kind === 'unknown_team') return createNotFoundError('team');
  if (outcome.kind === 'unknown_user') {
    return createValidationError('body', { '/user_id': 'must be the id of a known user who is not a bot' });
  }
  if (outcome.reason === 'permission_missing') return createPermissionError(outcome.permission);
  return refusalErrors[outcome.reason](app.settings);
};

/** Path and caller of an operation on one member. */
export interface MemberPath {
  readonly params: { readonly tid: string; readonly mid: string };
  readonly caller: Caller;
}

/** `PUT /teams/{tid}/members`. */
export const addMember = async (
  app: App,
  who: { readonly teamId: string; readonly caller: Caller },
  body: MemberBody,
): Promise<Reply> => {
  const request = { teamId: who.teamId, userId: body.user_id, actor: toTeamActor(who.caller) };
  const outcome = await app.catalogue.teams.members.add(request, {
    permissions: parseMemberPermissions(body.perms),
    membersMax: app.settings.membersPerTeamMax,
  });
  if (outcome.kind !== 'done') throw toMemberError(app, outcome);
  return noContent;
};

/**
 * `PATCH /teams/{tid}/members/{mid}`: what is absent, `null` or `[]` stays as it is. Tokens that the member
 * minted and that hold more than the member is left with are dead when this resolves.
 */
export const editMember = async (app: App, path: MemberPath, body: MemberEditBody): Promise<Reply> => {
  const { tid: teamId, mid: userId } = path.params;
  const words = body.perms ?? [];
  const outcome = await app.catalogue.teams.members.edit(
    { teamId, userId, actor: toTeamActor(path.caller) },
    {
      permissions: words.length === 0 ? null : parseMemberPermissions(words),
      dataHolder: body.data_holder ?? null,
      mentionable: body.mentionable ?? null,
    },
  );
  if (outcome.kind !== 'done') throw toMemberError(app, outcome);
  app.sessions.forget(...outcome.revoked);
  return noContent;
};

/** `DELETE /teams/{tid}/members/{mid}`: what he minted for the team is dead when this resolves. */
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

/** `GET /users/{id}/{target_type}/{target_id}/perms`: `owner` is shown as all there are. */
export const showPermissions = async (
  app: App,
  target: { readonly kind: 'bot' | 'server' | 'team'; readonly id: string },
  userId: string,
): Promise<Reply> => {
  const access = await app.catalogue.findAccess(target.kind, target.id, userId);
  if (access === null) throw createNotFoundError(target.kind);
  return replyOk({ perms: expandPermissions(access.permissions) });
};

/** `GET /teams/{id}/seo`: by id, vanity code or name. */
export const showTeamSeo = async (app: App, word: string): Promise<Reply> => {
  const { teams } = app.catalogue;
  let profile = await teams.find(word);
  if (profile === null) {
    const id = await teams.idByName(word);
    profile = id === null ? null : await teams.find(id);
  }
  if (profile === null) throw createNotFoundError('team');
  const seo: Seo = { avatar: '', id: profile.id, name: profile.name, short: profile.short };
  return replyOk(seo);
};
