/**
 * Teams and members as clients make, change and delete them.
 *
 * Passes checked bodies to the catalogue and turns its outcomes into replies or errors. After a change is
 * committed it drops what this node cached; after a deletion the engine hears of it before the answer goes.
 */
import { DomainError } from '../../engine/errors.ts';
import type { MemberRefusal, TeamActor } from '../../engine/rules/members.ts';
import { expandPermissions, type Permission } from '../../engine/rules/permissions.ts';
import type { TeamOutcome } from '../../storage/catalogue/team-edits.ts';
import type { EditOutcome, MemberOutcome, RemovalOutcome } from '../../storage/catalogue/team-members.ts';
import { permissionMissing } from '../auth/authorise.ts';
import { invalid } from '../invalid.ts';
import { type App, type Caller, created, type FacadeSettings, noContent, ok, type Reply } from '../route.ts';
import type { Seo } from '../schema/common.ts';
import type {
  MemberBody,
  MemberEditBody,
  TeamBody,
  TeamCreated,
  TeamEditBody,
} from '../schema/team-edits.ts';
import { afterwards } from './afterwards.ts';
import { notFound, permissionsAt } from './values.ts';

const actorOf = (caller: Caller): TeamActor => ({
  kind: caller.kind === 'team' ? 'team' : 'user',
  id: caller.id,
  limits: caller.limits,
});

const limitReached = (words: string, limit: number): DomainError =>
  new DomainError('limit_reached', words, { limit: String(limit) });

/** The words as permissions. Throws `validation_failed`. */
export const permissionsOf = (words: readonly string[]): readonly Permission[] =>
  permissionsAt('/perms', words);

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
    throw limitReached(`You own ${teamsPerUserMax} teams already, which is the most.`, teamsPerUserMax);
  }
  const reply: TeamCreated = { team_id: outcome.id };
  return created(reply);
};

const refuseTeam = (outcome: Exclude<TeamOutcome, { kind: 'done' }>): DomainError => {
  if (outcome.kind === 'permission_missing') return permissionMissing(outcome.permission);
  if (outcome.kind === 'not_found') return notFound('team');
  const words = 'The team still owns bots or servers: delete or transfer them first.';
  return new DomainError('team_not_empty', words);
};

/** `PATCH /teams/{tid}`: absent and `null` fields stay as they are. */
export const editTeam = async (
  app: App,
  who: { readonly teamId: string; readonly caller: Caller },
  body: TeamEditBody,
): Promise<Reply> => {
  const outcome = await app.catalogue.teams.edits.edit(who.teamId, actorOf(who.caller), {
    name: body.name ?? null,
    short: body.short ?? null,
    tags: body.tags ?? null,
    extraLinks: body.extra_links ?? null,
    nsfw: body.nsfw ?? null,
  });
  if (outcome.kind !== 'done') throw refuseTeam(outcome);
  app.catalogue.teams.drop(who.teamId);
  return noContent;
};

/** `DELETE /teams/{tid}`: its tokens are dead and it is unknown everywhere when this resolves. */
export const deleteTeam = async (app: App, teamId: string, caller: Caller): Promise<Reply> => {
  await app.engine.flushed('team', teamId);
  const outcome = await app.catalogue.teams.edits.remove(teamId, actorOf(caller));
  if (outcome.kind !== 'done') throw refuseTeam(outcome);
  app.catalogue.teams.drop(teamId);
  app.sessions.forgetTarget('team', teamId);
  await afterwards(app.engine.deliver('team', teamId));
  return noContent;
};

type Reason = Exclude<MemberRefusal['reason'], 'permission_missing'>;
const refusalErrors: Record<Reason, (settings: FacadeSettings) => DomainError> = {
  already_member: () => new DomainError('already_exists', 'This user is a member already.'),
  members_full: ({ membersPerTeamMax }) =>
    limitReached(`A team has at most ${membersPerTeamMax} members.`, membersPerTeamMax),
  unknown_member: () => notFound('member'),
  last_owner: () => new DomainError('last_owner', 'The team would have no owner: make another one first.'),
  last_data_holder: () =>
    new DomainError('last_data_holder', 'The team would have no data holder: make another one first.'),
  last_member: () => new DomainError('last_member', 'The last member cannot go: delete the team instead.'),
};

const refuseMember = (
  app: App,
  outcome: Exclude<MemberOutcome | EditOutcome | RemovalOutcome, { kind: 'done' | 'removed' }>,
): DomainError => {
  if (outcome.kind === 'unknown_team') return notFound('team');
  if (outcome.kind === 'unknown_user') {
    return invalid('body', { '/user_id': 'must be the id of a known user who is not a bot' });
  }
  if (outcome.reason === 'permission_missing') return permissionMissing(outcome.permission);
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
  const request = { teamId: who.teamId, userId: body.user_id, actor: actorOf(who.caller) };
  const outcome = await app.catalogue.teams.members.add(request, {
    permissions: permissionsOf(body.perms),
    membersMax: app.settings.membersPerTeamMax,
  });
  if (outcome.kind !== 'done') throw refuseMember(app, outcome);
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
    { teamId, userId, actor: actorOf(path.caller) },
    {
      permissions: words.length === 0 ? null : permissionsOf(words),
      dataHolder: body.data_holder ?? null,
      mentionable: body.mentionable ?? null,
    },
  );
  if (outcome.kind !== 'done') throw refuseMember(app, outcome);
  app.sessions.forget(...outcome.revoked);
  return noContent;
};

/** `DELETE /teams/{tid}/members/{mid}`: what he minted for the team is dead when this resolves. */
export const removeMember = async (app: App, path: MemberPath): Promise<Reply> => {
  const { tid: teamId, mid: userId } = path.params;
  const outcome = await app.catalogue.teams.members.remove({ teamId, userId, actor: actorOf(path.caller) });
  if (outcome.kind !== 'removed') throw refuseMember(app, outcome);
  app.sessions.forget(...outcome.revoked);
  return noContent;
};

/** `GET /users/{id}/{target_type}/{target_id}/perms`: `owner` is shown as all there are. */
export const showPermissions = async (
  app: App,
  target: { readonly kind: 'bot' | 'server' | 'team'; readonly id: string },
  userId: string,
): Promise<Reply> => {
  const standing = await app.catalogue.permissionsOn(target.kind, target.id, userId);
  if (standing === null) throw notFound(target.kind);
  return ok({ perms: expandPermissions(standing.permissions) });
};

/** `GET /teams/{id}/seo`: by id, vanity code or name. */
export const showTeamSeo = async (app: App, word: string): Promise<Reply> => {
  const { teams } = app.catalogue;
  let profile = await teams.profile(word);
  if (profile === null) {
    const id = await teams.idByName(word);
    profile = id === null ? null : await teams.profile(id);
  }
  if (profile === null) throw notFound('team');
  const seo: Seo = { avatar: '', id: profile.id, name: profile.name, short: profile.short };
  return ok(seo);
};
