/**
 * Nodes of a small fleet as far as sessions go: signals, the mirror and the cache, on one real Redis and
 * one real SQL.
 *
 * Every node reaches Redis through a proxy of its own, so that a test can cut or silence one node alone.
 */
import { createHash, randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Clock } from '../../../engine/ports.ts';
import { formatToken } from '../../../engine/rules/token.ts';
import { createSessionCache, type SessionCache } from '../../../http/auth/sessions.ts';
import { type Catalogue, createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import type { SessionOfToken } from '../../../storage/catalogue/people/sessions.ts';
import { openPubsub, type Pubsub } from '../../../storage/nodes/pubsub.ts';
import { type MirroredSessions, mirrorSessions } from '../../../storage/nodes/sessions.ts';
import { type CutProxy, openCutProxy } from '../../support/cut-proxy.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { addBot, addUser, type Directory, newSession, openDirectory } from '../catalogue/directory.ts';

export const clock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: () => () => {},
  endOfTick: () => {},
};

export const target = { kind: 'bot', id: 'bot1' } as const;

export interface Minted {
  readonly id: string;
  readonly token: string;
  readonly hash: string;
}

export interface Node {
  readonly signals: Pubsub;
  readonly sessions: MirroredSessions;
  readonly cache: SessionCache;
  readonly proxies: readonly CutProxy[];
  /** Look-ups of tokens in SQL by this node. */
  readonly countLookUps: () => number;
  readonly find: (minted: Minted) => Promise<SessionOfToken | null>;
  /** Mints a session of the bot. */
  readonly mint: () => Promise<Minted>;
  readonly revoke: (minted: Minted) => Promise<boolean>;
  close(): Promise<void>;
}

/** A directory with one bot and one user. */
export const openSessionSql = async (): Promise<Directory> => {
  const directory = await openDirectory();
  await addUser(directory.sql, 'robin');
  await addBot(directory.sql, 'bot1');
  return directory;
};

export interface Hooks {
  /** Runs after SQL has answered a look-up, before the mirror sees it. */
  readonly afterSql?: () => Promise<void>;
  /** Runs before SQL deletes a session, after everything a revoke does earlier. */
  readonly beforeDelete?: () => Promise<void>;
  /** Simulates an outage of SQL. */
  readonly sqlFails?: () => boolean;
  /** How long a copy in Redis is trusted without confirmation by SQL. */
  readonly confirmMs?: number;
  /** How long a node trusts its own cache. */
  readonly keepMs?: number;
}

const watchedSql = (catalogue: Catalogue, hooks: Hooks, count: () => void): Catalogue['sessions'] => ({
  ...catalogue.sessions,
  byTokenHash: async (hash) => {
    count();
    if (hooks.sqlFails?.()) throw new Error('connect ECONNREFUSED');
    const found = await catalogue.sessions.byTokenHash(hash);
    await hooks.afterSql?.();
    return found;
  },
  remove: async (...words) => {
    await hooks.beforeDelete?.();
    return catalogue.sessions.remove(...words);
  },
});

/** A barrier where work waits until the test opens it. Initially open. */
export const createGate = () => {
  let passing: () => Promise<void> = async () => {};
  let release = (): void => {};
  return {
    pass: (): Promise<void> => passing(),
    /** Stops only the `nth` arrival from now on. Resolves when it arrives. */
    hold: (nth = 1): Promise<void> => {
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      let comers = 0;
      return new Promise((arrived) => {
        passing = () => {
          comers += 1;
          if (comers !== nth) return Promise.resolve();
          arrived();
          return released;
        };
      });
    },
    open: (): void => release(),
  };
};

const mintWith = async (sessions: MirroredSessions): Promise<Minted> => {
  const token = formatToken(target, randomBytes(32));
  const session = newSession({ target, tokenHash: createHash('sha256').update(token).digest() });
  await sessions.insert(session, { apiSessionsMax: 10_000 });
  return { id: session.id, token, hash: session.tokenHash.toString('hex') };
};

export const openNode = async (
  redisPorts: readonly number[],
  directory: Directory,
  hooks: Hooks = {},
): Promise<Node> => {
  const proxies = redisPorts.length === 1 ? await Promise.all(redisPorts.map(openCutProxy)) : [];
  const ports = proxies.length > 0 ? proxies.map(({ port }) => port) : redisPorts;
  const urls = ports.map((port) => `redis://127.0.0.1:${port}`);
  const pubsub = openPubsub({ urls, onError: () => {} });
  let countLookUps = 0;
  const catalogue = createCatalogue(directory.sql);
  const { notices } = catalogue;
  const sql = watchedSql(catalogue, hooks, () => {
    countLookUps += 1;
  });
  const parts = { pubsub, sql: directory.sql, sessions: sql, nowMs: clock.nowMs, notices };
  const times = { copyMs: 3_600_000, confirmMs: hooks.confirmMs ?? 60_000 };
  const sessions = mirrorSessions({ ...parts, ...times, entriesMax: 1_000 });
  const cache = createSessionCache({
    source: sessions,
    clock,
    entriesMax: 1_000,
    freshMs: hooks.keepMs ?? 60_000,
    isTrusted: pubsub.isConnected,
    isCacheable: sessions.isCacheable,
    getReadMs: sessions.getReadMs,
    notices,
  });
  const stopForgetting = sessions.invalidateCache(cache);
  await until('the node hears itself', () => pubsub.isConnected());
  return {
    signals: pubsub,
    sessions,
    cache,
    proxies,
    countLookUps: () => countLookUps,
    find: async (minted) => cache.find(minted.token),
    mint: () => mintWith(sessions),
    revoke: (minted) => sessions.remove(target, minted.id),
    close: async () => {
      stopForgetting();
      pubsub.close();
      for (const proxy of proxies) await proxy.close();
    },
  };
};

/** Two nodes on one server of Redis. */
export interface Pair {
  readonly directory: Directory;
  readonly redis: RedisServer;
  /** A direct connection, without a proxy. */
  readonly admin: Redis;
  readonly one: Node;
  readonly other: Node;
  /** Stops the nodes, the proxies and the servers. */
  close(): Promise<void>;
}

export const openPair = async (hooks: { readonly one?: Hooks; readonly other?: Hooks }): Promise<Pair> => {
  const directory = await openSessionSql();
  const redis = await startRedis();
  const admin = new Redis(redis.url);
  // A test may have killed the server already.
  admin.on('error', () => {});
  const one = await openNode([redis.port], directory, hooks.one);
  const other = await openNode([redis.port], directory, hooks.other);
  const close = async (): Promise<void> => {
    await one.close();
    await other.close();
    admin.disconnect();
    await redis.dispose();
    await directory.close();
  };
  return { directory, redis, admin, one, other, close };
};

/** Resolves when both nodes receive their own heartbeats. */
export const awaitTrust = ({ one, other }: Pick<Pair, 'one' | 'other'>): Promise<void> =>
  until(
    'both nodes receive their heartbeats',
    () => one.signals.isConnected() && other.signals.isConnected(),
  );

/** Mints a session at one node that the other node then has in its own cache. */
export const mintKnown = async (pair: Pick<Pair, 'one' | 'other'>): Promise<Minted> => {
  await awaitTrust(pair);
  const minted = await pair.one.mint();
  await until('it is kept', async () => {
    await pair.other.find(minted);
    return !(pair.other.cache.find(minted.token) instanceof Promise);
  });
  return minted;
};
