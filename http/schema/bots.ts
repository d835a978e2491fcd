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
  buildCount,
  buildSum,
  buildText,
  ExtraLink,
  Flag,
  Text,
  TextList,
  Timestamp,
  toNullable,
  User,
  Uuid,
} from './common.ts';
import { buildObject, findExample } from './example.ts';
import { botUserExample, IndexBot } from './index-entities.ts';
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

export const Bot = buildObject(
  {
    approval_note: buildText('Works as described.'),
    approximate_votes: Type.Integer({
      description: 'The `votes` that were last written to the ledger.',
      examples: [41],
    }),
    bot_id: buildText('815553000470478850'),
    captcha_opt_out: Flag,
    cert_reason: Text,
    claimed_by: Text,
    clicks: buildCount(1207),
    client_id: buildText('815553000470478850'),
    created_at: Timestamp,
    extra_links: Type.Array(ExtraLink),
    invite: buildText('https://example.org/invite'),
    invite_clicks: buildCount(88),
    itag: Uuid,
    last_claimed: toNullable(Timestamp),
    last_japi_update: toNullable(Timestamp),
    last_stats_post: toNullable(Timestamp),
    library: buildText('discord.js'),
    long: Type.Optional(Type.String({ description: 'Only with `include=long`.' })),
    nsfw: Flag,
    owner: toNullable(User),
    prefix: buildText('!'),
    premium: Flag,
    premium_period_length: Type.Integer({
      minimum: 0,
      description: 'Length of the premium period in hours.',
    }),
    servers: buildCount(1200),
    shard_list: Type.Array(buildCount(600)),
    shards: buildCount(2),
    short: buildText('Keeps watch over your server, day and night.'),
    start_premium_period: toNullable(Timestamp),
    tags: TextList,
    team_owner: Type.Optional(Team),
    total_uptime: Type.Integer({ minimum: 0, description: 'Number of uptime checks.', examples: [8640] }),
    type: Type.String({
      description: '`pending`, `approved`, `certified` or `denied`.',
      examples: ['approved'],
    }),
    unique_clicks: buildCount(640),
    updated_at: Timestamp,
    uptime: Type.Integer({
      minimum: 0,
      description: 'Number of uptime checks that the bot passed.',
      examples: [8630],
    }),
    uptime_last_checked: toNullable(Timestamp),
    user: User,
    users: buildCount(90210),
    vanity: buildText('lighthouse'),
    vanity_ref: Uuid,
    vote_banned: Flag,
    votes: buildSum(42),
  },
  {
    last_stats_post: '2026-03-01T12:00:00.000Z',
    owner: findExample(User),
    shard_list: [600, 600],
    tags: ['moderation'],
    uptime_last_checked: '2026-03-01T11:55:00.000Z',
    user: botUserExample,
  },
);
export type Bot = Static<typeof Bot>;

export const BotsRandom = buildObject({ bots: Type.Array(IndexBot) });
export const BotsIndex = buildObject(
  {
    certified: Type.Array(IndexBot),
    most_viewed: Type.Array(IndexBot),
    packs: Type.Array(Pack),
    premium: Type.Array(IndexBot),
    recently_added: Type.Array(IndexBot),
    top_voted: Type.Array(IndexBot),
  },
  { certified: [], packs: [], premium: [] },
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
