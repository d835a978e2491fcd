/**
 * Finds the session of a token: a bounded cache before the catalogue.
 *
 * Truth is SQL; what is kept here dies with `forget`, with its expiry, and after a while by itself. A look-up
 * that was under way while something was forgotten is answered but not kept, so a revoke cannot be undone by
 * a slow read. Where several nodes share the sessions, `isTrusted` and `isCacheable` say whether word of
 * every revoke still reaches this one; without it nothing kept is used. Tokens that were refused are
 * remembered shortly, so that a flood of one costs no SQL. While SQL cannot be asked, what it said last is
 * believed on: nobody can revoke then without a word, and counting must not wait for SQL. Of a token that is
 * not kept an unreachable store rejects: the client gets a 503, never a 401. Used by authenticate.ts;
 * `forget` is called by whoever revokes, or hears of it.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { DomainError, StorageError } from '../../engine/errors.ts';
import type { Clock } from '../../engine/ports.ts';
import { parseToken } from '../../engine/rules/token.ts';
import { createSingleFlight, type SingleFlight } from '../../engine/tools/single-flight.ts';
import type { SessionSource, StoredSession } from './ports.ts';

export interface SessionCache {
  /** At once when the session is cached or the token is malformed, else after a look-up. */
  find(token: string): StoredSession | null | Promise<StoredSession | null>;
  forget(...sessionIds: readonly string[]): void;
  /** The session of the token with this SHA-256, in hexadecimal. */
  forgetHash(hash: string): void;
  /** The same session may be another now: it is asked for again at its next use. */
  markHashStale(hash: string): void;
  /** Everything that acts for this user, bot, server or team: after a ban or a deletion. */
  forgetTarget(kind: string, id: string): void;
  forgetAll(): void;
}

export interface SessionCacheOptions {
  readonly source: SessionSource;
  readonly clock: Clock;
  readonly entriesMax: number;
  /** How long a session is believed without asking again, ms. */
  readonly freshMs: number;
  /** Whether what is kept may be used now. Asked at every find, so it must cost nothing. */
  readonly isTrusted?: () => boolean;
  /** Whether what was just found under this hash (hexadecimal) may be kept. */
  readonly isCacheable?: (hash: string) => boolean;
}

interface CachedSession {
  readonly hash: string;
  readonly record: StoredSession;
  /** When the cache last heard that it is in use, monotonic. */
  usedMs: number;
  /** Monotonic: a clock that is set back must not make us believe for longer. */
  freshUntilMs: number;
}
interface SessionCacheState extends SessionCacheOptions {
  readonly cached: LRUCache<string, CachedSession>;
  /** Hash to token, of those that are kept. */
  readonly tokens: Map<string, string>;
  /** Token to the monotonic time until which it stays refused. */
  readonly refused: LRUCache<string, number>;
  /** Look-ups under way, by token: simultaneous requests share one. */
  readonly inFlight: SingleFlight<StoredSession | null>;
  epoch: number;
}

const refusedTokensMax = 10_000;
/** A token that another node has minted meanwhile works there and here within a second. */
const refusedMs = 500;
/** Pause between two questions about one token to a store that does not answer. */
const outagePauseMs = 1_000;
const tokenLengthMax = 160;
const touchIntervalMs = 1_000;

/** What was found last, when it cannot be asked for now; else the failure. */
const readStaleSession = (state: SessionCacheState, token: string, cause: unknown): StoredSession => {
  const kept = state.cached.get(token);
  if (!kept || state.isTrusted?.() === false || isExpired(state, kept.record)) return throwUnreachable(cause);
  kept.freshUntilMs = state.clock.monotonicMs() + outagePauseMs;
  return kept.record;
};

const throwUnreachable = (cause: unknown): never => {
  if (cause instanceof StorageError || cause instanceof DomainError) throw cause;
  throw new StorageError('find session', { outcome: 'not_applied', reason: 'unreachable', cause });
};

interface SessionLookup {
  readonly hash: string;
  readonly record: StoredSession | null;
  /** From before the look-up, monotonic. */
  readonly askedMs: number;
}

const isExpired = ({ clock }: SessionCacheState, { expiresAtMs }: StoredSession): boolean =>
  expiresAtMs <= clock.nowMs();

const cacheLookup = (
  state: SessionCacheState,
  token: string,
  { hash: key, record, askedMs }: SessionLookup,
): StoredSession | null => {
  const steadyMs = state.clock.monotonicMs();
  if (record === null || isExpired(state, record)) {
    state.refused.set(token, askedMs + refusedMs);
    return null;
  }
  if (state.isCacheable?.(key) === false) return record;
  const freshUntilMs = steadyMs + state.freshMs;
  state.cached.set(token, { hash: key, record, usedMs: steadyMs, freshUntilMs });
  state.tokens.set(key, token);
  return record;
};

const lookUpSession = async (state: SessionCacheState, token: string): Promise<StoredSession | null> => {
  const { epoch } = state;
  const askedMs = state.clock.monotonicMs();
  try {
    const digest = hash('sha256', token, 'buffer');
    const record = await state.source.byTokenHash(digest);
    if (record === null) state.cached.delete(token);
    if (epoch === state.epoch)
      return cacheLookup(state, token, { hash: digest.toString('hex'), record, askedMs });
    return record === null || isExpired(state, record) ? null : record;
  } catch (cause) {
    return readStaleSession(state, token, cause);
  }
};

/** Which is unused for longest is known to the second: moving one to the front costs more than a look. */
const findCached = (
  { cached }: SessionCacheState,
  token: string,
  steadyMs: number,
): CachedSession | undefined => {
  const found = cached.peek(token);
  if (found !== undefined && steadyMs - found.usedMs >= touchIntervalMs) {
    found.usedMs = steadyMs;
    cached.get(token);
  }
  return found;
};

const findSession = (
  state: SessionCacheState,
  token: string,
): StoredSession | null | Promise<StoredSession | null> => {
  const steadyMs = state.clock.monotonicMs();
  const kept = findCached(state, token, steadyMs);
  const believed = kept !== undefined && kept.freshUntilMs > steadyMs && state.isTrusted?.() !== false;
  if (believed && !isExpired(state, kept.record)) return kept.record;
  if (token.length > tokenLengthMax || parseToken(token) === null) return null;
  if ((state.refused.get(token) ?? 0) > steadyMs) return null;
  return state.inFlight.share(token, () => lookUpSession(state, token));
};

const dropMatching = (state: SessionCacheState, matches: (record: StoredSession) => boolean): void => {
  state.epoch++;
  for (const [token, { record }] of state.cached.entries()) if (matches(record)) state.cached.delete(token);
};

/** Not an epoch of its own: `isCacheable` has said of look-ups under way what this would say. */
const dropHash = (state: SessionCacheState, key: string): void => {
  const token = state.tokens.get(key);
  if (token !== undefined) state.cached.delete(token);
};

const markHashStale = (state: SessionCacheState, key: string): void => {
  const kept = state.cached.peek(state.tokens.get(key) ?? '');
  if (kept !== undefined) kept.freshUntilMs = Number.NEGATIVE_INFINITY;
};

/** Wires the cache. */
export const createSessionCache = (options: SessionCacheOptions): SessionCache => {
  const tokens = new Map<string, string>();
  const state: SessionCacheState = {
    ...options,
    cached: new LRUCache({ max: options.entriesMax, dispose: (kept) => tokens.delete(kept.hash) }),
    tokens,
    refused: new LRUCache({ max: refusedTokensMax }),
    inFlight: createSingleFlight(),
    epoch: 0,
  };
  return {
    find: (token) => findSession(state, token),
    forget: (...sessionIds) => {
      const ended = new Set(sessionIds);
      dropMatching(state, (record) => ended.has(record.sessionId));
    },
    forgetHash: (key) => dropHash(state, key),
    markHashStale: (key) => markHashStale(state, key),
    forgetTarget: (kind, id) => dropMatching(state, (record) => record.kind === kind && record.id === id),
    forgetAll: () => dropMatching(state, () => true),
  };
};
