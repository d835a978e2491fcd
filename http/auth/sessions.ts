/**
 * Finds the session of a token, with a bounded cache in front of the catalogue (SQL).
 *
 * Entries end with `forget`, with the session's expiry, and with a notice that the session has changed in SQL
 * (storage/catalogue/shared/notices.ts). Notices are read before a use unless that was done within a second.
 * An entry that they cover is used for ten minutes; any other, and while they cannot be read, for `freshMs`
 * after its look-up. The time of expiry is compared at each use. A look-up during which something was
 * forgotten is answered but not cached, so a slow read cannot undo a revocation. With several nodes,
 * `isTrusted` and `isCacheable` say whether this node still receives all revocations; if not, cached entries
 * are not used. Unknown tokens are cached briefly, so that repeating one costs no SQL. While SQL is
 * unreachable, cached sessions stay valid: revocations need SQL too, and counting must not wait for it. A
 * token that is not cached is then a 503, never a 401.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { DomainError, StorageError } from '../../engine/errors.ts';
import type { Clock } from '../../engine/ports.ts';
import { parseToken } from '../../engine/rules/token.ts';
import { buildBound } from '../../engine/tools/cache-bounds.ts';
import { createSingleFlight, type SingleFlight } from '../../engine/tools/single-flight.ts';
import type { SessionOfToken } from '../../storage/catalogue/people/sessions.ts';
import type { Notices } from '../../storage/catalogue/shared/notices.ts';
import type { SessionSource } from './auth.ts';

export interface SessionCacheOptions {
  readonly source: SessionSource;
  readonly clock: Clock;
  readonly entriesMax: number;
  /** How long a cached session is used before it is read again, ms. */
  readonly freshMs: number;
  /** Whether cached sessions may be used now. Called at every `find`, so it must be cheap. */
  readonly isTrusted?: () => boolean;
  /** Whether the session just read under this hash (hexadecimal) may be cached. */
  readonly isCacheable?: (hash: string) => boolean;
  /** Changes of sessions in SQL. */
  readonly notices?: Notices;
  /** When this node began to read that session in SQL, monotonic ms; by default when the look-up began. */
  readonly getReadMs?: (hash: string) => number;
}

interface CachedSession {
  readonly hash: string;
  readonly record: SessionOfToken;
  /** When it was last moved to the front of the cache, monotonic ms. */
  usedMs: number;
  /** Monotonic ms, so that a clock that is set back does not extend it. */
  freshUntilMs: number;
  /** When its statement began in SQL, and how long notices may keep it, monotonic ms. */
  readonly readMs: number;
  noticedUntilMs: number;
}
interface SessionCacheState extends SessionCacheOptions {
  readonly cached: LRUCache<string, CachedSession>;
  /** Hash to token, of all cached sessions. */
  readonly tokens: Map<string, string>;
  /** Token to the monotonic time until which it is rejected without a look-up. */
  readonly rejected: LRUCache<string, number>;
  /** Look-ups in flight, by token: simultaneous requests share one. */
  readonly inFlight: SingleFlight<SessionOfToken | null>;
  /** Raised by every `forget`: a look-up from an earlier epoch is not cached. */
  epoch: number;
}

const rejectedTokensMax = 10_000;
/** Short, so that a token just minted by another node works here within a second. */
const rejectedMs = 500;
/** Pause between two look-ups of one token while the store is unreachable. */
const outagePauseMs = 1_000;
const tokenLengthMax = 160;
const touchIntervalMs = 1_000;

/** Returns the cached session when it cannot be read now; throws `cause` when there is none. */
const readStaleSession = (state: SessionCacheState, token: string, cause: unknown): SessionOfToken => {
  const cached = state.cached.get(token);
  if (!cached || state.isTrusted?.() === false || isExpired(state, cached.record)) {
    return throwUnreachable(cause);
  }
  cached.freshUntilMs = state.clock.monotonicMs() + outagePauseMs;
  return cached.record;
};

const throwUnreachable = (cause: unknown): never => {
  if (cause instanceof StorageError || cause instanceof DomainError) throw cause;
  throw new StorageError('find session', { outcome: 'not_applied', reason: 'unreachable', cause });
};

interface SessionLookup {
  readonly hash: string;
  readonly record: SessionOfToken | null;
  /** When the look-up began, monotonic ms. */
  readonly startedMs: number;
}

const isExpired = ({ clock }: SessionCacheState, { expiresAtMs }: SessionOfToken): boolean =>
  expiresAtMs <= clock.nowMs();

const cacheLookup = (
  state: SessionCacheState,
  token: string,
  { hash: key, record, startedMs }: SessionLookup,
): SessionOfToken | null => {
  const steadyMs = state.clock.monotonicMs();
  if (record === null || isExpired(state, record)) {
    state.rejected.set(token, startedMs + rejectedMs);
    return null;
  }
  if (state.isCacheable?.(key) === false) return record;
  const freshUntilMs = steadyMs + state.freshMs;
  const readMs = state.getReadMs?.(key) ?? startedMs;
  const noticedUntilMs = readMs + (state.notices?.ageMaxMs ?? 0) * (0.8 + 0.2 * Math.random());
  state.cached.set(token, { hash: key, record, usedMs: steadyMs, freshUntilMs, readMs, noticedUntilMs });
  state.tokens.set(key, token);
  return record;
};

const lookUpSession = async (state: SessionCacheState, token: string): Promise<SessionOfToken | null> => {
  const { epoch } = state;
  const startedMs = state.clock.monotonicMs();
  try {
    const digest = hash('sha256', token, 'buffer');
    const record = await state.source.byTokenHash(digest);
    if (record === null) state.cached.delete(token);
    if (epoch === state.epoch)
      return cacheLookup(state, token, { hash: digest.toString('hex'), record, startedMs });
    return record === null || isExpired(state, record) ? null : record;
  } catch (cause) {
    return readStaleSession(state, token, cause);
  }
};

/** Moves an entry to the front at most once a second, because moving costs more than peeking. */
const findCached = ({ cached }: SessionCacheState, token: string, steadyMs: number) => {
  const entry = cached.peek(token);
  if (entry !== undefined && steadyMs - entry.usedMs >= touchIntervalMs) {
    entry.usedMs = steadyMs;
    cached.get(token);
  }
  return entry;
};

/** Until when the entry may be used. Notices cover it if they were read since before its statement began. */
const computeEndMs = ({ notices }: SessionCacheState, cached: CachedSession, steadyMs: number): number => {
  const isCovered = Number.isFinite(notices?.lastReadMs(cached.readMs, steadyMs));
  return isCovered ? cached.noticedUntilMs : cached.freshUntilMs;
};

/** Whether all changes of the session until a second ago are known, as far as notices tell. */
const isNoticed = ({ notices }: SessionCacheState, { readMs }: CachedSession, steadyMs: number): boolean => {
  if (notices === undefined) return true;
  const noticedMs = notices.lastReadMs(Number.POSITIVE_INFINITY, steadyMs);
  return steadyMs - Math.max(noticedMs, readMs) < notices.currentMs;
};

/** Reads the notices, then uses the cached session if it is still there, else looks it up. */
const findAfterNotices = async (state: SessionCacheState, token: string): Promise<SessionOfToken | null> => {
  const isRead = await state.notices?.update();
  const steadyMs = state.clock.monotonicMs();
  const cached = state.cached.peek(token);
  if (cached === undefined || state.isTrusted?.() === false || isExpired(state, cached.record)) {
    return lookUpSession(state, token);
  }
  const endMs = isRead ? computeEndMs(state, cached, steadyMs) : cached.freshUntilMs;
  return steadyMs < endMs ? cached.record : lookUpSession(state, token);
};

const findSession = (state: SessionCacheState, token: string) => {
  const steadyMs = state.clock.monotonicMs();
  const cached = findCached(state, token, steadyMs);
  if (cached !== undefined && state.isTrusted?.() !== false && !isExpired(state, cached.record)) {
    if (steadyMs < computeEndMs(state, cached, steadyMs)) {
      if (isNoticed(state, cached, steadyMs)) return cached.record;
      return state.inFlight.share(token, () => findAfterNotices(state, token));
    }
  }
  if (token.length > tokenLengthMax || parseToken(token) === null) return null;
  if ((state.rejected.get(token) ?? 0) > steadyMs) return null;
  return state.inFlight.share(token, () => lookUpSession(state, token));
};

const dropMatching = (state: SessionCacheState, matches: (record: SessionOfToken) => boolean): void => {
  state.epoch++;
  for (const [token, { record }] of state.cached.entries()) if (matches(record)) state.cached.delete(token);
};

/** Does not raise the epoch: `isCacheable` already covers look-ups in flight. */
const dropHash = (state: SessionCacheState, key: string): void => {
  const token = state.tokens.get(key);
  if (token !== undefined) state.cached.delete(token);
};

const markHashStale = (state: SessionCacheState, key: string): void => {
  const cached = state.cached.peek(state.tokens.get(key) ?? '');
  if (cached === undefined) return;
  cached.freshUntilMs = Number.NEGATIVE_INFINITY;
  cached.noticedUntilMs = Number.NEGATIVE_INFINITY;
};

/** Creates the cache; one per process. */
export const createSessionCache = (options: SessionCacheOptions) => {
  const tokens = new Map<string, string>();
  const state: SessionCacheState = {
    ...options,
    cached: new LRUCache({
      ...buildBound(options.entriesMax),
      dispose: (entry) => tokens.delete(entry.hash),
    }),
    tokens,
    rejected: new LRUCache({ max: rejectedTokensMax }),
    inFlight: createSingleFlight(),
    epoch: 0,
  };
  options.notices?.subscribe(({ kind, id }) => {
    if (kind !== 'session') return;
    state.epoch++;
    dropHash(state, id);
  });
  return {
    /** Synchronous when the session is cached or the token is malformed; else a look-up, which may reject. */
    find: (token: string) => findSession(state, token),
    forget: (...sessionIds: readonly string[]) => {
      const ids = new Set(sessionIds);
      dropMatching(state, (record) => ids.has(record.sessionId));
    },
    /** Drops the session of the token with this SHA-256, in hexadecimal. */
    forgetHash: (key: string) => dropHash(state, key),
    /** The session may have changed: it is read again at its next use. */
    markHashStale: (key: string) => markHashStale(state, key),
    /** Drops all sessions of this user, bot, server or team: after a ban or a deletion. */
    forgetTarget: (kind: string, id: string) =>
      dropMatching(state, (record) => record.kind === kind && record.id === id),
    forgetAll: () => dropMatching(state, () => true),
  };
};
export type SessionCache = ReturnType<typeof createSessionCache>;
