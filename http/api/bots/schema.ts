/**
 * Schemas of bots (contract §2.4, §2.6): the condensed form of lists, the whole form, the stats post.
 *
 * Schemas and examples only. docs/behaviour/counting.md says how the values change over time.
 */
import { type Static, Type } from 'typebox';
import { presenceStatuses } from '../../../engine/entity/state.ts';
import { limits, statsIntegerMax } from '../../../engine/limits.ts';
import { Pack } from '../packs.ts';
import {
  BotIdOrVanity,
  buildCount,
  buildFlag,
  buildSum,
  buildText,
  buildWideCount,
  ExtraLink,
  Timestamp,
  toNullable,
  User,
  Uuid,
  wide,
} from '../shared/common.ts';
import { buildObject, describe, describeObject, findExample } from '../shared/example.ts';
import { botUserExample, IndexBot } from '../shared/index-entities.ts';
import { Team } from '../teams.ts';

export const BotParams = Type.Object({ id: BotIdOrVanity });

export const BotQuery = Type.Object({
  target: Type.Optional(
    buildText(
      'page',
      '`page` counts a click and, once per visitor, a unique click; `invite` counts an invite click; ' +
        '`settings` and `stats` count nothing; other values are ignored.',
    ),
  ),
  include: Type.Optional(buildText('long', 'Comma-separated extra fields: `long`.')),
  team_includes: Type.Optional(
    buildText(
      'team_member,bot',
      'Comma-separated kinds of entities to show in `team_owner`: `team_member`, `bot`, `server`. ' +
        'At most 16 values.',
    ),
  ),
});

const { bot_id, library, nsfw, servers, shards, short, tags, type, vanity, vanity_ref } = IndexBot.properties;

export const Bot = describeObject(
  'A bot with all that is public about it. Its numbers are live.',
  {
    approval_note: buildText(
      'Works as described.',
      "The operator's words on the review that approved or denied it; empty until then.",
    ),
    approximate_votes: buildSum(
      41,
      'Upvotes minus downvotes, as last written to the database; `votes` is newer.',
    ),
    bot_id,
    captcha_opt_out: buildFlag('Whether the owner wants voters to be spared captchas.'),
    cert_reason: buildText('', "The operator's words on its certification; empty if there are none."),
    claimed_by: buildText(
      '',
      'The reviewer who looks at it now; empty if there is none. Lapses after an hour.',
    ),
    clicks: buildCount(1207, 'Views of its page: requests with `target=page`.'),
    client_id: buildText('815553000470478850', 'Id of its application on the platform; often the `bot_id`.'),
    created_at: describe(Timestamp, 'When the bot was added to this directory.'),
    extra_links: describe(Type.Array(ExtraLink), 'Up to 20 links of the owner.'),
    invite: buildText('https://example.org/invite', 'An https address that adds the bot to a server.'),
    invite_clicks: buildCount(88, 'Uses of its invite: requests with `target=invite`.'),
    itag: describe(Uuid, 'Id of this listing; a bot that is deleted and added again gets a new one.'),
    last_claimed: toNullable(Timestamp, 'When a reviewer last claimed it; `null`: never.'),
    last_japi_update: toNullable(Timestamp, 'When a look-up of its account last succeeded; `null`: never.'),
    last_stats_post: toNullable(
      Timestamp,
      'When it last posted stats, also if they were the same; `null`: never.',
    ),
    library,
    long: Type.Optional(
      buildText(
        'Keeps watch over your server. …',
        'Long description, new ones: 500 to 65,536 characters. Only with `include=long`.',
      ),
    ),
    nsfw,
    owner: toNullable(User, 'The user who owns it; `null` when a team does: see `team_owner`.'),
    prefix: buildText('!', 'What its commands begin with, new ones: 1 to 10 characters.'),
    premium: buildFlag('Whether it has premium now: users then wait 4 hours between votes.'),
    premium_period_length: buildCount(
      720,
      'Length of the premium period in hours, from `start_premium_period`; 0: none.',
    ),
    servers,
    shard_list: describe(
      Type.Array(buildCount(600)),
      'Servers of each shard, by shard id, as it posted last; up to 16,384.',
    ),
    shards,
    short,
    start_premium_period: toNullable(
      Timestamp,
      'When the last premium period began; `null`: there was none.',
    ),
    tags,
    team_owner: describe(Type.Optional(Team), 'The team that owns it; absent when a user does.'),
    total_uptime: buildCount(8640, 'Uptime checks since it was listed, one every 5 minutes.'),
    type,
    unique_clicks: buildCount(640, 'Visitors of its page, each counted once, up to 1,000,000.'),
    updated_at: describe(Timestamp, 'When its profile was last changed.'),
    uptime: buildCount(
      8630,
      'Uptime checks that it passed: it had posted stats within 15 minutes, with a status other than ' +
        '`offline`. Divide by `total_uptime`.',
    ),
    uptime_last_checked: toNullable(Timestamp, 'When its uptime was last checked; `null`: never.'),
    user: describe(User, 'The account of the bot. `status` is what it posted last.'),
    users: buildWideCount(90210, 'Users it serves, as it posted last; 0 to 18446744073709552000.'),
    vanity,
    vanity_ref,
    vote_banned: buildFlag('Whether the operator has banned it from receiving votes.'),
    votes: buildSum(42, 'Upvotes minus downvotes, as of now; may be negative.'),
  },
  {
    last_stats_post: '2026-03-01T12:00:00.000Z',
    owner: findExample(User),
    shard_list: [600, 600],
    uptime_last_checked: '2026-03-01T11:55:00.000Z',
    user: botUserExample,
  },
);

export const BotsRandom = buildObject({
  bots: describe(
    Type.Array(IndexBot),
    'Up to six listed bots, each equally likely, chosen for this request.',
  ),
});

const buildFrontList = (description: string) => describe(Type.Array(IndexBot), `${description}; up to nine.`);

export const BotsIndex = buildObject(
  {
    certified: buildFrontList('Certified bots, most votes first'),
    most_viewed: buildFrontList('Bots with the most clicks'),
    packs: describe(Type.Array(Pack), 'The newest packs; up to twelve.'),
    premium: buildFrontList('Bots with premium, most votes first'),
    recently_added: buildFrontList('The newest bots'),
    top_voted: buildFrontList('Bots with the most votes'),
  },
  { certified: [], packs: [], premium: [] },
);
export type BotsIndex = Static<typeof BotsIndex>;

const buildStatsInteger = (description: string, example: number) =>
  Type.Integer({
    minimum: 0,
    maximum: Number(statsIntegerMax),
    ...wide,
    description,
    examples: [example],
  });

export const StatsBody = Type.Object(
  {
    servers: Type.Optional(buildStatsInteger('Servers the bot is in, 0 to 18446744073709552000.', 1200)),
    shard_list: Type.Optional(
      Type.Array(buildStatsInteger('Servers of one shard.', 600), {
        maxItems: limits.shardListEntriesMax,
        description: 'Servers of each shard, by shard id; up to 16,384.',
      }),
    ),
    shards: Type.Optional(buildStatsInteger('Shards the bot runs.', 2)),
    status: Type.Optional(
      Type.Enum([...presenceStatuses], {
        description: 'Presence of the bot: `online`, `idle`, `dnd` or `offline`. Kept until the next one.',
        examples: ['online'],
      }),
    ),
    users: Type.Optional(buildStatsInteger('Users the bot serves.', 90210)),
  },
  {
    description: 'Absent fields keep their value; 0 is a value. Integers are stored exactly.',
    examples: [{ servers: 1200, shards: 2, shard_list: [600, 600], users: 90210, status: 'online' }],
  },
);
export type StatsBody = Static<typeof StatsBody>;
