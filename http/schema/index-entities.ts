/**
 * Condensed forms of bots and servers (contract §2.4, §2.5), as lists, packs and teams show them.
 *
 * They have a file of their own to avoid an import cycle: packs and teams embed them, and bots embed teams.
 */
import { type Static, Type } from 'typebox';
import { buildCount, buildSum, buildText, Flag, TextList, Timestamp, User, Uuid } from './common.ts';
import { buildObject, findExample } from './example.ts';

export const botUserExample = {
  ...(findExample(User) as object),
  id: '815553000470478850',
  username: 'lighthouse',
  bot: true,
};

export const IndexBot = buildObject(
  {
    approximate_votes: buildSum(41),
    bot_id: buildText('815553000470478850'),
    clicks: buildCount(1207),
    created_at: Timestamp,
    invite_clicks: buildCount(88),
    library: buildText('discord.js'),
    nsfw: Flag,
    premium: Flag,
    servers: buildCount(1200),
    shards: buildCount(2),
    short: buildText('Keeps watch over your server, day and night.'),
    tags: TextList,
    type: buildText('approved'),
    user: User,
    vanity: buildText('lighthouse'),
    vanity_ref: Uuid,
    votes: buildSum(41),
  },
  { tags: ['moderation'], user: botUserExample },
);
export type IndexBot = Static<typeof IndexBot>;

export const indexServerFields = {
  approximate_votes: buildSum(12),
  avatar: buildText('https://cdn.example.org/icons/758641373074423808.webp'),
  clicks: buildCount(402),
  invite_clicks: buildCount(61),
  name: buildText('Harbour'),
  nsfw: Flag,
  online_members: buildCount(310),
  premium: Flag,
  server_id: buildText('758641373074423808'),
  short: buildText('A calm place to talk about boats and bots.'),
  state: Type.String({ description: '`public`, `private` or `unlisted`.', examples: ['public'] }),
  tags: TextList,
  total_members: buildCount(2048),
  type: buildText('approved'),
  vanity: buildText('harbour'),
  vanity_ref: Uuid,
  votes: buildSum(12),
};
export const IndexServer = buildObject(indexServerFields, { tags: ['community'] });
export type IndexServer = Static<typeof IndexServer>;
