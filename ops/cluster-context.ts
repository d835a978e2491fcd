/**
 * Wires a node to the other nodes: sessions, edits, rate limits and heartbeats, through storage/nodes/.
 *
 * Only this file knows whether other nodes may exist. With embedded stores the node is alone and gets the
 * plain catalogue and sessions; with shared stores the same parts are connected through Redis. It contains
 * only wiring: storage/nodes/heartbeats.ts lists the nodes known in Redis, membership.ts those known in SQL,
 * and commands.ts is the connection for Redis commands. Opening never waits for Redis: until the first
 * heartbeat message arrives, the node uses no cached session.
 */

import type { Engine } from '../engine/engine.ts';
import type { Note } from '../engine/tools/notes.ts';
import { createSessionCache, type SessionCache } from '../http/auth/sessions.ts';
import type { SharedRates } from '../http/limits/limiter.ts';
import { type NodeFigures, type NodeStatus, noFigures } from '../http/telemetry/node-status.ts';
import { type Catalogue, type CatalogueOptions, createCatalogue } from '../storage/catalogue/catalogue.ts';
import {
  createHeartbeats,
  type Heartbeats,
  heartbeatEveryMs,
  type LiveNode,
  listFlushers,
  type NodeFacts,
} from '../storage/nodes/heartbeats.ts';
import type { Subscriber } from '../storage/nodes/pubsub.ts';
import { createRates, type KeyHasher } from '../storage/nodes/rates.ts';
import { mirrorSessions } from '../storage/nodes/sessions.ts';
import { shareCatalogue } from '../storage/nodes/shared-catalogue.ts';
import type { Stores } from '../storage/open.ts';
import { startInterval } from '../storage/timers.ts';
import { systemClock } from './clock.ts';

/** Logs an error of background work, which has no caller to report to. */
export type OnWarning = (message: string, error: unknown) => void;

export interface JoiningNode {
  readonly name: string;
  readonly adminUrl: string;
  readonly engine: Engine;
  readonly version: string;
  readonly readFigures: () => NodeFigures;
  /** Receives the names of the nodes that flush with each heartbeat; never called on a node that is alone. */
  readonly onFlushers: (names: readonly string[]) => void;
  /** Called when another node has edited webhook endpoints. */
  readonly refreshWebhooks: () => Promise<void>;
}

/** Closed by `close`, before the stores. */
export interface ClusterContext {
  readonly catalogue: Catalogue;
  /** The session cache that authentication reads. */
  readonly sessions: SessionCache;
  /** Rate limits that all nodes count together; `undefined` when this node counts alone. */
  readonly createRates: ((hashKey: KeyHasher) => SharedRates) | undefined;
  /** Called by the listener with every request, see `Pubsub.runs`; `undefined` when this node is alone. */
  readonly runs: ((steadyMs: number) => void) | undefined;
  /** Starts the heartbeat and the subscriptions. Called once the address for operators is known. */
  join(node: JoiningNode): void;
  /** The live nodes as of their last heartbeats; before `join`, none. */
  listNodes(): readonly NodeStatus[];
  listNotes(): readonly Note[];
  /** Deletes the heartbeat and closes the connections. Never rejects. Idempotent. */
  close(): Promise<void>;
}

export interface ClusterContextConfig {
  readonly redisUrl: readonly string[];
  readonly checkRules: NonNullable<CatalogueOptions['checkRules']>;
}

const sessionsCachedMax = 100_000;
/** A cached session is read from SQL again after this time while notices of changes do not cover it. */
const sessionFreshMs = 60_000;
/** While SQL is away, a token that was in use keeps working this long, by its copy in Redis. */
const sessionCopyMs = 3_600_000;

/** The context of a node on embedded stores: no other node, nothing shared. */
const openLocal = (stores: Stores, { checkRules }: ClusterContextConfig): ClusterContext => {
  const catalogue = createCatalogue(stores.requestSql, { checkRules });
  const sessions = createSessionCache({
    source: catalogue.sessions,
    clock: systemClock,
    entriesMax: sessionsCachedMax,
    freshMs: sessionFreshMs,
    notices: catalogue.notices,
  });
  let nodes: () => readonly NodeStatus[] = () => [];
  return {
    catalogue,
    sessions,
    createRates: undefined,
    runs: undefined,
    join: ({ name, version, readFigures }) => {
      nodes = () => [{ node: name, version, figures: readFigures() }];
    },
    listNodes: () => nodes(),
    listNotes: () => [],
    close: async () => {},
  };
};

const toNodeStatus = ({ name, version, figures }: LiveNode): NodeStatus => ({
  node: name,
  version: version ?? '',
  figures: { ...noFigures, ...figures },
});

/**
 * Writes the heartbeat of this node. When the versions in use change, deletes Redis function libraries that
 * no live node uses.
 */
const createHeartbeatTask = (
  heartbeats: Heartbeats,
  { redis }: Stores,
  onFlushers: JoiningNode['onFlushers'],
): (() => Promise<void>) => {
  let versions = '';
  return async () => {
    onFlushers(listFlushers(await heartbeats.sendHeartbeat()));
    const used = [...heartbeats.listVersions()].sort().join(' ');
    if (used === versions) return;
    await redis?.libraries.dropOthers(heartbeats.listVersions());
    versions = used;
  };
};

const readNodeFacts = (
  { redis, isSqlUp }: Stores,
  { adminUrl, version, readFigures }: JoiningNode,
): NodeFacts => ({
  library: redis?.libraries.version ?? '',
  adminUrl,
  version,
  figures: { ...readFigures() },
  reachesSql: isSqlUp(),
});

/** Webhook endpoints that a node missed are read within seconds. */
const createEditListener = ({ refreshWebhooks }: JoiningNode, onWarning: OnWarning): Subscriber => ({
  onMessage: ({ kind }) => {
    if (kind !== 'webhooks') return;
    refreshWebhooks().catch((error: unknown) => onWarning('webhooks could not be read', error));
  },
});

/** The context of a node on Redis and Postgres. Its Redis clients connect in the background. */
const openShared = async (
  stores: Stores,
  config: ClusterContextConfig,
  onWarning: OnWarning,
): Promise<ClusterContext> => {
  // Imported only here: its two Redis clients are a third of the code that a node loads.
  const { openPubsub } = await import('../storage/nodes/pubsub.ts');
  const pubsub = openPubsub({
    urls: config.redisUrl,
    onError: (error) => onWarning('the pub/sub connection to Redis failed', error),
  });
  const localCatalogue = createCatalogue(stores.requestSql, { checkRules: config.checkRules });
  const mirror = mirrorSessions({
    pubsub,
    notices: localCatalogue.notices,
    sql: stores.requestSql,
    sessions: localCatalogue.sessions,
    entriesMax: sessionsCachedMax,
    copyMs: sessionCopyMs,
    confirmMs: sessionFreshMs,
    nowMs: systemClock.nowMs,
  });
  const sessions = createSessionCache({
    source: mirror,
    clock: systemClock,
    entriesMax: sessionsCachedMax,
    freshMs: sessionFreshMs,
    isTrusted: pubsub.isConnected,
    isCacheable: mirror.isCacheable,
    getReadMs: mirror.getReadMs,
    notices: localCatalogue.notices,
  });
  mirror.invalidateCache(sessions);
  const catalogue = shareCatalogue(localCatalogue, { pubsub, sessions: mirror, onWarning });
  const cleanups: (() => Promise<void> | void)[] = [];
  let joined: Heartbeats | null = null;
  return {
    catalogue,
    sessions,
    createRates: (hashKey) => createRates(pubsub.commands, hashKey),
    runs: pubsub.runs,
    listNotes: pubsub.listNotes,
    listNodes: () => (joined?.listNodes() ?? []).map(toNodeStatus),
    join: (node) => {
      const readFacts = (): NodeFacts => readNodeFacts(stores, node);
      const heartbeats = createHeartbeats({ commands: pubsub.commands, name: node.name, readFacts });
      joined = heartbeats;
      const onFailure = (error: Error): void => onWarning('the heartbeat in Redis failed', error);
      const sendHeartbeat = createHeartbeatTask(heartbeats, stores, node.onFlushers);
      sendHeartbeat().catch(onFailure);
      pubsub.subscribe(createEditListener(node, onWarning));
      pubsub.subscribe({ stalled: () => node.engine.suspectStale() });
      cleanups.push(startInterval(heartbeatEveryMs, sendHeartbeat, onFailure), () => heartbeats.leave());
    },
    close: async () => {
      for (const cleanUp of cleanups.splice(0)) await Promise.resolve(cleanUp()).catch(() => {});
      pubsub.close();
    },
  };
};

/** Opens the context of this node: local on embedded stores, shared on Redis and Postgres. */
export const openClusterContext = async (
  stores: Stores,
  config: ClusterContextConfig,
  onWarning: OnWarning,
): Promise<ClusterContext> =>
  stores.shared ? openShared(stores, config, onWarning) : openLocal(stores, config);
