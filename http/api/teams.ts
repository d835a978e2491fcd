/**
 * Teams (contract §2.8, §4.3): the catalogue's profile, the engine's votes, and the requested entities.
 * members.ts changes teams and has their members. A profile is serialised once per cached row. Bots and
 * servers use this file to show their team.
 */
import { type Static, Type } from 'typebox';
import { computeVotes } from '../../engine/entity/state.ts';
import { DomainError } from '../../engine/errors.ts';
import { permissionCatalogue } from '../../engine/rules/permissions.ts';
import type { MaybePromise } from '../../storage/catalogue/catalogue.ts';
import type { TeamHoldings, TeamProfile } from '../../storage/catalogue/teams/teams.ts';
import type { App } from '../app.ts';
import { requireFound } from '../response/errors.ts';
import { replyOk, replyText, showRow } from '../response/reply.ts';
import { definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import {
  createTeam,
  deleteTeam,
  editTeam,
  TeamBody,
  TeamCreated,
  TeamEditBody,
  TeamEditParams,
} from './members.ts';
import {
  buildFlag,
  buildSum,
  buildText,
  buildTextList,
  ExtraLink,
  Seo,
  TeamIdOrVanity,
  Timestamp,
  User,
  Uuid,
} from './shared/common.ts';
import { parseTeamTargets, type TeamTarget, teamTargets, thenMaybe, toUser } from './shared/convert.ts';
import { buildObject, describe, describeObject } from './shared/example.ts';
import { checkLinks } from './shared/fields.ts';
import { IndexBot, IndexServer, toIndexBot, toIndexServer } from './shared/index-entities.ts';

export const TeamParams = Type.Object({ id: TeamIdOrVanity });

export const TeamQuery = Type.Object({
  // The empty default lets the handler refuse a missing value with a message that lists the kinds.
  targets: Type.String({
    default: '',
    description:
      'Comma-separated kinds of entities to return: `team_member`, `bot`, `server`; others are ignored.',
    examples: ['team_member,bot,server'],
  }),
});

const service = buildText('api', 'How it came here: `api`, or `operator` for what the operator imported.');

export const TeamMember = describeObject(
  'A member of a team. `GET /users/{id}/team/{target_id}/perms` has their permissions.',
  {
    created_at: describe(Timestamp, 'When the user joined the team.'),
    data_holder: buildFlag('Whether the member answers for all data of the team.', true),
    flags: buildTextList('Marks that the operator imported; usually `[]`.', []),
    itag: describe(Uuid, 'Id of this membership; joining again gives a new one.'),
    mentionable: buildFlag('Whether the member may be mentioned in alerts.', true),
    service,
    team_id: buildText('018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10', 'Id of the team.'),
    user: describe(User, 'Who the member is.'),
  },
);

export const TeamEntities = buildObject(
  {
    bots: describe(Type.Array(IndexBot), 'Bots that the team owns; `[]` unless requested.'),
    members: describe(Type.Array(TeamMember), 'Members of the team; `[]` unless requested.'),
    servers: describe(Type.Array(IndexServer), 'Servers that the team owns; `[]` unless requested.'),
    targets: buildTextList('The requested kinds: `team_member`, `bot`, `server`.', ['team_member']),
  },
  { bots: [], servers: [] },
);
export type TeamEntities = Static<typeof TeamEntities>;

export const Team = describeObject(
  'A team: users who own bots and servers together.',
  {
    approximate_votes: buildSum(7, 'Upvotes minus downvotes, as last written to the database.'),
    created_at: describe(Timestamp, 'When the team was created.'),
    entities: describe(TeamEntities, 'What belongs to the team, as far as it was requested.'),
    extra_links: describe(Type.Array(ExtraLink), 'Up to 20 links of the team.'),
    id: buildText('018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10', 'Id of the team.'),
    name: buildText('Keepers', 'Name of the team, 3 to 32 characters.'),
    nsfw: buildFlag('Whether it is for adults only.'),
    service,
    short: buildText('We keep the lights on.', 'Short description, up to 150 characters; may be empty.'),
    tags: buildTextList('Up to 5 different tags of 3 to 30 characters.', ['utility']),
    updated_at: describe(Timestamp, 'When its profile was last changed.'),
    vanity: buildText('keepers', 'Its short address, as in `/@{code}`: 2 to 32 of `a-z 0-9 - _`.'),
    vanity_ref: describe(Uuid, 'Id of the vanity code; it stays when the code changes.'),
    vote_banned: buildFlag('Whether the operator has banned it from receiving votes.'),
    votes: buildSum(7, 'Upvotes minus downvotes, as of now; may be negative.'),
  },
  { extra_links: [] },
);

export const TeamPermission = describeObject('A permission that a member of a team can have.', {
  category: buildText('General', 'Heading under which menus show it.'),
  dangerous: buildFlag('Whether it can do harm that is hard to undo.', true),
  desc: buildText('Everything, and deleting the team.', 'What it allows, as a sentence.'),
  id: buildText('owner', 'Id, as `perms` and `perm_limits` name it.'),
  name: buildText('Owner', 'Name to show.'),
});

export const TeamPermissions = buildObject({
  perms: describe(Type.Array(TeamPermission), 'All 24 permissions, in the order of menus.'),
});

export const teamRoutes = defineRoutes('Teams', [
  definePublicRoute('listTeamPermissions', 'GET /teams/meta/permissions', {
    summary: 'List permissions',
    description: 'All 24 permissions that a team member can have. `owner` implies the others.',
    caching: 'entity',
    replies: { 200: TeamPermissions },
    handle: () => replyOk({ perms: permissionCatalogue }),
  }),
  definePublicRoute('getTeam', 'GET /teams/{id}', {
    summary: 'Get a team',
    description:
      'One team by id or vanity code, with those of its members, bots and servers that `targets` ' + 'names.',
    caching: 'entity',
    params: TeamParams,
    query: TeamQuery,
    replies: { 200: Team },
    handle: (app, { params, query }) =>
      thenMaybe(renderTeam(app, params.id, parseRequiredTargets(query.targets)), replyText),
  }),
  definePublicRoute('getTeamSeo', 'GET /teams/{id}/seo', {
    summary: 'Get the preview of a team',
    description: 'What search engines and link previews show of a team, by id, vanity code or name.',
    caching: 'entity',
    params: TeamParams,
    replies: { 200: Seo },
    handle: async (app, { params }) => {
      const { teams } = app.catalogue;
      const found = (await teams.find(params.id)) ?? (await findTeamByName(app, params.id));
      const { id, name, short } = requireFound(found, 'team');
      return replyOk<Seo>({ avatar: '', id, name, short });
    },
  }),
  defineRoute('createTeam', 'POST /teams', {
    keyed: true,
    summary: 'Create a team',
    description: 'The caller becomes its owner and data holder. At most 50 teams per user.',
    auth: { kind: 'user' },
    body: TeamBody,
    replies: { 201: TeamCreated },
    check: ({ body }) => checkLinks(body.extra_links),
    handle: createTeam,
  }),
  defineRoute('editTeam', 'PATCH /teams/{tid}', {
    summary: 'Change a team',
    description:
      'Absent and `null` fields keep their value; a given list replaces the old list. Only the fields ' +
      'that it brings are judged.',
    hinted: true,
    auth: { kind: 'entity', kinds: ['user', 'team'], permission: 'edit_team', type: '=team', id: 'tid' },
    params: TeamEditParams,
    body: TeamEditBody,
    replies: { 204: null },
    check: ({ body }) => checkLinks(body.extra_links),
    handle: editTeam,
  }),
  defineRoute('deleteTeam', 'DELETE /teams/{tid}', {
    summary: 'Delete a team',
    description: 'Deletes it for good; it must not own bots or servers. Its votes become void.',
    auth: { kind: 'entity', kinds: ['user', 'team'], permission: 'owner', type: '=team', id: 'tid' },
    params: TeamEditParams,
    replies: { 204: null },
    errors: ['team_not_empty'],
    handle: deleteTeam,
  }),
]);

const findTeamByName = async ({ catalogue: { teams } }: App, name: string): Promise<TeamProfile | null> => {
  const id = await teams.idByName(name);
  return id === null ? null : teams.find(id);
};

/** Throws `validation_failed` if the list is empty, too; the message names all kinds. */
const parseRequiredTargets = (list: string): readonly TeamTarget[] => {
  if (list !== '') return parseTeamTargets('targets', list);
  const requirement = `must name the kinds to return, separated by commas: ${teamTargets.join(', ')}`;
  throw new DomainError('validation_failed', `targets ${requirement}.`, { '/targets': requirement });
};

const FixedTeamFields = Type.Omit(Team, ['approximate_votes', 'entities', 'votes']);

/** For each cached profile, the JSON of the fields that only an edit changes, without the closing brace. */
const cachedHeads = new WeakMap<TeamProfile, string>();

const getTeamHead = (profile: TeamProfile): string => {
  const head = cachedHeads.get(profile) ?? JSON.stringify(showRow(FixedTeamFields, profile)).slice(0, -1);
  cachedHeads.set(profile, head);
  return head;
};

const toTeamEntities = (
  holdings: TeamHoldings,
  targets: readonly TeamTarget[],
  nowMs: number,
): TeamEntities => ({
  bots: holdings.bots.map((row) => toIndexBot(row, nowMs)),
  members: holdings.members.map((row) =>
    showRow(TeamMember, row, { user: toUser(row.person, { id: row.user_id, bot: false }) }),
  ),
  servers: holdings.servers.map((row) => toIndexServer(row, nowMs)),
  targets: [...targets],
});

const noEntities = JSON.stringify({ bots: [], members: [], servers: [], targets: [] });

const renderEntities = (app: App, teamId: string, targets: readonly TeamTarget[]): MaybePromise<string> => {
  if (targets.length === 0) return noEntities;
  const holdings = app.catalogue.teams.holdings(teamId, {
    members: targets.includes('team_member'),
    bots: targets.includes('bot'),
    servers: targets.includes('server'),
  });
  return holdings.then((loaded) => JSON.stringify(toTeamEntities(loaded, targets, app.clock.nowMs())));
};

/** Renders a team as JSON text; no promise if everything is in memory. Throws or rejects with `not_found`. */
export const renderTeam = (
  app: App,
  idOrVanity: string,
  targets: readonly TeamTarget[],
): MaybePromise<string> =>
  thenMaybe(app.catalogue.teams.find(idOrVanity), (found) => {
    const profile = requireFound(found, 'team');
    return thenMaybe(renderEntities(app, profile.id, targets), (entities) =>
      thenMaybe(
        app.engine.read('team', profile.id),
        ({ state }) =>
          `${getTeamHead(profile)},"approximate_votes":${state.flushedVotes},"entities":${entities}` +
          `,"votes":${computeVotes(state)}}`,
      ),
    );
  });
