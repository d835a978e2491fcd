/**
 * The condensed bots and servers of lists, packs and teams (contract §2.4, §2.5): schemas, and the
 * conversion of SQL rows. Their totals are those last flushed. Pure.
 *
 * They have a file of their own to avoid an import cycle: packs and teams embed them, and bots embed
 * teams.
 */
import type { Static } from 'typebox';
import { computePresence } from '../../../engine/rules/presence.ts';
import type { IndexBotRow, IndexServerRow } from '../../../storage/catalogue/shared/index-rows.ts';
import { showRow } from '../../response/reply.ts';
import {
  buildCount,
  buildFlag,
  buildSum,
  buildText,
  buildTextList,
  buildWideCount,
  Timestamp,
  User,
  Uuid,
} from './common.ts';
import { isPremium, toExactInteger, toUser } from './convert.ts';
import { describe, describeObject, findExample } from './example.ts';

export const botUserExample = {
  ...(findExample(User) as object),
  id: '815553000470478850',
  username: 'lighthouse',
  bot: true,
};

/** Fields that bots and servers share in lists. */
const sharedFields = {
  nsfw: buildFlag('Whether it is for adults only. The owner sets it.'),
  premium: buildFlag('Whether it has premium now: users then wait less between votes.'),
  short: buildText(
    'Keeps watch over your server, day and night.',
    'Short description, new ones: 30 to 150 characters.',
  ),
  tags: buildTextList('Tags, new ones: 1 to 5 different ones of 3 to 30 characters.', ['moderation']),
  type: buildText('approved', '`pending`, `approved`, `certified` or `denied`. The operator decides it.'),
  vanity: buildText('lighthouse', 'Its short address, as in `/@{code}`: 2 to 32 of `a-z 0-9 - _`.'),
  vanity_ref: describe(Uuid, 'Id of the vanity code; it stays when the code changes.'),
};

export const IndexBot = describeObject(
  'A bot as lists show it. `GET /bots/{id}` has everything, with live numbers.',
  {
    approximate_votes: buildSum(41, 'Upvotes minus downvotes, as last written to the database.'),
    bot_id: buildText('815553000470478850', 'Id of the bot on the platform: 15 to 20 digits.'),
    clicks: buildCount(1207, 'Views of its page (`target=page`), at most a few seconds late.'),
    created_at: describe(Timestamp, 'When the bot was added to this directory.'),
    invite_clicks: buildCount(88, 'Uses of its invite (`target=invite`), at most a few seconds late.'),
    library: buildText('discord.js', 'The library it is written with, 1 to 50 characters.'),
    nsfw: sharedFields.nsfw,
    premium: sharedFields.premium,
    servers: buildWideCount(1200, 'Servers it is in, as it posted last; 0 to 18446744073709552000.'),
    shards: buildWideCount(2, 'Shards it runs, as it posted last; 0 to 18446744073709552000.'),
    short: sharedFields.short,
    tags: sharedFields.tags,
    type: sharedFields.type,
    user: describe(User, 'The account of the bot.'),
    vanity: sharedFields.vanity,
    vanity_ref: sharedFields.vanity_ref,
    votes: buildSum(41, 'Upvotes minus downvotes, at most a few seconds late; may be negative.'),
  },
  { user: botUserExample },
);
export type IndexBot = Static<typeof IndexBot>;

export const indexServerFields = {
  approximate_votes: buildSum(12, 'Upvotes minus downvotes, as last written to the database.'),
  avatar: buildText(
    'https://cdn.example.org/icons/758641373074423808.webp',
    'Address of the picture; empty if there is none.',
  ),
  clicks: buildCount(402, 'Views of its page (`target=page`).'),
  invite_clicks: buildCount(61, 'Uses of its invite (`target=invite`).'),
  name: buildText('Harbour', 'Name of the server, 1 to 100 characters.'),
  nsfw: sharedFields.nsfw,
  online_members: buildCount(310, 'Members who are online, as the operator recorded it.'),
  premium: sharedFields.premium,
  server_id: buildText('758641373074423808', 'Id of the server on the platform: 15 to 20 digits.'),
  short: buildText(
    'A calm place to talk about boats and bots.',
    'Short description, new ones: 30 to 150 characters.',
  ),
  state: buildText(
    'public',
    '`public`, `private` or `unlisted`. Only public servers are in lists and can be voted on.',
  ),
  tags: buildTextList('Tags, new ones: 1 to 5 different ones of 3 to 30 characters.', ['community']),
  total_members: buildCount(2048, 'Members of the server, as the operator recorded it.'),
  type: sharedFields.type,
  vanity: buildText('harbour', 'Its short address, as in `/@{code}`: 2 to 32 of `a-z 0-9 - _`.'),
  vanity_ref: sharedFields.vanity_ref,
  votes: buildSum(12, 'Upvotes minus downvotes; may be negative.'),
};

export const IndexServer = describeObject('A chat server as lists show it.', indexServerFields);
export type IndexServer = Static<typeof IndexServer>;

export const toIndexBot = (row: IndexBotRow, nowMs: number): IndexBot =>
  showRow(IndexBot, row, {
    approximate_votes: row.votes,
    premium: isPremium(row, nowMs),
    servers: toExactInteger(row.servers),
    shards: toExactInteger(row.shards),
    user: {
      ...toUser(row.person, { id: row.bot_id, bot: true }),
      status: computePresence({ status: row.status, lastStatsPostMs: row.last_stats_post_ms }, nowMs),
    },
  });

export const toIndexServer = (row: IndexServerRow, nowMs: number): IndexServer =>
  showRow(IndexServer, row, {
    approximate_votes: row.votes,
    premium: isPremium(row, nowMs),
  });
