/**
 * Records posts of a bot's shards, and shows the shards. In code a bot's shard is a *part*: `shard` is the
 * engine's word for something else.
 */
import { countLive } from '../../engine/entity/parts.ts';
import type { HotState, Part, PartsTable } from '../../engine/entity/state.ts';
import { limits } from '../../engine/limits.ts';
import type { BotProfile } from '../../storage/catalogue/bots/bots.ts';
import type { MaybePromise } from '../../storage/catalogue/catalogue.ts';
import { createValidationError } from '../response/validation-error.ts';
import { type App, type Caller, type Reply, replyMessage, replyOk } from '../route.ts';
import type { BotShard, BotShards, ShardsBody, shardStates } from '../schema/bot-shards.ts';
import { createNotFoundError, thenMaybe, toTimestamp } from './convert.ts';
import { requireCaller } from './request-values.ts';

/** Throws `validation_failed` unless all ids are below the shard count and different. */
export const checkShardIds = ({ shard_count, shards }: ShardsBody): void => {
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
  app.meters.recordParts(parts.length);
  return replyMessage('Shards recorded.', describeState(state));
};

const toBotShard = (id: number, part: Part | undefined): BotShard =>
  part === undefined
    ? { id, servers: 0, users: 0, status: 'offline', state: 'missing', cluster: '', last_post: null }
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

const showShardsOf = async (
  app: App,
  profile: BotProfile | null,
  { page, state: wanted }: ShardsPage,
): Promise<Reply> => {
  if (profile === null) throw createNotFoundError('bot');
  const limit = limits.partsPerPostMax;
  const fromId = (page - 1) * limit;
  const { state, parts } = await app.engine.readParts(profile.id, { fromId, limit });
  const current = state.parts?.current ?? null;
  const building = state.parts?.building ?? null;
  const shards: BotShard[] = [];
  for (let id = fromId; id < Math.min(current?.shardCount ?? 0, fromId + limit); id++) {
    const shard = toBotShard(id, parts.get(id));
    if (wanted === undefined || shard.state === wanted) shards.push(shard);
  }
  const reply: BotShards = {
    mode: current === null ? 'totals' : 'sharded',
    ...countStates(current),
    building: building && {
      shard_count: building.shardCount,
      seen: building.seen,
      since: toTimestamp(new Date(building.sinceMs)),
    },
    shards,
  };
  return replyOk(reply);
};

/** `GET /bots/{id}/shards`. A page has the ids from 1,000 × (page − 1) on, so each page costs the same. */
export const showShards = (app: App, idOrVanity: string, page: ShardsPage): MaybePromise<Reply> =>
  thenMaybe(app.catalogue.bots.find(idOrVanity), (profile) => showShardsOf(app, profile, page));
