/**
 * Condensed forms of bots and servers (contract §2.4, §2.5), as lists, packs and teams show them.
 *
 * They have a file of their own to avoid an import cycle: packs and teams embed them, and bots embed teams.
 */
import { type Static, Type } from 'typebox';
import { Count, Flag, Sum, Text, TextList, Timestamp, User, Uuid, userExample } from './common.ts';

export const indexBotExample = {
  approximate_votes: 41,
  bot_id: '815553000470478850',
  clicks: 1207,
  created_at: '2026-01-10T09:30:00.000Z',
  invite_clicks: 88,
  library: 'discord.js',
  nsfw: false,
  premium: false,
  servers: 1200,
  shards: 2,
  short: 'Keeps watch over your server, day and night.',
  tags: ['moderation'],
  type: 'approved',
  user: { ...userExample, id: '815553000470478850', username: 'lighthouse', bot: true },
  vanity: 'lighthouse',
  vanity_ref: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a11',
  votes: 41,
};
export const IndexBot = Type.Object(
  {
    approximate_votes: Sum,
    bot_id: Text,
    clicks: Count,
    created_at: Timestamp,
    invite_clicks: Count,
    library: Text,
    nsfw: Flag,
    premium: Flag,
    servers: Count,
    shards: Count,
    short: Text,
    tags: TextList,
    type: Text,
    user: User,
    vanity: Text,
    vanity_ref: Uuid,
    votes: Sum,
  },
  { examples: [indexBotExample] },
);
export type IndexBot = Static<typeof IndexBot>;

export const indexServerExample = {
  approximate_votes: 12,
  avatar: 'https://cdn.example.org/icons/758641373074423808.webp',
  clicks: 402,
  invite_clicks: 61,
  name: 'Harbour',
  nsfw: false,
  online_members: 310,
  premium: false,
  server_id: '758641373074423808',
  short: 'A calm place to talk about boats and bots.',
  state: 'public',
  tags: ['community'],
  total_members: 2048,
  type: 'approved',
  vanity: 'harbour',
  vanity_ref: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a12',
  votes: 12,
};
export const indexServerFields = {
  approximate_votes: Sum,
  avatar: Text,
  clicks: Count,
  invite_clicks: Count,
  name: Text,
  nsfw: Flag,
  online_members: Count,
  premium: Flag,
  server_id: Text,
  short: Text,
  state: Type.String({ description: '`public`, `private` or `unlisted`.' }),
  tags: TextList,
  total_members: Count,
  type: Text,
  vanity: Text,
  vanity_ref: Uuid,
  votes: Sum,
};
export const IndexServer = Type.Object(indexServerFields, { examples: [indexServerExample] });
export type IndexServer = Static<typeof IndexServer>;
