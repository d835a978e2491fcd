/**
 * Shows a bot, a team or a pack to operators: its owners, its members' permissions, and what it contains.
 * Read only.
 *
 * It uses the same catalogue functions as the public routes. The votes come from the engine; the votes of the
 * contained bots and servers are on their own pages.
 */
import { computeVotes } from '../../engine/entity/state.ts';
import type { PackPage, PackRow } from '../../storage/catalogue/packs/packs.ts';
import type { IndexBotRow, IndexServerRow } from '../../storage/catalogue/shared/index-rows.ts';
import type { MemberRow } from '../../storage/catalogue/teams/teams.ts';
import { computeClaimEndMs } from '../api/bots/bot-json.ts';
import { toExactInteger } from '../api/shared/convert.ts';
import type { App } from '../app.ts';
import { requireFound } from '../response/errors.ts';
import { type Reply, replyOk, showRow } from '../response/reply.ts';
import { ListedBot, ListedServer, OperatorBot, OperatorPack, OperatorTeam } from './schema.ts';

const toMember = ({ user_id, person, data_holder, permissions }: MemberRow) => ({
  user_id,
  username: person?.username ?? user_id,
  data_holder,
  permissions: [...permissions],
});

const toListedBot = (row: IndexBotRow) =>
  showRow(ListedBot, row, { name: row.person?.username ?? row.bot_id });

const toListedServer = (row: IndexServerRow) => showRow(ListedServer, row);

/** Shows a bot, found by id or vanity code. Rejects with `not_found`. */
export const showBotDetails = async (app: App, idOrVanity: string): Promise<Reply> => {
  const bot = requireFound(await app.catalogue.bots.find(idOrVanity), 'bot');
  const name = bot.person?.username ?? bot.id;
  const [{ state }, team, staffNote, sessions, lookAlikes] = await Promise.all([
    app.engine.read('bot', bot.id),
    bot.team_id === null ? null : app.catalogue.teams.find(bot.team_id),
    app.catalogue.operator.listings.readStaffNote(bot.id),
    app.catalogue.sessions.list({ kind: 'bot', id: bot.id }),
    bot.type === 'pending' ? app.catalogue.operator.findLookAlikes({ kind: 'bot', id: bot.id, name }) : [],
  ]);
  const shown = showRow(OperatorBot, bot, {
    bot_id: bot.id,
    name,
    look_alikes: lookAlikes,
    owner: bot.owner_id ?? `team ${bot.team_id}`,
    owner_name: team?.name ?? bot.owner?.username ?? '',
    staff_note: staffNote,
    claimed_by: app.clock.nowMs() < computeClaimEndMs(bot) ? bot.claimed_by : '',
    votes: computeVotes(state),
    clicks: state.clicks,
    servers: toExactInteger(state.servers),
    tokens: sessions.length,
  });
  return replyOk(shown);
};

/** Shows a team, found by id or vanity code. Rejects with `not_found`. */
export const showTeamDetails = async (app: App, idOrVanity: string): Promise<Reply> => {
  const team = requireFound(await app.catalogue.teams.find(idOrVanity), 'team');
  const allKinds = { members: true, bots: true, servers: true } as const;
  const holdings = await app.catalogue.teams.holdings(team.id, allKinds);
  const { state } = await app.engine.read('team', team.id);
  const shown = showRow(OperatorTeam, team, {
    votes: computeVotes(state),
    look_alikes: await app.catalogue.operator.findLookAlikes({ ...team, kind: 'team' }),
    members: holdings.members.map(toMember),
    bots: holdings.bots.map(toListedBot),
    servers: holdings.servers.map(toListedServer),
  });
  return replyOk(shown);
};

/** The ids in a pack whose bot or server is deleted. */
const listDeletedIds = (pack: PackRow, { bots, servers }: PackPage): string[] => [
  ...pack.bot_ids.filter((id) => !bots.has(id)),
  ...pack.server_ids.filter((id) => !servers.has(id)),
];

/** Shows a pack; upper and lower case of its url are the same. Rejects with `not_found`. */
export const showPackDetails = async (app: App, url: string): Promise<Reply> => {
  const page = await app.catalogue.packs.find(url);
  const pack = requireFound(page.packs[0], 'pack');
  const { state } = await app.engine.read('pack', pack.url);
  const shown = showRow(OperatorPack, pack, {
    owner: pack.owner_id,
    owner_name: pack.owner?.username ?? pack.owner_id,
    votes: computeVotes(state),
    look_alikes: await app.catalogue.operator.findLookAlikes({ kind: 'pack', id: pack.url, name: pack.name }),
    deleted: listDeletedIds(pack, page),
    bots: pack.bot_ids.flatMap((id) => page.bots.get(id) ?? []).map(toListedBot),
    servers: pack.server_ids.flatMap((id) => page.servers.get(id) ?? []).map(toListedServer),
  });
  return replyOk(shown);
};
