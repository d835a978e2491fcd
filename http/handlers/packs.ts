/**
 * Shows packs. Lists show the votes that were last flushed; the page of a pack shows the engine's votes.
 */
import type { PackPage, PackRow } from '../../storage/catalogue/packs/packs.ts';
import { type App, type Reply, replyOk } from '../route.ts';
import type { Pack } from '../schema/packs.ts';
import { computeVotes, createNotFoundError, toTimestamp, toUser } from './convert.ts';
import { toIndexBot, toIndexServer } from './index-entities.ts';

const toPack = (row: PackRow, page: PackPage, nowMs: number): Pack => ({
  bot_ids: [...row.bot_ids],
  bots: row.bot_ids.flatMap((id) => page.bots.get(id) ?? []).map((bot) => toIndexBot(bot, nowMs)),
  created_at: toTimestamp(row.created_at),
  name: row.name,
  owner: toUser(row.owner, { id: row.owner_id, bot: false }),
  server_ids: [...row.server_ids],
  servers: row.server_ids
    .flatMap((id) => page.servers.get(id) ?? [])
    .map((server) => toIndexServer(server, nowMs)),
  short: row.short,
  tags: [...row.tags],
  url: row.url,
  vote_banned: row.vote_banned,
  votes: row.votes,
});

export const toPacks = (page: PackPage, nowMs: number): Pack[] =>
  page.packs.map((row) => toPack(row, page, nowMs));

/** `GET /packs/{id}`. Rejects with `not_found`. */
export const showPack = async (app: App, url: string): Promise<Reply> => {
  const page = await app.catalogue.packs.find(url);
  const pack = toPacks(page, app.clock.nowMs())[0];
  if (pack === undefined) throw createNotFoundError('pack');
  const view = await app.engine.read('pack', pack.url);
  return replyOk({ ...pack, votes: computeVotes(view.state) });
};
