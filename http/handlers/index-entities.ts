/**
 * Converts SQL rows to the condensed bots and servers of lists. Their totals are those last flushed. Pure.
 */
import { computePresence } from '../../engine/rules/presence.ts';
import type { IndexBotRow, IndexServerRow } from '../../storage/catalogue/shared/index-rows.ts';
import type { IndexBot, IndexServer } from '../schema/index-entities.ts';
import { isPremium, toExactInteger, toTimestamp, toUser } from './convert.ts';

export const toIndexBot = (row: IndexBotRow, nowMs: number): IndexBot => ({
  approximate_votes: row.votes,
  bot_id: row.bot_id,
  clicks: row.clicks,
  created_at: toTimestamp(row.created_at),
  invite_clicks: row.invite_clicks,
  library: row.library,
  nsfw: row.nsfw,
  premium: isPremium(row.premium_until, nowMs),
  servers: toExactInteger(row.servers),
  shards: toExactInteger(row.shards),
  short: row.short,
  tags: [...row.tags],
  type: row.type,
  user: {
    ...toUser(row.person, { id: row.bot_id, bot: true }),
    status: computePresence({ status: row.status, lastStatsPostMs: row.last_stats_post_ms }, nowMs),
  },
  vanity: row.vanity,
  vanity_ref: row.vanity_ref,
  votes: row.votes,
});

export const toIndexServer = (row: IndexServerRow, nowMs: number): IndexServer => ({
  approximate_votes: row.votes,
  avatar: row.avatar,
  clicks: row.clicks,
  invite_clicks: row.invite_clicks,
  name: row.name,
  nsfw: row.nsfw,
  online_members: row.online_members,
  premium: isPremium(row.premium_until, nowMs),
  server_id: row.server_id,
  short: row.short,
  state: row.state,
  tags: [...row.tags],
  total_members: row.total_members,
  type: row.type,
  vanity: row.vanity,
  vanity_ref: row.vanity_ref,
  votes: row.votes,
});
