/**
 * Schemas of the shards of a bot, which are beyond the contract: the post of some of them, and their list.
 */
import { type Static, Type } from 'typebox';
import { presenceStatuses } from '../../engine/entity/state.ts';
import { limits } from '../../engine/limits.ts';
import { clusterName } from '../request/patterns.ts';
import { Count, PageQuery, Text, Timestamp, toNullable } from './common.ts';
import { describe } from './example.ts';

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

const shardExample = {
  id: 0,
  servers: 600,
  users: 45_000,
  status: 'online',
  state: 'live',
  cluster: 'eu-1',
  last_post: '2026-03-01T12:00:00.000Z',
} as const;
const BotShard = Type.Object(
  {
    id: describe(Count, 'Id of the shard, from 0.'),
    servers: describe(Count, 'Servers of this shard, as posted last.'),
    users: describe(Count, 'Users of this shard, as posted last.'),
    status: Status('`offline` for a missing shard.'),
    state: Type.Enum([...shardStates], {
      description: '`live`, `stale` (it counts, but has not posted lately), or `missing`.',
      examples: ['live'],
    }),
    cluster: describe(Text, 'Name of the process that posted it last; empty if it gave none.'),
    last_post: describe(toNullable(Timestamp), 'When it was last posted; `null` for a missing shard.'),
  },
  { examples: [shardExample] },
);
export type BotShard = Static<typeof BotShard>;

export const BotShards = Type.Object(
  {
    mode: Type.Enum(['totals', 'sharded'], {
      description: '`sharded` while the totals of the bot are the sums of its shards.',
      examples: ['sharded'],
    }),
    shard_count: Type.Integer({ minimum: 0, description: '0 in mode `totals`.' }),
    live: describe(Count, 'How many shards are live.'),
    stale: describe(Count, 'How many shards are stale.'),
    missing: describe(Count, 'How many shards are missing.'),
    building: describe(
      toNullable(
        Type.Object({
          shard_count: describe(Count, 'The number of shards that will be in force.'),
          seen: describe(Count, 'How many of them were posted.'),
          since: describe(Timestamp, 'When the newest of them was posted for the first time.'),
        }),
      ),
      'Shards of another `shard_count`, which count for nothing yet; `null`: none.',
    ),
    shards: Type.Array(BotShard, { description: `The shards by id, ${limits.partsPerPostMax} per page.` }),
  },
  {
    examples: [
      {
        mode: 'sharded',
        shard_count: 2,
        live: 1,
        stale: 0,
        missing: 1,
        building: null,
        shards: [
          shardExample,
          {
            ...shardExample,
            id: 1,
            servers: 0,
            users: 0,
            status: 'offline',
            state: 'missing',
            cluster: '',
            last_post: null,
          },
        ],
      },
    ],
  },
);
export type BotShards = Static<typeof BotShards>;
