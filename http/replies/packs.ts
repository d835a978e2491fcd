/**
 * Packs as clients see them. In lists the votes are those last flushed, on a pack's own page the engine's.
 */
import type { PackPage, PackRow } from '../../storage/catalogue/packs.ts';
import { type App, ok, type Reply } from '../route.ts';
import type { Pack } from '../schema/packs.ts';
import { indexBotOf, indexServerOf } from './index-entities.ts';
import { notFound, timestamp, userOf, votesOf } from './values.ts';

const packOf = (row: PackRow, page: PackPage, nowMs: number): Pack => ({
  bot_ids: [...row.bot_ids],
  bots: row.bot_ids.flatMap((id) => page.bots.get(id) ?? []).map((bot) => indexBotOf(bot, nowMs)),
  created_at: timestamp(row.created_at),
  name: row.name,
  owner: userOf(row.owner, { id: row.owner_id, bot: false }),
  server_ids: [...row.server_ids],
  servers: row.server_ids
    .flatMap((id) => page.servers.get(id) ?? [])
    .map((server) => indexServerOf(server, nowMs)),
  short: row.short,
  tags: [...row.tags],
  url: row.url,
  vote_banned: row.vote_banned,
  votes: row.votes,
});

export const packsOf = (page: PackPage, nowMs: number): Pack[] =>
  page.packs.map((row) => packOf(row, page, nowMs));

/** `GET /packs/{id}`. Rejects with `not_found`. */
export const showPack = async (app: App, url: string): Promise<Reply> => {
  const found = await app.catalogue.packs.find(url);
  const pack = packsOf(found, app.clock.nowMs())[0];
  if (pack === undefined) throw notFound('pack');
  const view = await app.engine.read('pack', pack.url);
  return ok({ ...pack, votes: votesOf(view.state) });
};
