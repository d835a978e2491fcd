/**
 * A team or a pack as operators look at it: who holds what, and whose it is. Nothing here changes anything.
 *
 * Read with the functions that serve clients. Votes are the engine's; those of bots and servers are on their
 * own pages.
 */

import type { PackPage, PackRow } from '../../../storage/catalogue/packs/packs.ts';
import type { IndexBotRow, IndexServerRow } from '../../../storage/catalogue/shared/index-rows.ts';
import type { MemberRow } from '../../../storage/catalogue/teams/teams.ts';
import { type App, type Reply, replyOk } from '../../route.ts';
import type { OperatorPack, OperatorTeam } from '../../schema/operator.ts';
import { computeVotes, createNotFoundError, toTimestamp } from '../convert.ts';

const toMember = ({ user_id, person, data_holder, permissions }: MemberRow) => ({
  user_id,
  username: person?.username ?? user_id,
  data_holder,
  permissions: [...permissions],
});
const toListedBot = ({ bot_id, person, type }: IndexBotRow) => ({
  bot_id,
  name: person?.username ?? bot_id,
  type,
});
const toListedServer = ({ server_id, name, type, state }: IndexServerRow) => ({
  server_id,
  name,
  type,
  state,
});

/** By id or vanity code. Rejects with `not_found`. */
export const showTeamDetails = async (app: App, word: string): Promise<Reply> => {
  const team = await app.catalogue.teams.find(word);
  if (team === null) throw createNotFoundError('team');
  const everything = { members: true, bots: true, servers: true } as const;
  const held = await app.catalogue.teams.holdings(team.id, everything);
  const { state } = await app.engine.read('team', team.id);
  const shown: OperatorTeam = {
    id: team.id,
    name: team.name,
    short: team.short,
    vanity: team.vanity,
    tags: [...team.tags],
    nsfw: team.nsfw,
    vote_banned: team.vote_banned,
    votes: computeVotes(state),
    created_at: toTimestamp(team.created_at),
    updated_at: toTimestamp(team.updated_at),
    members: held.members.map(toMember),
    bots: held.bots.map(toListedBot),
    servers: held.servers.map(toListedServer),
  };
  return replyOk(shown);
};

/** Ids that it names of bots and servers that are deleted. */
const listDeletedIds = (pack: PackRow, { bots, servers }: PackPage): string[] => [
  ...pack.bot_ids.filter((id) => !bots.has(id)),
  ...pack.server_ids.filter((id) => !servers.has(id)),
];

/** In any case of letters. Rejects with `not_found`. */
export const showPackDetails = async (app: App, url: string): Promise<Reply> => {
  const page = await app.catalogue.packs.find(url);
  const [pack] = page.packs;
  if (pack === undefined) throw createNotFoundError('pack');
  const { state } = await app.engine.read('pack', pack.url);
  const shown: OperatorPack = {
    url: pack.url,
    name: pack.name,
    short: pack.short,
    owner: pack.owner_id,
    owner_name: pack.owner?.username ?? pack.owner_id,
    tags: [...pack.tags],
    vote_banned: pack.vote_banned,
    votes: computeVotes(state),
    created_at: toTimestamp(pack.created_at),
    deleted: listDeletedIds(pack, page),
    bots: pack.bot_ids.flatMap((id) => page.bots.get(id) ?? []).map(toListedBot),
    servers: pack.server_ids.flatMap((id) => page.servers.get(id) ?? []).map(toListedServer),
  };
  return replyOk(shown);
};
