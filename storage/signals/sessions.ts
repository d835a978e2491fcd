/**
 * Sessions mirrored to Redis, so that a node asks SQL about a token once in a while and not once per request.
 *
 * SQL is the truth. Under the hash of a token Redis holds one of: the session; a tombstone (`revoked`, dead
 * at once); a `hold` (something about it is changing: ask SQL); a claim (somebody reads SQL to fill it).
 * Invariants:
 * - a revoke writes the tombstone first, then tells the nodes, then deletes in SQL, then writes the
 *   tombstone again;
 * - a fill claims the key, then reads SQL, then replaces exactly its own claim. A revoke or a flush in
 *   between takes the claim away, so a late fill can revive nothing, and a reading that began before the
 *   delete is buried by the second tombstone;
 * - a node keeps only what it read while trusted, and no longer than it is told to (`keepable`).
 * When Redis is away SQL answers and nothing is kept; when both are, a `StorageError`: 503, never 401.
 */
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { SessionOfToken, SessionTarget } from '../catalogue/sessions.ts';
import type { RedisSignals } from '../signals.ts';
import type { Queryable } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';

type SqlSessions = Catalogue['sessions'];

/** Whose sessions a change concerns. */
export type Concerned = { readonly target: SessionTarget } | { readonly mintedBy: string };

/** The cache of a node, as far as it has to forget. */
export interface ForgettingCache {
  forgetHash(hash: string): void;
  doubtHash(hash: string): void;
  forget(sessionId: string): void;
  forgetAll(): void;
}

export interface MirroredSessions extends SqlSessions {
  /** Whether what was last read about this hash (hexadecimal) may be believed until we are told otherwise. */
  keepable(hash: string): boolean;
  /** Makes a node's own cache forget with us. Returns a function that ends it. */
  forgetIn(cache: ForgettingCache): () => void;
  /** Runs a change in SQL that ends or alters sessions, so that no copy of them outlives it. */
  around<Result>(concerned: Concerned, change: () => Promise<Result>): Promise<Result>;
}

export interface MirrorOptions {
  readonly signals: RedisSignals;
  readonly sql: Queryable;
  readonly sessions: SqlSessions;
  /** Sessions of which this node remembers that it read them. At least as many as it caches. */
  readonly entriesMax: number;
  /**
   * How long a mirrored session stands before SQL is asked again, ms. Bounds what a lost tombstone can do.
   */
  readonly mirrorMs: number;
  readonly nowMs: () => number;
}

interface State extends MirrorOptions {
  /** Hashes that were read while trusted, and not changed since. */
  readonly watched: LRUCache<string, object>;
}

type Found =
  | { readonly kind: 'session'; readonly session: SessionOfToken }
  | { readonly kind: 'revoked' | 'absent' | 'unsure' };

const keyPrefix = 'rollcall:session:';
const tombstone = 'revoked';
const hold = 'hold';
/** Longer than any fill: a claim lives 10 s, and a statement is given up after 5. */
const tombstoneMs = 600_000;
const holdMs = 60_000;
const claimMs = 10_000;
const messageHashesMax = 500;

const keyOf = (hash: string): string => keyPrefix + hash;
const replaceClaim = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

const understand = (text: string | null): Found => {
  if (text === null) return { kind: 'absent' };
  if (text === tombstone) return { kind: 'revoked' };
  if (!text.startsWith('{')) return { kind: 'unsure' };
  return { kind: 'session', session: JSON.parse(text) as SessionOfToken };
};

/** `keyspace` notices and messages alike end here. */
const unwatch = (state: State, key: string | null): void => {
  if (key === null) state.watched.clear();
  else if (key.startsWith(keyPrefix)) state.watched.delete(key.slice(keyPrefix.length));
};

/**
 * Changes and messages as calls of the cache. A key also changes when its time is over: what changed is asked
 * for again, and only a message says that it must not be believed any more.
 */
const forgetIn = (signals: RedisSignals, cache: ForgettingCache): (() => void) =>
  signals.hear({
    changed: (key) => {
      if (key === null) cache.forgetAll();
      else if (key.startsWith(keyPrefix)) cache.doubtHash(key.slice(keyPrefix.length));
    },
    lost: () => cache.forgetAll(),
    message: (message) => {
      // Also ends look-ups under way, whatever they find.
      if (message.kind === 'session') cache.forget(message.id);
      if (message.kind === 'sessions') for (const hash of message.hashes) cache.forgetHash(hash);
    },
  });

const readText = async (state: State, hash: string): Promise<string | null> => {
  const { signals } = state;
  // Before the reading, so that a change that overtakes its answer takes the mark away.
  state.watched.set(hash, {});
  if (!signals.listener.tracks) return (await signals.commands.send('GET', [keyOf(hash)])) as string | null;
  return signals.listener.read(keyOf(hash));
};

const read = async (state: State, hash: string): Promise<Found> => {
  // Most likely Redis would not answer at all, and what it says may not be kept: ask SQL without a delay.
  if (!state.signals.trusted()) return { kind: 'unsure' };
  try {
    return understand(await readText(state, hash));
  } catch {
    // Redis is away or slow: SQL knows as well.
    state.watched.delete(hash);
    return { kind: 'unsure' };
  }
};

const fromSql = (state: State, hash: string): Promise<SessionOfToken | null> => {
  state.watched.delete(hash);
  return state.sessions.byTokenHash(Buffer.from(hash, 'hex'));
};

const claimKey = async (state: State, hash: string): Promise<string | null> => {
  const claim = `claim:${randomUUID()}`;
  const words = [keyOf(hash), claim, 'PX', claimMs, 'NX'];
  return (await state.signals.commands.send('SET', words)) === null ? null : claim;
};

/** Resolves to whether Redis now has what SQL said. Rejects when either is away. */
const fill = async (state: State, hash: string): Promise<boolean> => {
  const claim = await claimKey(state, hash);
  if (claim === null) return false;
  const session = await fromSql(state, hash);
  const lastsMs = Math.min(state.mirrorMs, (session?.expiresAtMs ?? 0) - state.nowMs());
  if (session === null || lastsMs < 1) return false;
  const words = [replaceClaim, 1, keyOf(hash), claim, JSON.stringify(session), Math.floor(lastsMs)];
  return (await state.signals.commands.send('EVAL', words)) === 1;
};

/**
 * What SQL says of a token Redis knows nothing of; on the way Redis learns it. Unknown tokens write
 * nothing.
 */
const lookUpAndFill = async (state: State, hash: string): Promise<SessionOfToken | null> => {
  const session = await fromSql(state, hash);
  if (session === null || !state.signals.trusted()) return session;
  const filled = await fill(state, hash).catch(() => false);
  if (!filled) return session;
  const found = await read(state, hash);
  if (found.kind === 'session') return found.session;
  state.watched.delete(hash);
  return found.kind === 'revoked' ? null : session;
};

const lookUp = async (state: State, hash: string): Promise<SessionOfToken | null> => {
  const found = await read(state, hash);
  if (found.kind === 'session') return found.session;
  if (found.kind === 'revoked') return null;
  return found.kind === 'absent' ? lookUpAndFill(state, hash) : fromSql(state, hash);
};

const bury = (state: State, hash: string): Promise<unknown> =>
  state.signals.commands.send('SET', [keyOf(hash), tombstone, 'PX', tombstoneMs]);

const hashOfSession = async (state: State, target: SessionTarget, id: string): Promise<string | null> => {
  const rows = await asStorage(
    'sessions.hash',
    () => state.sql<{ hash: string }[]>`
      select encode(token_hash, 'hex') as hash from sessions
      where id = ${id} and target_type = ${target.kind} and target_id = ${target.id}`,
  );
  return rows[0]?.hash ?? null;
};

const remove = async (state: State, target: SessionTarget, id: string): Promise<boolean> => {
  const hash = await hashOfSession(state, target, id);
  if (hash === null) return false;
  await bury(state, hash);
  await state.signals.publish({ kind: 'session', hash, id });
  const removed = await state.sessions.remove(target, id);
  // Only against a flush between the two, whose reader then read SQL before the delete. Redis gone again:
  // nobody fills, and nobody who is trusted still has it.
  await bury(state, hash).catch(() => undefined);
  return removed;
};

const hashesOf = async (state: State, concerned: Concerned): Promise<readonly string[]> => {
  const { sql } = state;
  const which =
    'target' in concerned
      ? sql`target_type = ${concerned.target.kind} and target_id = ${concerned.target.id}`
      : sql`minted_by = ${concerned.mintedBy}`;
  const rows = await asStorage(
    'sessions.hashes',
    () =>
      sql<{ hash: string }[]>`
        select encode(token_hash, 'hex') as hash from sessions where ${which} and expiry > now()`,
  );
  return rows.map(({ hash }) => hash);
};

const putHolds = async (state: State, hashes: readonly string[]): Promise<void> => {
  const { commands } = state.signals;
  await Promise.all(hashes.map((hash) => commands.send('SET', [keyOf(hash), hold, 'PX', holdMs])));
  for (let from = 0; from < hashes.length; from += messageHashesMax) {
    await state.signals.publish({ kind: 'sessions', hashes: hashes.slice(from, from + messageHashesMax) });
  }
};

const around = async <Result>(
  state: State,
  concerned: Concerned,
  change: () => Promise<Result>,
): Promise<Result> => {
  const before = await hashesOf(state, concerned);
  await putHolds(state, before);
  const result = await change();
  // Again: a session made meanwhile, and a fill that read SQL before the change.
  const after = await hashesOf(state, concerned);
  await putHolds(state, [...new Set([...before, ...after])]);
  return result;
};

/** The catalogue's sessions with Redis before them. Hears the signals as long as they are open. */
export const mirrorSessions = (options: MirrorOptions): MirroredSessions => {
  const state: State = { ...options, watched: new LRUCache({ max: options.entriesMax }) };
  const { signals, sessions } = options;
  signals.hear({
    changed: (key) => unwatch(state, key),
    lost: () => state.watched.clear(),
    message: (message) => {
      if (message.kind === 'session') state.watched.delete(message.hash);
      if (message.kind === 'sessions') for (const hash of message.hashes) state.watched.delete(hash);
    },
  });
  return {
    ...sessions,
    byTokenHash: (hash) => lookUp(state, hash.toString('hex')),
    insert: async (session, apiSessionsMax) => {
      const outcome = await sessions.insert(session, apiSessionsMax);
      // The first request with the token fills it all the same.
      if (outcome === 'created') await fill(state, session.tokenHash.toString('hex')).catch(() => undefined);
      return outcome;
    },
    remove: (target, id) => remove(state, target, id),
    keepable: (hash) => signals.trusted() && state.watched.has(hash),
    forgetIn: (cache) => forgetIn(signals, cache),
    around: (concerned, change) => around(state, concerned, change),
  };
};
