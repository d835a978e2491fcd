/**
 * Sessions mirrored to Redis: a node reads SQL rarely for a token, and goes on without SQL for an hour.
 *
 * SQL is the truth. What stands under the hash of a token is said in session-copies.ts. Invariants:
 * - a revoke writes the tombstone first, then tells the nodes, then deletes in SQL, then writes the
 *   tombstone again;
 * - a fill claims the key, then reads SQL, then replaces exactly its own claim; a copy that is old is
 *   confirmed by replacing exactly what was read before SQL was. A revoke or a flush in between takes that
 *   away, so a late fill can revive nothing, and a reading that began before the delete is buried by the
 *   second tombstone;
 * - a change that ends sessions says whose, then looks which there are and holds them; a session minted since
 *   is filled first and held when that was said, so the change meets all of them;
 * - a copy older than `confirmMs` is believed only where SQL confirms it or does not answer: nothing ends
 *   without a tombstone or a hold in its place. One that this node was told of is not believed without SQL;
 * - a node keeps only what it read while trusted, and no longer than it is told to (`isCacheable`).
 * When Redis is away SQL answers and nothing is kept; when both are, a `StorageError`: 503, never 401.
 */
import { LRUCache } from 'lru-cache';
import { StorageError } from '../../engine/errors.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import {
  type NewSession,
  type SessionOfToken,
  type SessionTarget,
  selectAffectedByBan,
} from '../catalogue/people/sessions.ts';
import type { Queryable } from '../sql/client.ts';
import { asStorage } from '../sql/errors.ts';
import type { Pubsub } from './pubsub.ts';
import {
  type AffectedSessions,
  type CopyLookup,
  claim,
  type Ending,
  end,
  endingMs,
  isChanging,
  markChanging,
  parseCopy,
  parseCopyKey,
  readPlainly,
  replace,
  type SessionCopy,
  toCopyKey,
  unmarkChanging,
} from './session-copies.ts';

type SqlSessions = Catalogue['sessions'];

/** The cache of a node, as far as it has to forget. */
export interface InvalidatedCache {
  forgetHash(hash: string): void;
  markHashStale(hash: string): void;
  forget(sessionId: string): void;
  forgetAll(): void;
}

export interface MirroredSessions extends SqlSessions {
  /** Whether what was last read about this hash (hexadecimal) may be believed until we are told otherwise. */
  isCacheable(hash: string): boolean;
  /** Makes a node's own cache forget with us. Returns a function that ends it. */
  invalidateCache(cache: InvalidatedCache): () => void;
  /** Runs a change in SQL that ends or alters sessions, so that no copy of them outlives it. */
  changeSessions<Result>(concerned: AffectedSessions, change: () => Promise<Result>): Promise<Result>;
}

export interface MirrorOptions {
  readonly pubsub: Pubsub;
  readonly sql: Queryable;
  readonly sessions: SqlSessions;
  /** Sessions of which this node remembers that it read them. At least as many as it caches. */
  readonly entriesMax: number;
  /** A copy stands for so long after SQL said so, ms: how long tokens in use outlive SQL. */
  readonly copyMs: number;
  /** And is believed for so long before SQL is asked again, while it answers. */
  readonly confirmMs: number;
  readonly nowMs: () => number;
}

interface MirrorState extends MirrorOptions {
  /** Hashes that were read while trusted, and not changed since. */
  readonly watched: LRUCache<string, object>;
  /** Hashes that ended or changed lately: a Redis that lost writes may show an old copy again. */
  readonly doubted: LRUCache<string, object>;
  /** What this node has ended or changed in SQL lately. */
  readonly committed: LRUCache<string, Ending>;
}

const messageHashesMax = 500;
const committedMax = 10_000;

/** `keyspace` notices and messages alike end here. */
const stopWatching = (state: MirrorState, key: string | null): void => {
  if (key === null) state.watched.clear();
  else state.watched.delete(parseCopyKey(key) ?? '');
};

const recordNotice = (state: MirrorState, hash: string): void => {
  state.watched.delete(hash);
  state.doubted.set(hash, {});
};

/** A key also changes when it expires: a changed key is read again; only a message invalidates for good. */
const invalidateCache = (pubsub: Pubsub, cache: InvalidatedCache): (() => void) =>
  pubsub.subscribe({
    onKeyChanged: (key) => {
      if (key === null) cache.forgetAll();
      else cache.markHashStale(parseCopyKey(key) ?? '');
    },
    onDisconnect: () => cache.forgetAll(),
    onMessage: (message) => {
      // Also ends look-ups under way, whatever they find.
      if (message.kind === 'session') cache.forget(message.id);
      if (message.kind === 'sessions') for (const hash of message.hashes) cache.forgetHash(hash);
    },
  });

const read = async (state: MirrorState, hash: string): Promise<CopyLookup> => {
  const { pubsub } = state;
  // Most likely Redis would not answer at all, and what it says may not be kept: ask SQL without a delay.
  if (!pubsub.isConnected()) return { kind: 'unsure' };
  // Before the reading, so that a change that overtakes its answer takes the mark away.
  state.watched.set(hash, {});
  try {
    const { listener, commands } = pubsub;
    return parseCopy(
      listener.tracks ? await listener.read(toCopyKey(hash)) : await readPlainly(commands.send, hash),
    );
  } catch {
    // Redis is away or slow: SQL knows as well.
    state.watched.delete(hash);
    return { kind: 'unsure' };
  }
};

const askSql = (state: MirrorState, hash: string): Promise<SessionOfToken | null> =>
  state.sessions.byTokenHash(Buffer.from(hash, 'hex'));

/** What Redis has when SQL does not answer, nor is heard of: good for this once. Else the failure. */
const decideWithoutSql = async (
  state: MirrorState,
  hash: string,
  failure: unknown,
): Promise<SessionOfToken | null> => {
  const found = await readPlainly(state.pubsub.commands.send, hash).then(parseCopy, () => null);
  if (found?.kind === 'revoked') return null;
  if (found?.kind !== 'session' || state.doubted.has(hash)) throw failure;
  return found.session;
};

const readFromSql = async (state: MirrorState, hash: string): Promise<SessionOfToken | null> => {
  state.watched.delete(hash);
  try {
    return await askSql(state, hash);
  } catch (failure) {
    return decideWithoutSql(state, hash, failure);
  }
};

/** Resolves to whether Redis now has a copy in the place of this text. */
const write = (
  state: MirrorState,
  hash: string,
  { text, session }: { readonly text: string; readonly session: SessionOfToken },
): Promise<boolean> => {
  const lastsMs = Math.floor(Math.min(state.copyMs, session.expiresAtMs - state.nowMs()));
  if (lastsMs < 1) return Promise.resolve(false);
  return replace(state.pubsub.commands.send, hash, { text, session, lastsMs });
};

/**
 * Resolves to whether Redis now has what SQL said. Rejects when either is away. Of a new session `minter` is
 * who loses it with his membership.
 */
const fill = async (state: MirrorState, hash: string, minter = ''): Promise<boolean> => {
  const { send } = state.pubsub.commands;
  const text = await claim(send, hash);
  if (text === null) return false;
  const session = await askSql(state, hash);
  if (session === null || !(await write(state, hash, { text, session }))) return false;
  if (!(await isChanging(send, [{ target: session }, { mintedBy: minter }]))) return true;
  await end(send, hash, 'hold');
  return false;
};

const fillNew = async (
  state: MirrorState,
  { id, tokenHash, mintedBy, mintedWith }: NewSession,
): Promise<void> => {
  const { sql } = state;
  const [row] =
    mintedWith === null
      ? [{ minter: mintedBy }]
      : await sql<{ minter: string }[]>`select minted_by as minter from sessions where id = ${id}`;
  await fill(state, tokenHash.toString('hex'), row?.minter);
};

/** What was just written, watched; what SQL said where it is not to be had. */
const readBack = async (
  state: MirrorState,
  hash: string,
  said: SessionOfToken,
): Promise<SessionOfToken | null> => {
  const found = await read(state, hash);
  if (found.kind === 'session') return found.session;
  state.watched.delete(hash);
  return found.kind === 'revoked' ? null : said;
};

/**
 * What SQL says of a token Redis knows nothing of; on the way Redis learns it. Unknown tokens write
 * nothing.
 */
const lookUpAndFill = async (state: MirrorState, hash: string): Promise<SessionOfToken | null> => {
  const session = await readFromSql(state, hash);
  if (session === null || !state.pubsub.isConnected()) return session;
  const filled = await fill(state, hash).catch(() => false);
  return filled ? readBack(state, hash, session) : session;
};

/** SQL's word on an old copy. While SQL does not answer, the copy stands: no end of it was heard of. */
const confirmCopy = async (
  state: MirrorState,
  hash: string,
  copy: SessionCopy,
): Promise<SessionOfToken | null> => {
  let session: SessionOfToken | null;
  try {
    session = await askSql(state, hash);
  } catch (failure) {
    if (state.doubted.has(hash)) throw failure;
    return copy.session;
  }
  state.watched.delete(hash);
  const { send } = state.pubsub.commands;
  if (session === null) {
    await end(send, hash, 'revoked').catch(() => undefined);
    return null;
  }
  await write(state, hash, { text: copy.text, session }).catch(() => false);
  return readBack(state, hash, session);
};

/** A Redis whose clock was set back must not make a copy young: it counts by the distance. */
const isYoung = (state: MirrorState, hash: string, { ageMs }: SessionCopy): boolean =>
  Math.abs(ageMs) < state.confirmMs && !state.doubted.has(hash);

const lookUp = async (state: MirrorState, hash: string): Promise<SessionOfToken | null> => {
  const found = await read(state, hash);
  switch (found.kind) {
    case 'session':
      return isYoung(state, hash, found) ? found.session : confirmCopy(state, hash, found);
    case 'revoked':
      return null;
    case 'absent':
      return lookUpAndFill(state, hash);
    case 'unsure':
      return readFromSql(state, hash);
  }
};

/** Puts an ending in the place of the copy. */
const put = (state: MirrorState, hash: string, ending: Ending): Promise<unknown> => {
  recordNotice(state, hash);
  return end(state.pubsub.commands.send, hash, ending);
};

/** The same once more, of what SQL has committed: if not now, then when Redis is found again. */
const putForGood = (state: MirrorState, hash: string, ending: Ending): Promise<unknown> => {
  state.committed.set(hash, ending, { ttl: endingMs[ending] });
  return put(state, hash, ending);
};

/** A Redis that was away may be without what was written last. */
const putAgain = async (state: MirrorState): Promise<void> => {
  for (const [hash, ending] of [...state.committed.entries()]) {
    // Gone once more: it will be found once more.
    await put(state, hash, ending).catch(() => undefined);
  }
};

/**
 * What fails once something is buried may be half done: whoever asked for it is told so, and asks again.
 */
const toOutcomeUnknown = (failure: unknown): unknown =>
  failure instanceof StorageError
    ? new StorageError(failure.operation, {
        outcome: 'unknown',
        reason: failure.reason,
        cause: failure,
        detail: failure.message,
      })
    : failure;

const findHash = async (state: MirrorState, target: SessionTarget, id: string): Promise<string | null> => {
  const rows = await asStorage(
    'sessions.hash',
    () => state.sql<{ hash: string }[]>`
      select encode(token_hash, 'hex') as hash from sessions
      where id = ${id} and target_type = ${target.kind} and target_id = ${target.id}`,
  );
  return rows[0]?.hash ?? null;
};

const remove = async (state: MirrorState, target: SessionTarget, id: string): Promise<boolean> => {
  const hash = await findHash(state, target, id);
  if (hash === null) return false;
  await put(state, hash, 'revoked');
  try {
    await state.pubsub.publish({ kind: 'session', hash, id });
    const removed = await state.sessions.remove(target, id);
    // Only against a flush between the two, whose reader then read SQL before the delete. Redis gone again:
    // it is written once it is found again, and nobody who is trusted still has the session.
    await putForGood(state, hash, 'revoked').catch(() => undefined);
    return removed;
  } catch (failure) {
    throw toOutcomeUnknown(failure);
  }
};

const areConcerned = (sql: Queryable, concerned: AffectedSessions) => {
  if ('mintedBy' in concerned) return sql`minted_by = ${concerned.mintedBy}`;
  if ('bannable' in concerned) return selectAffectedByBan(sql, concerned.bannable);
  return sql`target_type = ${concerned.target.kind} and target_id = ${concerned.target.id}`;
};

const listHashes = async (state: MirrorState, concerned: AffectedSessions): Promise<readonly string[]> => {
  const { sql } = state;
  const which = areConcerned(sql, concerned);
  const rows = await asStorage(
    'sessions.hashes',
    () =>
      sql<{ hash: string }[]>`
        select encode(token_hash, 'hex') as hash from sessions where ${which} and expiry > now()`,
  );
  return rows.map(({ hash }) => hash);
};

const putHolds = async (state: MirrorState, hashes: readonly string[], how: typeof put): Promise<void> => {
  await Promise.all(hashes.map((hash) => how(state, hash, 'hold')));
  for (let from = 0; from < hashes.length; from += messageHashesMax) {
    await state.pubsub.publish({ kind: 'sessions', hashes: hashes.slice(from, from + messageHashesMax) });
  }
};

const changeSessions = async <Result>(
  state: MirrorState,
  concerned: AffectedSessions,
  change: () => Promise<Result>,
): Promise<Result> => {
  const { send } = state.pubsub.commands;
  await markChanging(send, concerned);
  const before = await listHashes(state, concerned);
  await putHolds(state, before, put);
  const result = await change();
  try {
    // Again: a fill that read SQL before the change.
    const after = await listHashes(state, concerned);
    await putHolds(state, [...new Set([...before, ...after])], putForGood);
    await unmarkChanging(send, concerned).catch(() => undefined);
    return result;
  } catch (failure) {
    throw toOutcomeUnknown(failure);
  }
};

/** The catalogue's sessions with Redis before them. Hears the signals as long as they are open. */
export const mirrorSessions = (options: MirrorOptions): MirroredSessions => {
  const { pubsub, sessions, entriesMax, copyMs } = options;
  const state: MirrorState = {
    ...options,
    watched: new LRUCache({ max: entriesMax }),
    doubted: new LRUCache({ max: entriesMax, ttl: copyMs }),
    committed: new LRUCache({ max: committedMax, ttl: endingMs.revoked }),
  };
  pubsub.subscribe({
    onKeyChanged: (key) => stopWatching(state, key),
    onDisconnect: () => state.watched.clear(),
    onReconnect: () => void putAgain(state),
    onMessage: (message) => {
      if (message.kind === 'session') recordNotice(state, message.hash);
      if (message.kind === 'sessions') for (const hash of message.hashes) recordNotice(state, hash);
    },
  });
  return {
    ...sessions,
    byTokenHash: (hash) => lookUp(state, hash.toString('hex')),
    insert: async (session, apiSessionsMax) => {
      const outcome = await sessions.insert(session, apiSessionsMax);
      // The first request with the token fills it all the same.
      if (outcome === 'created') await fillNew(state, session).catch(() => undefined);
      return outcome;
    },
    remove: (target, id) => remove(state, target, id),
    isCacheable: (hash) => pubsub.isConnected() && state.watched.has(hash),
    invalidateCache: (cache) => invalidateCache(pubsub, cache),
    changeSessions: (concerned, change) => changeSessions(state, concerned, change),
  };
};
