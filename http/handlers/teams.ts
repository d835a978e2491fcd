/**
 * Shows teams: the catalogue's profile, the engine's votes, and the requested entities.
 *
 * The profile is serialised once per cached row. Bots and servers use this file to show their team.
 */
import { DomainError } from '../../engine/errors.ts';
import type { MaybePromise } from '../../storage/catalogue/catalogue.ts';
import type { TeamHoldings, TeamProfile } from '../../storage/catalogue/teams/teams.ts';
import { type App, type Reply, replyText } from '../route.ts';
import { type Team, type TeamEntities, type TeamTarget, teamTargets } from '../schema/teams.ts';
import { computeVotes, createNotFoundError, splitList, thenMaybe, toTimestamp, toUser } from './convert.ts';
import { toIndexBot, toIndexServer } from './index-entities.ts';

/** The most values of `team_includes` and `targets`. */
const targetsMax = 16;

const noTargets: readonly TeamTarget[] = [];

/** The known kinds of a comma-separated list, in fixed order. Throws `validation_failed` for a long list. */
export const parseTeamTargets = (name: string, list: string | undefined): readonly TeamTarget[] => {
  const names = splitList(list);
  if (names.length === 0) return noTargets;
  if (names.length > targetsMax) {
    const requirement = `must name at most ${targetsMax} kinds`;
    throw new DomainError('validation_failed', `${name} ${requirement}.`, { [`/${name}`]: requirement });
  }
  return teamTargets.filter((target) => names.includes(target));
};

/**
 * Parses the parameter `targets` of `GET /teams/{id}`: which kinds of data to return. Throws
 * `validation_failed` if it is empty; the message lists all kinds.
 */
export const parseRequiredTargets = (query: { readonly targets: string }): readonly TeamTarget[] => {
  if (query.targets !== '') return parseTeamTargets('targets', query.targets);
  const requirement = `must name the kinds to return, separated by commas: ${teamTargets.join(', ')}`;
  throw new DomainError('validation_failed', `targets ${requirement}.`, { '/targets': requirement });
};

type FixedTeamFields = Omit<Team, 'approximate_votes' | 'entities' | 'votes'>;

const toFixedFields = (profile: TeamProfile): FixedTeamFields => ({
  created_at: toTimestamp(profile.created_at),
  extra_links: [...profile.extra_links],
  id: profile.id,
  name: profile.name,
  nsfw: profile.nsfw,
  service: profile.service,
  short: profile.short,
  tags: [...profile.tags],
  updated_at: toTimestamp(profile.updated_at),
  vanity: profile.vanity,
  vanity_ref: profile.vanity_ref,
  vote_banned: profile.vote_banned,
});

/** For each cached profile, the JSON of the fields that only an edit changes, without the closing brace. */
const cachedHeads = new WeakMap<TeamProfile, string>();
const getTeamHead = (profile: TeamProfile): string => {
  const head = cachedHeads.get(profile) ?? JSON.stringify(toFixedFields(profile)).slice(0, -1);
  cachedHeads.set(profile, head);
  return head;
};

const toTeamEntities = (
  holdings: TeamHoldings,
  targets: readonly TeamTarget[],
  nowMs: number,
): TeamEntities => ({
  bots: holdings.bots.map((row) => toIndexBot(row, nowMs)),
  members: holdings.members.map((row) => ({
    created_at: toTimestamp(row.created_at),
    data_holder: row.data_holder,
    flags: [...row.flags],
    itag: row.itag,
    mentionable: row.mentionable,
    service: row.service,
    team_id: row.team_id,
    user: toUser(row.person, { id: row.user_id, bot: false }),
  })),
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
  thenMaybe(app.catalogue.teams.find(idOrVanity), (profile) => {
    if (profile === null) throw createNotFoundError('team');
    return thenMaybe(renderEntities(app, profile.id, targets), (entities) =>
      thenMaybe(
        app.engine.read('team', profile.id),
        ({ state }) =>
          `${getTeamHead(profile)},"approximate_votes":${state.flushedVotes},"entities":${entities}` +
          `,"votes":${computeVotes(state)}}`,
      ),
    );
  });

/** `GET /teams/{id}`. */
export const showTeam = (app: App, idOrVanity: string, targets: readonly TeamTarget[]): MaybePromise<Reply> =>
  thenMaybe(renderTeam(app, idOrVanity, targets), replyText);
