/**
 * The shards of a bot (docs/behaviour/counting.md): each process of a large bot posts its own
 * shards, and the server adds them up. In code a bot's shard is a *part*: `shard` is the engine's word for
 * something else.
 */
import { type Static, Type } from 'typebox';
import { countLive } from '../../engine/entity/parts.ts';
import { type HotState, type Part, type PartsTable, presenceStatuses } from '../../engine/entity/state.ts';
import { limits } from '../../engine/limits.ts';
import type { App } from '../app.ts';
import type { Caller } from '../auth/auth.ts';
import { requireCaller } from '../auth/authorise.ts';
import { createValidationError, requireFound } from '../response/errors.ts';
import { type Reply, replyMessage, replyOk, toTimestamp } from '../response/reply.ts';
import { type BodyLimits, definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import { BotParams } from './bots/schema.ts';
import {
  ApiResponse,
  buildCount,
  buildText,
  Count,
  PageQuery,
  Timestamp,
  toNullable,
} from './shared/common.ts';
import { parsePage } from './shared/convert.ts';
import { buildObject, describe, findExample } from './shared/example.ts';
import { clusterName } from './shared/patterns.ts';

const countMax = limits.shardListEntriesMax;

const Status = (description: string) =>
  Type.Enum([...presenceStatuses], { description, examples: ['online'] });

const PartNumber = (description: string, example: number) =>
  Type.Integer({ minimum: 0, maximum: limits.partNumberMax, description, examples: [example] });

export const ShardsBody = Type.Object(
  {
    shard_count: Type.Integer({
      minimum: 1,
      maximum: countMax,
      description: 'How many shards the bot has in all.',
      examples: [2],
    }),
    shards: Type.Array(
      Type.Object({
        id: Type.Integer({
          minimum: 0,
          maximum: countMax - 1,
          description: 'From 0, below `shard_count`; once per post.',
          examples: [0],
        }),
        servers: Type.Optional(PartNumber('Servers of this shard.', 600)),
        users: Type.Optional(PartNumber('Users of this shard.', 45_000)),
        status: Type.Optional(Status('Presence of this shard; `online` if no post has named one.')),
      }),
      {
        minItems: 1,
        maxItems: limits.partsPerPostMax,
        description: `The shards that this process runs, up to ${limits.partsPerPostMax}.`,
      },
    ),
    cluster: Type.Optional(
      Type.String({
        maxLength: 64,
        pattern: clusterName,
        description: 'Name of the process or machine that runs these shards.',
        examples: ['eu-1'],
      }),
    ),
  },
  {
    description: 'Fields of a shard that are absent keep their value.',
    examples: [
      {
        shard_count: 2,
        shards: [{ id: 0, servers: 600, users: 45_000, status: 'online' }],
        cluster: 'eu-1',
      },
    ],
  },
);
export type ShardsBody = Static<typeof ShardsBody>;
export const shardStates = ['live', 'stale', 'missing'] as const;

export const ShardsQuery = Type.Object({
  ...PageQuery.properties,
  state: Type.Optional(
    Type.Enum([...shardStates], {
      description: 'Shows only shards of the page in this state.',
      examples: ['stale'],
    }),
  ),
});

const BotShard = buildObject(
  {
    id: describe(Count, 'Id of the shard, from 0.'),
    servers: buildCount(600, 'Servers of this shard, as posted last.'),
    users: buildCount(45_000, 'Users of this shard, as posted last.'),
    status: Status('`offline` for a missing shard.'),
    state: Type.Enum([...shardStates], {
      description: '`live`, `stale` (it counts, but has not posted lately), or `missing`.',
      examples: ['live'],
    }),
    cluster: buildText('eu-1', 'Name of the process that posted it last; empty if it gave none.'),
    last_post: toNullable(Timestamp, 'When it was last posted; `null` for a missing shard.'),
  },
  { last_post: '2026-03-01T12:00:00.000Z' },
);
export type BotShard = Static<typeof BotShard>;

const buildMissingShard = (id: number) =>
  ({ id, servers: 0, users: 0, status: 'offline', state: 'missing', cluster: '', last_post: null }) as const;

export const BotShards = buildObject(
  {
    mode: Type.Enum(['totals', 'sharded'], {
      description: '`sharded` while the totals of the bot are the sums of its shards.',
      examples: ['sharded'],
    }),
    shard_count: buildCount(2, '0 in mode `totals`.'),
    live: buildCount(1, 'How many shards are live.'),
    stale: describe(Count, 'How many shards are stale.'),
    missing: buildCount(1, 'How many shards are missing.'),
    building: toNullable(
      Type.Object({
        shard_count: describe(Count, 'The number of shards that will be in force.'),
        seen: describe(Count, 'How many of them were posted.'),
        since: describe(Timestamp, 'When the newest of them was posted for the first time.'),
      }),
      'Shards of another `shard_count`, which count for nothing yet; `null`: none.',
    ),
    shards: Type.Array(BotShard, { description: `The shards by id, ${limits.partsPerPostMax} per page.` }),
  },
  { shards: [findExample(BotShard), buildMissingShard(1)] },
);
export type BotShards = Static<typeof BotShards>;

/** A thousand shards with all fields take 80,000 bytes; real clients also send unknown fields. */
const shardsBodyLimits: BodyLimits = {
  bytesMax: 393_216,
  fieldsMax: 64,
  valuesMax: limits.partsPerPostMax * 16,
};

export const botShardRoutes = defineRoutes('Beyond the contract', [
  defineRoute('postShards', 'POST /bots/stats/shards', {
    summary: 'Post some shards',
    description:
      'Records the statistics of some shards of the calling bot: for bots that run as several ' +
      'processes. The totals of the bot are then the sums of its shards. Another `shard_count` counts ' +
      'once all its shards were seen, or a while after the last new one; posts of the one before get 409 ' +
      '`shards_inconsistent` while those in force are posted. A post of totals to `/bots/stats` ends this. ' +
      '`context` of the reply says how things stand.',
    auth: { kind: 'bot' },
    bannedAllowed: true,
    limit: 'stats',
    body: ShardsBody,
    bodyLimits: shardsBodyLimits,
    replies: { 200: ApiResponse },
    errors: ['not_found', 'shards_inconsistent'],
    check: ({ body }) => checkShardIds(body),
    handle: (app, request) => recordShards(app, request),
  }),
  definePublicRoute('getShards', 'GET /bots/{id}/shards', {
    summary: 'List shards',
    description:
      'Which shards of a bot are live, stale or missing, and what each posted last; 1,000 shards per ' +
      'page.',
    limit: 'bot_shards',
    caching: 'entity',
    params: BotParams,
    query: ShardsQuery,
    replies: { 200: BotShards },
    // A page has the ids from 1,000 × (page − 1) on, so each page costs the same.
    handle: async (app, { params, query }) => {
      const page = parsePage(query);
      const { id } = requireFound(await app.catalogue.bots.find(params.id), 'bot');
      return showShardsOf(app, id, { page, state: query.state });
    },
  }),
]);

/** Throws `validation_failed` unless all ids are below the shard count and different. */
const checkShardIds = ({ shard_count, shards }: ShardsBody): void => {
  const seen = new Set<number>();
  for (const [index, { id }] of shards.entries()) {
    const pointer = `/shards/${index}/id`;
    if (id >= shard_count)
      throw createValidationError('body', {
        [pointer]: `must be less than shard_count, which is ${shard_count}`,
      });
    if (seen.has(id))
      throw createValidationError('body', { [pointer]: 'must not be the id of an earlier entry' });
    seen.add(id);
  }
};

const countStates = (current: PartsTable | null) => {
  if (current === null) return { shard_count: 0, live: 0, stale: 0, missing: 0 };
  const live = countLive(current);
  const { shardCount, seen } = current;
  return { shard_count: shardCount, live, stale: seen - live, missing: shardCount - seen };
};

const describeState = ({ parts, servers, users }: HotState): Record<string, string> => {
  const current = parts?.current ?? null;
  const { shard_count, live, stale, missing } = countStates(current);
  return {
    mode: current === null ? 'totals' : 'sharded',
    shard_count: current === null ? '' : String(shard_count),
    live: String(live),
    stale: String(stale),
    missing: String(missing),
    building: String(parts?.building?.shardCount ?? ''),
    servers,
    users,
  };
};

/** `POST /bots/stats/shards`. *Hot* when it resolves. */
export const recordShards = async (
  app: App,
  request: { readonly caller: Caller | null; readonly body: ShardsBody },
): Promise<Reply> => {
  const { shard_count, shards, cluster } = request.body;
  const parts = shards
    .map(({ id, servers, users, status }) => ({ id, servers, users, status }))
    .sort((one, other) => one.id - other.id);
  const post = { shardCount: shard_count, parts, cluster };
  const { state } = await app.engine.postParts(requireCaller(request).id, post);
  app.counts.parts += parts.length;
  return replyMessage('Shards recorded.', describeState(state));
};

const toBotShard = (id: number, part: Part | undefined): BotShard =>
  part === undefined
    ? buildMissingShard(id)
    : {
        id,
        servers: part.servers,
        users: part.users,
        status: part.status,
        state: part.live ? 'live' : 'stale',
        cluster: part.cluster,
        last_post: toTimestamp(new Date(part.atMs)),
      };

interface ShardsPage {
  readonly page: number;
  readonly state: (typeof shardStates)[number] | undefined;
}

const showShardsOf = async (app: App, botId: string, { page, state: wanted }: ShardsPage) => {
  const limit = limits.partsPerPostMax;
  const fromId = (page - 1) * limit;
  const { state, parts } = await app.engine.readParts(botId, { fromId, limit });
  const current = state.parts?.current ?? null;
  const building = state.parts?.building ?? null;
  const shards: BotShard[] = [];
  for (let id = fromId; id < Math.min(current?.shardCount ?? 0, fromId + limit); id++) {
    const shard = toBotShard(id, parts.get(id));
    if (wanted === undefined || shard.state === wanted) shards.push(shard);
  }
  return replyOk<BotShards>({
    mode: current === null ? 'totals' : 'sharded',
    ...countStates(current),
    building: building && {
      shard_count: building.shardCount,
      seen: building.seen,
      since: toTimestamp(new Date(building.sinceMs)),
    },
    shards,
  });
};
