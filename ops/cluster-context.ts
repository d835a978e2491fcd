/**
 * Wires a node to the other nodes: sessions, edits, rate limits and heartbeats, through storage/nodes/.
 *
 * Only this file knows whether other nodes may exist. With embedded stores the node is alone and gets the
 * plain catalogue and sessions; with shared stores the same parts are connected through Redis. It contains
 * only wiring: storage/nodes/heartbeats.ts lists the nodes known in Redis, membership.ts those known in SQL,
 * and commands.ts is the connection for Redis commands. Opening never waits for Redis: until the first
 * heartbeat message arrives, the node uses no cached session. Called by rollcall.ts, which closes it before
 * the stores.
 */
import type { Engine } from '../engine/engine.ts';
import { createSessionCache, type SessionCache } from '../http/auth/sessions.ts';
import type { SharedRates } from '../http/limits/limiter.ts';
import { type Catalogue, createCatalogue } from '../storage/catalogue/catalogue.ts';
import { createHeartbeats, type Heartbeats, heartbeatEveryMs } from '../storage/nodes/heartbeats.ts';
import type { Pubsub } from '../storage/nodes/pubsub.ts';
import { createRates } from '../storage/nodes/rates.ts';
import { mirrorSessions } from '../storage/nodes/sessions.ts';
import { shareCatalogue } from '../storage/nodes/shared-catalogue.ts';
import type { Stores } from '../storage/open.ts';
import { systemClock } from './clock.ts';
import { startInterval } from './timers.ts';

/** Tells the log what nobody waits for. */
export type OnWarning = (words: string, error: unknown) => void;

export interface ClusterContext {
  readonly catalogue: Catalogue;
  /** What authentication asks. */
  readonly sessions: SessionCache;
  /** `undefined` when this node counts limits by itself. */
  readonly rates: SharedRates | undefined;
  /** To be called with every request: see `Pubsub.runs`. `undefined` where this node is alone. */
  readonly runs: ((steadyMs: number) => void) | undefined;
  /** Joins the others, once it is known where operators reach this node. */
  join(node: { readonly name: string; readonly adminUrl: string; readonly engine: Engine }): void;
  /** Leaves them and closes the connections. Idempotent. */
  close(): Promise<void>;
}

export interface ClusterContextConfig {
  readonly redisUrl: readonly string[];
}

const sessionsCachedMax = 100_000;
/** A session is asked for again after this, also when nothing was heard of it. */
const sessionsKeptMs = 60_000;
/** How long a token that was in use works on when SQL is away, also where a node has to forget it. */
const sessionCopiesMs = 3_600_000;

const openAlone = (stores: Stores): ClusterContext => {
  const catalogue = createCatalogue(stores.requestSql);
  const sessions = createSessionCache({
    source: catalogue.sessions,
    clock: systemClock,
    entriesMax: sessionsCachedMax,
    freshMs: sessionsKeptMs,
  });
  return { catalogue, sessions, rates: undefined, runs: undefined, join: () => {}, close: async () => {} };
};

interface SharedParts {
  readonly pubsub: Pubsub;
  readonly stores: Stores;
  readonly onWarning: OnWarning;
}

/** Facts edited in SQL by whoever could not tell the hot store: every node that hears of it does. */
const subscribeToFacts = ({ pubsub, onWarning }: SharedParts, engine: Engine): void => {
  pubsub.subscribe({
    onMessage: (message) => {
      if (message.kind !== 'facts') return;
      engine.refreshFacts(message.entity, message.id).catch((error: unknown) => {
        onWarning('facts that another node told of were not sent', error);
      });
    },
  });
};

/** Marks this node as living; function libraries that nobody living calls are dropped. */
const createHeartbeatTask =
  (beats: Heartbeats, { stores }: SharedParts) =>
  async (): Promise<void> => {
    await beats.sendHeartbeat();
    await stores.libraries?.dropOthers(beats.listVersions());
  };

const openShared = async (
  stores: Stores,
  config: ClusterContextConfig,
  onWarning: OnWarning,
): Promise<ClusterContext> => {
  // Its two clients are a third of what a node loads, and a node that is alone needs neither.
  const { openPubsub } = await import('../storage/nodes/pubsub.ts');
  const pubsub = openPubsub({
    urls: config.redisUrl,
    onError: (error) => onWarning('the signal connection to Redis', error),
  });
  const plain = createCatalogue(stores.requestSql);
  const mirror = mirrorSessions({
    pubsub,
    sql: stores.requestSql,
    sessions: plain.sessions,
    entriesMax: sessionsCachedMax,
    copyMs: sessionCopiesMs,
    confirmMs: sessionsKeptMs,
    nowMs: systemClock.nowMs,
  });
  const sessions = createSessionCache({
    source: mirror,
    clock: systemClock,
    entriesMax: sessionsCachedMax,
    freshMs: sessionsKeptMs,
    isTrusted: pubsub.isConnected,
    isCacheable: mirror.isCacheable,
  });
  mirror.invalidateCache(sessions);
  const catalogue = shareCatalogue(plain, { pubsub, sessions: mirror, onWarning });
  const ends: (() => Promise<void> | void)[] = [];
  return {
    catalogue,
    sessions,
    rates: createRates(pubsub.commands),
    runs: pubsub.runs,
    join: ({ name, adminUrl, engine }) => {
      const joined = { pubsub, stores, onWarning };
      const library = stores.libraries?.version ?? '';
      const beats = createHeartbeats({ commands: pubsub.commands, name, facts: { library, adminUrl } });
      const failed = (error: Error): void => onWarning('the heartbeat in Redis failed', error);
      const beat = createHeartbeatTask(beats, joined);
      beat().catch(failed);
      subscribeToFacts(joined, engine);
      pubsub.subscribe({ stalled: () => engine.suspectStale() });
      ends.push(startInterval(heartbeatEveryMs, beat, failed), () => beats.leave());
    },
    close: async () => {
      for (const end of ends.splice(0)) await Promise.resolve(end()).catch(() => {});
      pubsub.close();
    },
  };
};

/** The plane of this node. With shared stores it connects in the background. */
export const openClusterContext = async (
  stores: Stores,
  config: ClusterContextConfig,
  onTrouble: OnWarning,
): Promise<ClusterContext> => (stores.shared ? openShared(stores, config, onTrouble) : openAlone(stores));
