/**
 * What one node shares with the others of its fleet: sessions, edits, rate limits, who lives.
 *
 * The one place that knows whether there are others. Where the stores are embedded this node is alone, and
 * everything here is the plain thing; where they are shared, the same parts with the signal plane between
 * them. Opening never waits for Redis: until this node hears itself it believes nothing it cached. Called by
 * rollcall.ts, which closes it before the stores.
 */
import type { Engine } from '../engine/engine.ts';
import { createSessionCache, type SessionCache } from '../http/auth/sessions.ts';
import type { SharedRates } from '../http/limits/limiter.ts';
import { type Catalogue, createCatalogue } from '../storage/catalogue/catalogue.ts';
import type { Stores } from '../storage/open.ts';
import { shareCatalogue } from '../storage/signals/catalogue.ts';
import { createHeartbeats, type Heartbeats, heartbeatEveryMs } from '../storage/signals/heartbeats.ts';
import { createRates } from '../storage/signals/rates.ts';
import { mirrorSessions } from '../storage/signals/sessions.ts';
import type { RedisSignals } from '../storage/signals.ts';
import { systemClock } from './clock.ts';
import { every } from './timers.ts';

/** Tells the log what nobody waits for. */
export type OnTrouble = (words: string, error: unknown) => void;

export interface Plane {
  readonly catalogue: Catalogue;
  /** What authentication asks. */
  readonly sessions: SessionCache;
  /** `undefined` when this node counts limits by itself. */
  readonly rates: SharedRates | undefined;
  /** To be called with every request: see `RedisSignals.runs`. `undefined` where this node is alone. */
  readonly runs: ((steadyMs: number) => void) | undefined;
  /** Joins the others, once it is known where operators reach this node. */
  join(node: { readonly name: string; readonly adminUrl: string; readonly engine: Engine }): void;
  /** Leaves them and closes the connections. Idempotent. */
  close(): Promise<void>;
}

export interface PlaneConfig {
  readonly redisUrl: readonly string[];
}

const sessionsCachedMax = 100_000;
/** A session is asked for again after this, also when nothing was heard of it. */
const sessionsKeptMs = 60_000;
/** How long a token that was in use works on when SQL is away, also where a node has to forget it. */
const sessionCopiesMs = 3_600_000;

const openAlone = (stores: Stores): Plane => {
  const catalogue = createCatalogue(stores.requestSql);
  const sessions = createSessionCache({
    source: catalogue.sessions,
    clock: systemClock,
    entriesMax: sessionsCachedMax,
    keepMs: sessionsKeptMs,
  });
  return { catalogue, sessions, rates: undefined, runs: undefined, join: () => {}, close: async () => {} };
};

interface Joined {
  readonly signals: RedisSignals;
  readonly stores: Stores;
  readonly onTrouble: OnTrouble;
}

/** Facts edited in SQL by whoever could not tell the hot store: every node that hears of it does. */
const hearFacts = ({ signals, onTrouble }: Joined, engine: Engine): void => {
  signals.hear({
    message: (message) => {
      if (message.kind !== 'facts') return;
      engine.refresh(message.entity, message.id).catch((error: unknown) => {
        onTrouble('facts that another node told of were not sent', error);
      });
    },
  });
};

/** Marks this node as living; function libraries that nobody living calls are dropped. */
const beatOf =
  (beats: Heartbeats, { stores }: Joined) =>
  async (): Promise<void> => {
    await beats.beat();
    await stores.libraries?.dropOthers(beats.versions());
  };

const openShared = async (stores: Stores, config: PlaneConfig, onTrouble: OnTrouble): Promise<Plane> => {
  // Its two clients are a third of what a node loads, and a node that is alone needs neither.
  const { openRedisSignals } = await import('../storage/signals.ts');
  const signals = openRedisSignals({
    urls: config.redisUrl,
    onError: (error) => onTrouble('the signal connection to Redis', error),
  });
  const plain = createCatalogue(stores.requestSql);
  const mirror = mirrorSessions({
    signals,
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
    keepMs: sessionsKeptMs,
    believes: signals.trusted,
    keepable: mirror.keepable,
  });
  mirror.forgetIn(sessions);
  const catalogue = shareCatalogue(plain, { signals, sessions: mirror, onTrouble });
  const ends: (() => Promise<void> | void)[] = [];
  return {
    catalogue,
    sessions,
    rates: createRates(signals.commands),
    runs: signals.runs,
    join: ({ name, adminUrl, engine }) => {
      const joined = { signals, stores, onTrouble };
      const library = stores.libraries?.version ?? '';
      const beats = createHeartbeats({ commands: signals.commands, name, facts: { library, adminUrl } });
      const failed = (error: Error): void => onTrouble('the heartbeat in Redis failed', error);
      const beat = beatOf(beats, joined);
      beat().catch(failed);
      hearFacts(joined, engine);
      signals.hear({ stalled: () => engine.doubt() });
      ends.push(every(heartbeatEveryMs, beat, failed), () => beats.leave());
    },
    close: async () => {
      for (const end of ends.splice(0)) await Promise.resolve(end()).catch(() => {});
      signals.close();
    },
  };
};

/** The plane of this node. With shared stores it connects in the background. */
export const openPlane = async (stores: Stores, config: PlaneConfig, onTrouble: OnTrouble): Promise<Plane> =>
  stores.shared ? openShared(stores, config, onTrouble) : openAlone(stores);
