/**
 * Schemas of bots (contract §2.4, §2.6): the condensed form of lists, the whole form, the stats post.
 *
 * Schemas and examples only. docs/behaviour.md says how the values change over time.
 */
import { type Static, Type } from 'typebox';
import { presenceStatuses } from '../../engine/entity/state.ts';
import { limits, statsIntegerMax } from '../../engine/limits.ts';
import {
  BotIdOrVanity,
  Count,
  ExtraLink,
  Flag,
  Sum,
  Text,
  TextList,
  Timestamp,
  toNullable,
  User,
  Uuid,
  userExample,
} from './common.ts';
import { IndexBot, indexBotExample } from './index-entities.ts';
import { Pack } from './packs.ts';
import { Team } from './teams.ts';

export const BotParams = Type.Object({ id: BotIdOrVanity });

export const BotQuery = Type.Object({
  target: Type.Optional(
    Type.String({
      description:
        '`page` counts a click and, once per visitor, a unique click; `invite` counts an invite click; ' +
        '`settings` and `stats` count nothing; other values are ignored.',
      examples: ['page'],
    }),
  ),
  include: Type.Optional(
    Type.String({ description: 'Comma-separated extra fields: `long`.', examples: ['long'] }),
  ),
  team_includes: Type.Optional(
    Type.String({
      description:
        'Comma-separated kinds of entities to show in `team_owner`: `team_member`, `bot`, `server`. ' +
        'At most 16 values.',
      examples: ['team_member,bot'],
    }),
  ),
});

const botExample = {
  approval_note: 'Works as described.',
  approximate_votes: 41,
  bot_id: '815553000470478850',
  captcha_opt_out: false,
  cert_reason: '',
  claimed_by: '',
  clicks: 1207,
  client_id: '815553000470478850',
  created_at: '2026-01-10T09:30:00.000Z',
  extra_links: [{ name: 'Website', value: 'https://example.org' }],
  invite: 'https://example.org/invite',
  invite_clicks: 88,
  itag: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a10',
  last_claimed: null,
  last_japi_update: null,
  last_stats_post: '2026-03-01T12:00:00.000Z',
  library: 'discord.js',
  nsfw: false,
  owner: userExample,
  prefix: '!',
  premium: false,
  premium_period_length: 0,
  servers: 1200,
  shard_list: [600, 600],
  shards: 2,
  short: 'Keeps watch over your server, day and night.',
  start_premium_period: null,
  tags: ['moderation'],
  total_uptime: 8640,
  type: 'approved',
  unique_clicks: 640,
  updated_at: '2026-02-01T10:00:00.000Z',
  uptime: 8630,
  uptime_last_checked: '2026-03-01T11:55:00.000Z',
  user: { ...userExample, id: '815553000470478850', username: 'lighthouse', bot: true },
  users: 90210,
  vanity: 'lighthouse',
  vanity_ref: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a11',
  vote_banned: false,
  votes: 42,
};
export const Bot = Type.Object(
  {
    approval_note: Text,
    approximate_votes: Type.Integer({ description: 'The `votes` that were last written to the ledger.' }),
    bot_id: Text,
    captcha_opt_out: Flag,
    cert_reason: Text,
    claimed_by: Text,
    clicks: Count,
    client_id: Text,
    created_at: Timestamp,
    extra_links: Type.Array(ExtraLink),
    invite: Text,
    invite_clicks: Count,
    itag: Uuid,
    last_claimed: toNullable(Timestamp),
    last_japi_update: toNullable(Timestamp),
    last_stats_post: toNullable(Timestamp),
    library: Text,
    long: Type.Optional(Type.String({ description: 'Only with `include=long`.' })),
    nsfw: Flag,
    owner: toNullable(User),
    prefix: Text,
    premium: Flag,
    premium_period_length: Type.Integer({
      minimum: 0,
      description: 'Length of the premium period in hours.',
    }),
    servers: Count,
    shard_list: Type.Array(Count),
    shards: Count,
    short: Text,
    start_premium_period: toNullable(Timestamp),
    tags: TextList,
    team_owner: Type.Optional(Team),
    total_uptime: Type.Integer({ minimum: 0, description: 'Number of uptime checks.' }),
    type: Type.String({ description: '`pending`, `approved`, `certified` or `denied`.' }),
    unique_clicks: Count,
    updated_at: Timestamp,
    uptime: Type.Integer({ minimum: 0, description: 'Number of uptime checks that the bot passed.' }),
    uptime_last_checked: toNullable(Timestamp),
    user: User,
    users: Count,
    vanity: Text,
    vanity_ref: Uuid,
    vote_banned: Flag,
    votes: Sum,
  },
  { examples: [botExample] },
);
export type Bot = Static<typeof Bot>;

export const BotsRandom = Type.Object(
  { bots: Type.Array(IndexBot) },
  { examples: [{ bots: [indexBotExample] }] },
);
export const BotsIndex = Type.Object(
  {
    certified: Type.Array(IndexBot),
    most_viewed: Type.Array(IndexBot),
    packs: Type.Array(Pack),
    premium: Type.Array(IndexBot),
    recently_added: Type.Array(IndexBot),
    top_voted: Type.Array(IndexBot),
  },
  {
    examples: [
      {
        certified: [],
        most_viewed: [indexBotExample],
        packs: [],
        premium: [],
        recently_added: [indexBotExample],
        top_voted: [indexBotExample],
      },
    ],
  },
);
export type BotsIndex = Static<typeof BotsIndex>;

const buildStatsInteger = (description: string, example: number) =>
  Type.Integer({ minimum: 0, maximum: Number(statsIntegerMax), description, examples: [example] });
export const StatsBody = Type.Object(
  {
    servers: Type.Optional(buildStatsInteger('Servers the bot is in.', 1200)),
    shard_list: Type.Optional(
      Type.Array(buildStatsInteger('Servers of one shard.', 600), { maxItems: limits.shardListEntriesMax }),
    ),
    shards: Type.Optional(buildStatsInteger('Number of shards.', 2)),
    status: Type.Optional(
      Type.Enum([...presenceStatuses], { description: 'Self-reported presence.', examples: ['online'] }),
    ),
    users: Type.Optional(buildStatsInteger('Users the bot serves.', 90210)),
  },
  {
    description: 'Absent fields keep their value; 0 is a value. Integers are stored exactly.',
    examples: [{ servers: 1200, shards: 2, shard_list: [600, 600], users: 90210, status: 'online' }],
  },
);
export type StatsBody = Static<typeof StatsBody>;
