/**
 * Posts the numbers of a running bot: every process posts the shards that it runs, and the directory adds
 * them up, so no process needs to know the others.
 *
 * It reads the client object of discord.js, eris, oceanic.js or hybrid sharding by its shape, and never
 * throws into the bot: failures go to `onError`.
 */
import {
  type ClientOptions,
  computeBackoffSeconds,
  createClient,
  DirectoryError,
  type RequestOptions,
  releaseTimer,
} from './request.ts';
import type { ShardsBody, StatsBody } from './types.ts';

interface Guild {
  /** `false` while Discord has an outage. */
  readonly available?: boolean;
  readonly shardId?: number;
  readonly shard?: { readonly id?: number } | null;
  readonly memberCount?: number;
}
/** What the libraries have in common; every part may be missing. */
interface BotShape {
  readonly guilds?: ReadonlyMap<string, Guild> | { readonly cache?: ReadonlyMap<string, Guild> };
  /** Where eris and oceanic.js move guilds during an outage. */
  readonly unavailableGuilds?: ReadonlyMap<string, Guild>;
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
  /** Ends it within two seconds, with a last post that says `offline`; the numbers stay. */
  stop(): Promise<void>;
}

/** The numbers of the shards that this process runs. */
export interface ShardNumbers {
  readonly shardCount: number;
  readonly shards: readonly { readonly id: number; readonly servers: number; readonly users: number }[];
}

const isCount = (value: unknown): value is number => typeof value === 'number' && value > 0;

/** By id; a guild that Discord's outage hides is still one of the bot. */
const listGuilds = ({
  guilds,
  unavailableGuilds = new Map<string, Guild>(),
}: BotShape): ReadonlyMap<string, Guild> => {
  const given = guilds !== undefined && 'cache' in guilds ? guilds.cache : guilds;
  const map = given as ReadonlyMap<string, Guild> | undefined;
  // Without this it would post that the bot is in no server.
  if (typeof map?.[Symbol.iterator] !== 'function')
    throw new TypeError('The client has no guilds that can be read: use `stats`.');
  const all = new Map<string, Guild>();
  for (const [id, { shard = null }] of unavailableGuilds) all.set(id, { shard, available: false });
  for (const [id, guild] of map) all.set(id, guild);
  return all;
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

/** What is remembered of a guild, for the time of an outage. */
interface KnownGuild {
  readonly shardId: number | undefined;
  readonly users: number;
}

/** What is known of each guild now: of a hidden one, what was known before. */
const readGuilds = (bot: BotShape, known: ReadonlyMap<string, KnownGuild>): Map<string, KnownGuild> => {
  const read = new Map<string, KnownGuild>();
  for (const [id, { available, shardId, shard, memberCount }] of listGuilds(bot)) {
    const before = known.get(id);
    const users = available === false ? (before?.users ?? memberCount) : memberCount;
    read.set(id, { shardId: shardId ?? shard?.id ?? before?.shardId, users: isCount(users) ? users : 0 });
  }
  return read;
};

/** Reads the numbers of the shards that this process runs from the client of a library. */
export const readShards = (client: object): ShardNumbers =>
  addUp(client as BotShape, readGuilds(client as BotShape, new Map()));

const addUp = (bot: BotShape, guilds: ReadonlyMap<string, KnownGuild>): ShardNumbers => {
  const ids = listShardIds(bot);
  const byId = new Map(ids.map((id) => [id, { id, servers: 0, users: 0 }]));
  for (const { shardId = ids[0] ?? 0, users } of guilds.values()) {
    const numbers = byId.get(shardId);
    if (numbers === undefined) continue;
    numbers.servers += 1;
    numbers.users += users;
  }
  return { shardCount: countShards(bot, ids), shards: [...byId.values()] };
};

const everyMsUsual = 300_000;
const checkEveryMs = 10_000;
const backoffSecondsMax = 900;
const shardsPerPostMax = 1_000;
const reportEveryMs = 3_600_000;
const stopMsMax = 2_000;

const isReady = (bot: BotShape): boolean => bot.isReady?.() ?? bot.ready ?? true;

/** One line an hour at most. */
const createReporter = (): ((error: unknown) => void) => {
  let dueAtMs = 0;
  return (error) => {
    if (performance.now() < dueAtMs) return;
    dueAtMs = performance.now() + reportEveryMs;
    console.warn('The directory did not accept the numbers of this bot:', error);
  };
};

type SendOptions = Pick<RequestOptions, 'signal' | 'isBackground'>;

interface Sender {
  /** Posts the numbers as they are; resolves to the number of servers. */
  send(options: SendOptions): Promise<number>;
  /** Posts that the bot is offline; its numbers stay. */
  sendOffline(options: SendOptions): Promise<void>;
}

const createSender = (options: AutopostOptions): Sender => {
  const directory = createClient(options);
  const name = options.cluster === undefined ? {} : { cluster: options.cluster };
  let known = new Map<string, KnownGuild>();

  const postStats = async (body: StatsBody, rest: SendOptions): Promise<void> => {
    await directory.request('POST', '/bots/stats', { ...rest, body });
  };
  const postShards = async (
    shard_count: number,
    shards: ShardsBody['shards'],
    rest: SendOptions,
  ): Promise<void> => {
    for (let from = 0; from < shards.length; from += shardsPerPostMax) {
      const body = { shard_count, shards: shards.slice(from, from + shardsPerPostMax), ...name };
      await directory.request('POST', '/bots/stats/shards', { ...rest, body });
    }
  };
  const send = async (rest: SendOptions): Promise<number> => {
    if (options.client === undefined) {
      const stats = (await options.stats?.()) ?? {};
      await postStats({ status: 'online', ...stats }, rest);
      return stats.servers ?? 0;
    }
    known = readGuilds(options.client, known);
    const { shardCount, shards } = addUp(options.client, known);
    const servers = shards.reduce((sum, shard) => sum + shard.servers, 0);
    const users = shards.reduce((sum, shard) => sum + shard.users, 0);
    const online = shards.map((shard) => ({ ...shard, status: 'online' as const }));
    if (shardCount === 1) await postStats({ servers, users, shards: 1, status: 'online' }, rest);
    else await postShards(shardCount, online, rest);
    return servers;
  };
  const sendOffline = async (rest: SendOptions): Promise<void> => {
    const bot = (options.client ?? {}) as BotShape;
    const ids = listShardIds(bot);
    const shardCount = countShards(bot, ids);
    const offline = ids.map((id) => ({ id, status: 'offline' as const }));
    if (shardCount === 1) await postStats({ status: 'offline' }, rest);
    else await postShards(shardCount, offline, rest);
  };
  return { send, sendOffline };
};

/** Whether the number of servers has moved by more than 1 % since the last post. */
const hasMoved = (client: object | undefined, posted: number | null): boolean => {
  if (client === undefined || posted === null) return false;
  const now = listGuilds(client as BotShape).size;
  return Math.abs(now - posted) > posted / 100;
};

/**
 * Posts the numbers of a bot every five minutes, and soon after they have moved by more than 1 %, from when
 * the bot is ready until `stop`. It keeps no process alive.
 *
 * @example
 * const poster = autopost({ url, token, client }); // in every process of the bot
 * process.once('SIGTERM', () => poster.stop().finally(() => process.exit()));
 */
export const autopost = (options: AutopostOptions): Autoposter => {
  const { client, everyMs = everyMsUsual, onError = createReporter() } = options;
  if (client === undefined && options.stats === undefined)
    throw new TypeError('autopost needs `client` or `stats`.');
  const { send, sendOffline } = createSender(options);
  let posted: number | null = null;
  // By the monotonic clock: once the system clock is set back, no post would be due for as long.
  let dueAtMs = 0;
  let failures = 0;
  let running: Promise<void> | null = null;
  let stopped: Promise<void> | null = null;
  const ending = new AbortController();

  const post = async (isBackground = false): Promise<void> => {
    posted = await send({ signal: ending.signal, isBackground });
    failures = 0;
    dueAtMs = performance.now() + everyMs * (0.9 + 0.2 * Math.random());
  };
  const fail = (error: unknown): void => {
    if (ending.signal.aborted) return;
    failures++;
    const named = error instanceof DirectoryError ? error.retryAfterSeconds : 0;
    const seconds = Math.max(named, computeBackoffSeconds(failures, backoffSecondsMax));
    dueAtMs = performance.now() + seconds * 1_000;
    onError(error);
  };
  const isDue = (): boolean =>
    isReady((client ?? {}) as BotShape) &&
    (performance.now() >= dueAtMs || (failures === 0 && hasMoved(client, posted)));
  const check = (): void => {
    try {
      if (running !== null || !isDue()) return;
      running = post(true)
        .catch(fail)
        .finally(() => {
          running = null;
        });
    } catch (error) {
      fail(error);
    }
  };

  const timer = setInterval(check, Math.min(checkEveryMs, everyMs));
  releaseTimer(timer);
  check();
  const end = async (): Promise<void> => {
    clearInterval(timer);
    ending.abort(new Error('the autoposter was stopped'));
    // A post in progress is given up: it may wait for minutes, and may have reached the directory.
    const signal = AbortSignal.timeout(stopMsMax);
    if (posted !== null || running !== null) await sendOffline({ signal }).catch(onError);
  };
  return {
    post: () => post(),
    stop: () => {
      stopped ??= end();
      return stopped;
    },
  };
};
