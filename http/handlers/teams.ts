/**
 * Teams as clients see them: the catalogue's profile, the engine's votes, and the entities asked for.
 *
 * The profile is serialised once and kept with the cached row; bots and servers show their team with it.
 */
import { DomainError } from '../../engine/errors.ts';
import type { MaybePromise } from '../../storage/catalogue/catalogue.ts';
import type { TeamHoldings, TeamProfile } from '../../storage/catalogue/teams/teams.ts';
import { type App, type Reply, replyText } from '../route.ts';
import { type Team, type TeamEntities, type TeamTarget, teamTargets } from '../schema/teams.ts';
import { computeVotes, createNotFoundError, splitList, thenMaybe, toTimestamp, toUser } from './convert.ts';
import { toIndexBot, toIndexServer } from './index-entities.ts';

/** Words of `team_includes` and `targets`. */
const targetsMax = 16;

const noTargets: readonly TeamTarget[] = [];

/** The recognised kinds of a comma-separated list, in the documents' order. Throws when it is too long. */
export const parseTeamTargets = (name: string, list: string | undefined): readonly TeamTarget[] => {
  const words = splitList(list);
  if (words.length === 0) return noTargets;
  if (words.length > targetsMax) {
    const why = `must name at most ${targetsMax} kinds`;
    throw new DomainError('validation_failed', `${name} ${why}.`, { [`/${name}`]: why });
  }
  return teamTargets.filter((target) => words.includes(target));
};

/** The kinds `GET /teams/{id}` must be asked for. Throws words that list them when none is given. */
export const parseRequiredTargets = (query: { readonly targets: string }): readonly TeamTarget[] => {
  if (query.targets !== '') return parseTeamTargets('targets', query.targets);
  const why = `must name the kinds to fetch, separated by commas: ${teamTargets.join(', ')}`;
  throw new DomainError('validation_failed', `targets ${why}.`, { '/targets': why });
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

/** The fixed fields without the closing brace, by cached row. */
const cachedHeads = new WeakMap<TeamProfile, string>();
const getTeamHead = (profile: TeamProfile): string => {
  const head = cachedHeads.get(profile) ?? JSON.stringify(toFixedFields(profile)).slice(0, -1);
  cachedHeads.set(profile, head);
  return head;
};

const toTeamEntities = (held: TeamHoldings, targets: readonly TeamTarget[], nowMs: number): TeamEntities => ({
  bots: held.bots.map((row) => toIndexBot(row, nowMs)),
  members: held.members.map((row) => ({
    created_at: toTimestamp(row.created_at),
    data_holder: row.data_holder,
    flags: [...row.flags],
    itag: row.itag,
    mentionable: row.mentionable,
    service: row.service,
    team_id: row.team_id,
    user: toUser(row.person, { id: row.user_id, bot: false }),
  })),
  servers: held.servers.map((row) => toIndexServer(row, nowMs)),
  targets: [...targets],
});

const noEntities = JSON.stringify({ bots: [], members: [], servers: [], targets: [] });

const renderEntities = (app: App, teamId: string, targets: readonly TeamTarget[]): MaybePromise<string> => {
  if (targets.length === 0) return noEntities;
  const held = app.catalogue.teams.holdings(teamId, {
    members: targets.includes('team_member'),
    bots: targets.includes('bot'),
    servers: targets.includes('server'),
  });
  return held.then((rows) => JSON.stringify(toTeamEntities(rows, targets, app.clock.nowMs())));
};

/** A team as JSON text, by id or vanity code: at once when all is in memory. Rejects with `not_found`. */
export const renderTeam = (app: App, word: string, targets: readonly TeamTarget[]): MaybePromise<string> =>
  thenMaybe(app.catalogue.teams.find(word), (profile) => {
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
export const showTeam = (app: App, word: string, targets: readonly TeamTarget[]): MaybePromise<Reply> =>
  thenMaybe(renderTeam(app, word, targets), replyText);
