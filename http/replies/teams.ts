/**
 * Teams as clients see them: the catalogue's profile, the engine's votes, and the entities asked for.
 *
 * The profile is serialised once and kept with the cached row; bots and servers show their team with it.
 */
import { DomainError } from '../../engine/errors.ts';
import type { Soon } from '../../storage/catalogue/catalogue.ts';
import type { TeamHoldings, TeamProfile } from '../../storage/catalogue/teams.ts';
import { type App, type Reply, text } from '../route.ts';
import { type Team, type TeamEntities, type TeamTarget, teamTargets } from '../schema/teams.ts';
import { indexBotOf, indexServerOf } from './index-entities.ts';
import { notFound, soon, timestamp, userOf, votesOf, wordsOf } from './values.ts';

/** Words of `team_includes` and `targets`. */
const targetWordsMax = 16;

const noTargets: readonly TeamTarget[] = [];

/** The recognised kinds of a comma-separated list, in the documents' order. Throws when it is too long. */
export const teamTargetsOf = (name: string, list: string | undefined): readonly TeamTarget[] => {
  const words = wordsOf(list);
  if (words.length === 0) return noTargets;
  if (words.length > targetWordsMax) {
    const why = `must name at most ${targetWordsMax} kinds`;
    throw new DomainError('validation_failed', `${name} ${why}.`, { [`/${name}`]: why });
  }
  return teamTargets.filter((target) => words.includes(target));
};

/** The kinds `GET /teams/{id}` must be asked for. Throws words that list them when none is given. */
export const requiredTargetsOf = (query: { readonly targets: string }): readonly TeamTarget[] => {
  if (query.targets !== '') return teamTargetsOf('targets', query.targets);
  const why = `must name the kinds to fetch, separated by commas: ${teamTargets.join(', ')}`;
  throw new DomainError('validation_failed', `targets ${why}.`, { '/targets': why });
};

type Fixed = Omit<Team, 'approximate_votes' | 'entities' | 'votes'>;

const fixedOf = (profile: TeamProfile): Fixed => ({
  created_at: timestamp(profile.created_at),
  extra_links: [...profile.extra_links],
  id: profile.id,
  name: profile.name,
  nsfw: profile.nsfw,
  service: profile.service,
  short: profile.short,
  tags: [...profile.tags],
  updated_at: timestamp(profile.updated_at),
  vanity: profile.vanity,
  vanity_ref: profile.vanity_ref,
  vote_banned: profile.vote_banned,
});

/** The fixed fields without the closing brace, by cached row. */
const heads = new WeakMap<TeamProfile, string>();
const headOf = (profile: TeamProfile): string => {
  const head = heads.get(profile) ?? JSON.stringify(fixedOf(profile)).slice(0, -1);
  heads.set(profile, head);
  return head;
};

const entitiesOf = (held: TeamHoldings, targets: readonly TeamTarget[], nowMs: number): TeamEntities => ({
  bots: held.bots.map((row) => indexBotOf(row, nowMs)),
  members: held.members.map((row) => ({
    created_at: timestamp(row.created_at),
    data_holder: row.data_holder,
    flags: [...row.flags],
    itag: row.itag,
    mentionable: row.mentionable,
    service: row.service,
    team_id: row.team_id,
    user: userOf(row.person, { id: row.user_id, bot: false }),
  })),
  servers: held.servers.map((row) => indexServerOf(row, nowMs)),
  targets: [...targets],
});

const noEntities = JSON.stringify({ bots: [], members: [], servers: [], targets: [] });

const entitiesText = (app: App, teamId: string, targets: readonly TeamTarget[]): Soon<string> => {
  if (targets.length === 0) return noEntities;
  const held = app.catalogue.teams.holdings(teamId, {
    members: targets.includes('team_member'),
    bots: targets.includes('bot'),
    servers: targets.includes('server'),
  });
  return held.then((rows) => JSON.stringify(entitiesOf(rows, targets, app.clock.nowMs())));
};

/** A team as JSON text, by id or vanity code: at once when all is in memory. Rejects with `not_found`. */
export const teamText = (app: App, word: string, targets: readonly TeamTarget[]): Soon<string> =>
  soon(app.catalogue.teams.profile(word), (profile) => {
    if (profile === null) throw notFound('team');
    return soon(entitiesText(app, profile.id, targets), (entities) =>
      soon(
        app.engine.read('team', profile.id),
        ({ state }) =>
          `${headOf(profile)},"approximate_votes":${state.flushedVotes},"entities":${entities}` +
          `,"votes":${votesOf(state)}}`,
      ),
    );
  });

/** `GET /teams/{id}`. */
export const showTeam = (app: App, word: string, targets: readonly TeamTarget[]): Soon<Reply> =>
  soon(teamText(app, word, targets), text);
