/**
 * Posts the numbers of a running bot: every process posts the shards that it runs, and the directory adds
 * them up, so no process needs to know the others.
 *
 * It reads the client object of discord.js, eris, oceanic.js or hybrid sharding by its shape, and never
 * throws into the bot: failures go to `onError`.
 */
import { type ClientOptions, computeBackoffSeconds, createClient, DirectoryError } from './request.ts';
import type { ShardsBody, StatsBody } from './types.ts';

interface Guild {
  readonly shardId?: number;
  readonly shard?: { readonly id?: number } | null;
  readonly memberCount?: number;
}
/** What the libraries have in common; every part may be missing. */
interface BotShape {
  readonly guilds?: ReadonlyMap<string, Guild> | { readonly cache?: ReadonlyMap<string, Guild> };
  readonly shard?: { readonly ids?: readonly number[]; readonly count?: number } | null;
  readonly cluster?: { readonly info?: { TOTAL_SHARDS?: number; SHARD_LIST?: readonly number[] } };
  readonly ws?: { readonly shards?: ReadonlyMap<number, unknown> };
  readonly shards?: ReadonlyMap<number, unknown> & { readonly options?: { readonly maxShards?: unknown } };
  readonly options?: { readonly shardCount?: unknown; readonly maxShards?: unknown };
  readonly ready?: boolean;
  isReady?(): boolean;
}

export interface AutopostOptions extends ClientOptions {
  readonly token: string;
  /** The client of your library. */
  readonly client?: object;
  /** Instead of `client`: the numbers of the whole bot. */
  readonly stats?: () => StatsBody | Promise<StatsBody>;
  /** Name of this process, up to 64 of `A-Z a-z 0-9 _ . -`; `GET /bots/{id}/shards` shows it. */
  readonly cluster?: string;
  /** Time between two posts in milliseconds, ± 10 %; five minutes if absent. */
  readonly everyMs?: number;
  /** Gets every failure; without it one line an hour goes to the console. */
  readonly onError?: (error: unknown) => void;
}
export interface Autoposter {
  /** Posts now. Rejects when the post fails. */
  post(): Promise<void>;
  /** Ends it, with a last post that says `offline`; the numbers stay. */
  stop(): Promise<void>;
}

/** The numbers of the shards that this process runs. */
export interface ShardNumbers {
  readonly shardCount: number;
  readonly shards: readonly { readonly id: number; readonly servers: number; readonly users: number }[];
}

const isCount = (value: unknown): value is number => typeof value === 'number' && value > 0;

const listGuilds = ({ guilds }: BotShape): Guild[] => {
  const map = guilds !== undefined && 'cache' in guilds ? guilds.cache : guilds;
  return map === undefined ? [] : [...(map as ReadonlyMap<string, Guild>).values()];
};

const listShardIds = ({ cluster, shard, ws, shards }: BotShape): readonly number[] => {
  const running = [...(ws?.shards ?? shards ?? new Map<number, unknown>()).keys()].map(Number);
  const ids = cluster?.info?.SHARD_LIST ?? shard?.ids ?? running;
  return ids.length > 0 ? ids : [0];
};

const countShards = (bot: BotShape, ids: readonly number[]): number =>
  [
    bot.cluster?.info?.TOTAL_SHARDS,
    bot.shard?.count,
    bot.options?.shardCount,
    bot.shards?.options?.maxShards,
    bot.options?.maxShards,
  ].find(isCount) ?? Math.max(...ids) + 1;

/** Reads the numbers of the shards that this process runs from the client of a library. */
export const readShards = (client: object): ShardNumbers => {
  const bot = client as BotShape;
  const ids = listShardIds(bot);
  const byId = new Map(ids.map((id) => [id, { id, servers: 0, users: 0 }]));
  for (const guild of listGuilds(bot)) {
    const numbers = byId.get(guild.shardId ?? guild.shard?.id ?? ids[0] ?? 0);
    if (numbers === undefined) continue;
    numbers.servers += 1;
    numbers.users += guild.memberCount ?? 0;
  }
  return { shardCount: countShards(bot, ids), shards: [...byId.values()] };
};

const everyMsUsual = 300_000;
const checkEveryMs = 10_000;
const backoffSecondsMax = 900;
const shardsPerPostMax = 1_000;
const reportEveryMs = 3_600_000;

const isReady = (bot: BotShape): boolean => bot.isReady?.() ?? bot.ready ?? true;

/** One line an hour at most. */
const createReporter = (): ((error: unknown) => void) => {
  let reportedAtMs = 0;
  return (error) => {
    if (Date.now() - reportedAtMs < reportEveryMs) return;
    reportedAtMs = Date.now();
    console.warn('The directory did not accept the numbers of this bot:', error);
  };
};

interface Sender {
  /** Posts the numbers as they are; resolves to the number of servers. */
  send(): Promise<number>;
  /** Posts that the bot is offline; its numbers stay. */
  sendOffline(): Promise<void>;
}

const createSender = (options: AutopostOptions): Sender => {
  const directory = createClient(options);
  const name = options.cluster === undefined ? {} : { cluster: options.cluster };
  const postShards = async (shard_count: number, shards: ShardsBody['shards']): Promise<void> => {
    for (let from = 0; from < shards.length; from += shardsPerPostMax)
      await directory.postShards({
        shard_count,
        shards: shards.slice(from, from + shardsPerPostMax),
        ...name,
      });
  };
  const send = async (): Promise<number> => {
    if (options.client === undefined) {
      const stats = (await options.stats?.()) ?? {};
      await directory.postStats({ status: 'online', ...stats });
      return stats.servers ?? 0;
    }
    const { shardCount, shards } = readShards(options.client);
    const servers = shards.reduce((sum, shard) => sum + shard.servers, 0);
    const users = shards.reduce((sum, shard) => sum + shard.users, 0);
    if (shardCount === 1) await directory.postStats({ servers, users, shards: 1, status: 'online' });
    else
      await postShards(
        shardCount,
        shards.map((shard) => ({ ...shard, status: 'online' })),
      );
    return servers;
  };
  const sendOffline = async (): Promise<void> => {
    const { shardCount, shards } = readShards(options.client ?? {});
    if (shardCount === 1) await directory.postStats({ status: 'offline' });
    else
      await postShards(
        shardCount,
        shards.map(({ id }) => ({ id, status: 'offline' })),
      );
  };
  return { send, sendOffline };
};

/** Whether the number of servers has moved by more than 1 % since the last post. */
const hasMoved = (client: object | undefined, posted: number | null): boolean => {
  if (client === undefined || posted === null) return false;
  const now = listGuilds(client as BotShape).length;
  return Math.abs(now - posted) > posted / 100;
};

/**
 * Posts the numbers of a bot every five minutes, and soon after they have moved by more than 1 %, from when
 * the bot is ready until `stop`. It keeps no process alive.
 *
 * @example
 * const poster = autopost({ url, token, client }); // in every process of the bot
 * process.once('SIGTERM', () => poster.stop());
 */
export const autopost = (options: AutopostOptions): Autoposter => {
  const { client, everyMs = everyMsUsual, onError = createReporter() } = options;
  const { send, sendOffline } = createSender(options);
  let posted: number | null = null;
  let dueAtMs = 0;
  let failures = 0;
  let running: Promise<void> | null = null;

  const post = async (): Promise<void> => {
    posted = await send();
    failures = 0;
    dueAtMs = Date.now() + everyMs * (0.9 + 0.2 * Math.random());
  };
  const postSafely = async (): Promise<void> => {
    try {
      await post();
    } catch (error) {
      failures++;
      const named = error instanceof DirectoryError ? error.retryAfterSeconds : 0;
      dueAtMs = Date.now() + Math.max(named, computeBackoffSeconds(failures, backoffSecondsMax)) * 1_000;
      onError(error);
    }
  };
  const check = (): void => {
    if (running !== null || (client !== undefined && !isReady(client as BotShape))) return;
    const isDue = Date.now() >= dueAtMs || (failures === 0 && hasMoved(client, posted));
    if (!isDue) return;
    running = postSafely().finally(() => {
      running = null;
    });
  };

  const timer = setInterval(check, Math.min(checkEveryMs, everyMs));
  (timer as { unref?: () => void }).unref?.();
  check();
  return {
    post,
    stop: async () => {
      clearInterval(timer);
      await running;
      if (posted !== null) await sendOffline().catch(onError);
    },
  };
};
