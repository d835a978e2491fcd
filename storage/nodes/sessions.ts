/**
 * Sessions mirrored to Redis: a node reads SQL rarely for a token, and goes on without SQL for an hour.
 *
 * SQL decides. session-copies.ts lists the values of a session's Redis key. Invariants:
 * - a revoke writes the tombstone, notifies the nodes, deletes in SQL, then writes the tombstone again;
 * - a fill claims the key, reads SQL, then replaces exactly its claim; an old copy is confirmed by replacing
 *   exactly the value read before SQL. A revoke or flush in between makes the replacement fail, and the
 *   second tombstone ends copies whose reading of SQL began before the delete;
 * - a change that ends sessions writes its mark, lists the sessions and holds them; a session minted later is
 *   filled first and then held if the mark is there, so the change reaches all of them;
 * - a copy older than `confirmMs` is used only if SQL confirms it or does not answer. If this node was
 *   notified of its end, it is not used without SQL;
 * - a change without tombstone (plain SQL, a node that died) makes the hash stale at each node by its notice;
 *   only what the node itself read in SQL may be cached for longer than `confirmMs`, since only from then on
 *   its notices cover it;
 * - a node caches only what it read while connected, as long as `isCacheable` allows. Without Redis, SQL
 *   answers and nothing is cached; without both, a `StorageError` (503, never 401).
 */

import { LRUCache } from 'lru-cache';
import { changeOutcome, StorageError } from '../../engine/errors.ts';
import { buildBound } from '../../engine/tools/cache-bounds.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { NewSession, SessionOfToken, SessionTarget } from '../catalogue/people/sessions.ts';
import type { Notices } from '../catalogue/shared/notices.ts';
import type { Queryable } from '../sql/client.ts';
import { readValue } from '../sql/rows.ts';
import type { NodeMessage } from './messages.ts';
import type { Pubsub } from './pubsub.ts';
import {
  type AffectedSessions,
  type CopyLookup,
  claim,
  countChanging,
  type Ending,
  endingMs,
  isChanging,
  parseCopy,
  parseCopyKey,
  readPlainly,
  release,
  replace,
  type SessionCopy,
  toCopyKey,
  writeEnding,
} from './session-copies.ts';
import { findHash, listHashes } from './session-hashes.ts';

type SqlSessions = Catalogue['sessions'];

/** What a node's own session cache offers for invalidation. */
export interface InvalidatedCache {
  forgetHash(hash: string): void;
  markHashStale(hash: string): void;
  forget(sessionId: string): void;
  forgetAll(): void;
}

export type MirroredSessions = ReturnType<typeof mirrorSessions>;

export interface MirrorOptions {
  readonly pubsub: Pubsub;
  readonly sql: Queryable;
  readonly sessions: SqlSessions;
  /** Number of hashes this node remembers as read. At least as many as it caches. */
  readonly entriesMax: number;
  /** Lifetime of a copy, ms: how long tokens in use work while SQL is away. */
  readonly copyMs: number;
  /** Age after which a copy must be confirmed in SQL while SQL answers, ms. */
  readonly confirmMs: number;
  readonly nowMs: () => number;
  /** Changes of sessions in SQL, also those without a message. */
  readonly notices: Notices;
}

interface MirrorState extends MirrorOptions {
  /** Hashes that were read while connected, and have not changed since. */
  readonly watched: LRUCache<string, { readMs: number }>;
  /** Hashes that ended or changed recently: a Redis that lost writes may return an old copy. */
  readonly stale: LRUCache<string, object>;
  /** What this node has ended or changed in SQL recently. */
  readonly committed: LRUCache<string, Ending>;
}

const messageHashesMax = 500;
const committedMax = 10_000;

/** Handles tracking notices; `null`: any key may have changed. */
const stopWatching = (state: MirrorState, key: string | null): void => {
  if (key === null) state.watched.clear();
  else state.watched.delete(parseCopyKey(key) ?? '');
};

const recordNotice = (state: MirrorState, hash: string): void => {
  state.watched.delete(hash);
  state.stale.set(hash, {});
};

/**
 * Invalidates cached sessions: a notice, which may be of an expired key, marks one stale; a message removes
 * it.
 */
const invalidateCache = (pubsub: Pubsub, cache: InvalidatedCache): (() => void) =>
  pubsub.subscribe({
    onKeyChanged: (key) => {
      if (key === null) cache.forgetAll();
      else cache.markHashStale(parseCopyKey(key) ?? '');
    },
    onDisconnect: () => cache.forgetAll(),
    onMessage: (message) => {
      // Also discards the results of running look-ups.
      if (message.kind === 'session') cache.forget(message.id);
      if (message.kind === 'sessions') for (const hash of message.hashes) cache.forgetHash(hash);
    },
  });

const read = async (state: MirrorState, hash: string): Promise<CopyLookup> => {
  const { pubsub } = state;
  // Redis would probably not answer, and its answer could not be cached: read SQL without a delay.
  if (!(await pubsub.waitUntilConnected())) return { kind: 'unsure' };
  // Before the reading, so that a change that overtakes the answer removes the entry.
  state.watched.set(hash, { readMs: Number.NEGATIVE_INFINITY });
  try {
    const { isOneServer, commands } = pubsub;
    return parseCopy(
      isOneServer ? await pubsub.read(toCopyKey(hash)) : await readPlainly(commands.send, hash),
    );
  } catch {
    // Redis is away or slow: read SQL instead.
    state.watched.delete(hash);
    return { kind: 'unsure' };
  }
};

const readSql = (state: MirrorState, hash: string): Promise<SessionOfToken | null> =>
  state.sessions.byTokenHash(Buffer.from(hash, 'hex'));

/** Answers from Redis while SQL does not, without caching. Rejects with the failure if Redis cannot. */
const decideWithoutSql = async (state: MirrorState, hash: string, failure: unknown) => {
  const copy = await readPlainly(state.pubsub.commands.send, hash).then(parseCopy, () => null);
  if (copy?.kind === 'revoked') return null;
  if (copy?.kind !== 'session' || state.stale.has(hash)) throw failure;
  return copy.session;
};

const readFromSql = async (state: MirrorState, hash: string): Promise<SessionOfToken | null> => {
  state.watched.delete(hash);
  try {
    return await readSql(state, hash);
  } catch (failure) {
    return decideWithoutSql(state, hash, failure);
  }
};

/** Replaces the value `text` by a copy. Resolves to whether that succeeded. */
const write = (
  state: MirrorState,
  hash: string,
  { text, session }: { text: string; session: SessionOfToken },
): Promise<boolean> => {
  const lastsMs = Math.floor(Math.min(state.copyMs, session.expiresAtMs - state.nowMs()));
  if (lastsMs < 1) return Promise.resolve(false);
  return replace(state.pubsub.commands.send, hash, { text, session, lastsMs });
};

/**
 * Replaces the claim `text` by a copy of what SQL said after the claim. Resolves to whether Redis has it now.
 * `minter` is the user whose lost membership ends a new session.
 */
const fill = async (
  state: MirrorState,
  hash: string,
  { text, session, minter = '' }: { text: string; session: SessionOfToken; minter?: string },
): Promise<boolean> => {
  const { send } = state.pubsub.commands;
  if (!(await write(state, hash, { text, session }))) return false;
  if (!(await isChanging(send, [{ target: session }, { mintedBy: minter }]))) return true;
  await writeEnding(send, hash, 'hold');
  return false;
};

const fillNew = async (state: MirrorState, { id, tokenHash, mintedBy, mintedWith }: NewSession) => {
  const { sql } = state;
  const minter =
    mintedWith === null
      ? mintedBy
      : await readValue<string>(sql`select minted_by from sessions where id = ${id}`);
  const hash = tokenHash.toString('hex');
  const text = await claim(state.pubsub.commands.send, hash);
  const session = text === null ? null : await readSql(state, hash);
  if (text !== null && session !== null) await fill(state, hash, { text, session, minter: minter ?? '' });
};

/** Reads the copy just written, with tracking; falls back to the session from SQL, read from `readMs` on. */
const readBack = async (
  state: MirrorState,
  hash: string,
  { session, readMs }: { session: SessionOfToken; readMs: number },
): Promise<SessionOfToken | null> => {
  const copy = await read(state, hash);
  if (copy.kind === 'session') {
    const watched = state.watched.get(hash);
    if (watched !== undefined) watched.readMs = readMs;
    return copy.session;
  }
  state.watched.delete(hash);
  return copy.kind === 'revoked' ? null : session;
};

/** Looks up in SQL, once, a token that Redis does not know; writes the copy. Unknown tokens leave nothing. */
const lookUpAndFill = async (state: MirrorState, hash: string): Promise<SessionOfToken | null> => {
  const { send } = state.pubsub.commands;
  const text = await claim(send, hash).catch(() => null);
  const readMs = performance.now();
  let session: SessionOfToken | null = null;
  try {
    session = await readFromSql(state, hash);
  } finally {
    if (session === null && text !== null) await release(send, hash, text).catch(() => undefined);
  }
  if (session === null || text === null) return session;
  const filled = await fill(state, hash, { text, session }).catch(() => false);
  return filled ? readBack(state, hash, { session, readMs }) : session;
};

/** Confirms an old copy in SQL. While SQL does not answer, the copy is used unless a notice made it stale. */
const confirmCopy = async (state: MirrorState, hash: string, copy: SessionCopy) => {
  const readMs = performance.now();
  let session: SessionOfToken | null;
  try {
    session = await readSql(state, hash);
  } catch (failure) {
    if (state.stale.has(hash)) throw failure;
    return copy.session;
  }
  state.watched.delete(hash);
  const { send } = state.pubsub.commands;
  if (session === null) {
    await writeEnding(send, hash, 'revoked').catch(() => undefined);
    return null;
  }
  const isWritten = await write(state, hash, { text: copy.text, session }).catch(() => false);
  // A copy that another node has written meanwhile may come from an earlier statement.
  return readBack(state, hash, { session, readMs: isWritten ? readMs : Number.NEGATIVE_INFINITY });
};

/** Uses the absolute age: a Redis whose clock was set back must not make a copy look young. */
const isRecent = (state: MirrorState, hash: string, { ageMs }: SessionCopy): boolean =>
  Math.abs(ageMs) < state.confirmMs && !state.stale.has(hash);

const lookUp = async (state: MirrorState, hash: string): Promise<SessionOfToken | null> => {
  const copy = await read(state, hash);
  switch (copy.kind) {
    case 'session':
      return isRecent(state, hash, copy) ? copy.session : confirmCopy(state, hash, copy);
    case 'revoked':
      return null;
    case 'absent':
      return lookUpAndFill(state, hash);
    case 'unsure':
      return readFromSql(state, hash);
  }
};

/** Replaces the copy by a tombstone or a hold. */
const writeNotice = (state: MirrorState, hash: string, ending: Ending): Promise<unknown> => {
  recordNotice(state, hash);
  return writeEnding(state.pubsub.commands.send, hash, ending);
};

/** Does the same for a change that SQL has committed; repeated when Redis returns. */
const writeCommittedNotice = (state: MirrorState, hash: string, ending: Ending): Promise<unknown> => {
  state.committed.set(hash, ending, { ttl: endingMs[ending] });
  return writeNotice(state, hash, ending);
};

/** Writes recent tombstones and holds again: a Redis that was away may have lost them. */
const repeatNotices = async (state: MirrorState): Promise<void> => {
  for (const [hash, ending] of [...state.committed.entries()]) {
    // Redis is away again; its next return repeats this.
    await writeNotice(state, hash, ending).catch(() => undefined);
  }
};

/**
 * Notifies the nodes. A message that Redis refuses stops no change: its notice in SQL reaches every node
 * within a second, and a node whose own messages do not arrive caches nothing.
 */
const notify = (state: MirrorState, message: NodeMessage): Promise<unknown> =>
  state.pubsub.publish(message).catch(() => undefined);

/** A failure after the first tombstone leaves the outcome unknown: the caller repeats the change. */
const toOutcomeUnknown = (failure: unknown): unknown =>
  failure instanceof StorageError ? changeOutcome(failure, 'unknown') : failure;

const remove = async (state: MirrorState, target: SessionTarget, id: string): Promise<boolean> => {
  const hash = await findHash(state.sql, target, id);
  if (hash === null) return false;
  await writeNotice(state, hash, 'revoked');
  try {
    await notify(state, { kind: 'session', hash, id });
    const removed = await state.sessions.remove(target, id);
    // Redis may have lost the first tombstone meanwhile; then a node may have cached the session from SQL
    // before the delete. If Redis is away now, `repeatNotices` writes the tombstone when it returns, and no
    // connected node has a copy of the session by then.
    await writeCommittedNotice(state, hash, 'revoked').catch(() => undefined);
    return removed;
  } catch (failure) {
    throw toOutcomeUnknown(failure);
  }
};

const putHolds = async (state: MirrorState, hashes: readonly string[], how: typeof writeNotice) => {
  await Promise.all(hashes.map((hash) => how(state, hash, 'hold')));
  for (let from = 0; from < hashes.length; from += messageHashesMax) {
    await notify(state, { kind: 'sessions', hashes: hashes.slice(from, from + messageHashesMax) });
  }
};

const changeSessions = async <Result>(
  state: MirrorState,
  affected: AffectedSessions,
  change: () => Promise<Result>,
): Promise<Result> => {
  const { send } = state.pubsub.commands;
  await countChanging(send, affected, 1);
  const before = await listHashes(state.sql, affected);
  await putHolds(state, before, writeNotice);
  const result = await change();
  try {
    // Repeat, against fills that read SQL before the change.
    const after = await listHashes(state.sql, affected);
    await putHolds(state, [...new Set([...before, ...after])], writeCommittedNotice);
    await countChanging(send, affected, -1).catch(() => undefined);
    return result;
  } catch (failure) {
    throw toOutcomeUnknown(failure);
  }
};

/** Puts Redis in front of the catalogue's sessions. Subscribes to `pubsub` until that is closed. */
export const mirrorSessions = (options: MirrorOptions) => {
  const { pubsub, sessions, entriesMax, copyMs } = options;
  const state: MirrorState = {
    ...options,
    watched: new LRUCache(buildBound(entriesMax)),
    stale: new LRUCache({ ...buildBound(entriesMax), ttl: copyMs }),
    committed: new LRUCache({ max: committedMax, ttl: endingMs.revoked }),
  };
  pubsub.subscribe({
    onKeyChanged: (key) => stopWatching(state, key),
    onDisconnect: () => state.watched.clear(),
    onReconnect: () => void repeatNotices(state),
    onMessage: (message) => {
      if (message.kind === 'session') recordNotice(state, message.hash);
      if (message.kind === 'sessions') for (const hash of message.hashes) recordNotice(state, hash);
    },
  });
  options.notices.subscribe(({ kind, id }) => {
    if (kind === 'session') recordNotice(state, id);
  });
  const mirrored: SqlSessions = {
    ...sessions,
    byTokenHash: (hash) => lookUp(state, hash.toString('hex')),
    insert: async (session, rules) => {
      const outcome = await sessions.insert(session, rules);
      const isNew = outcome.kind === 'created' && outcome.replayed !== true;
      // If this fails, the first request with the token writes the copy.
      if (isNew) await fillNew(state, session).catch(() => undefined);
      return outcome;
    },
    remove: (target, id) => remove(state, target, id),
  };
  return {
    ...mirrored,
    /** Whether the last reading of this hash (hexadecimal) may be cached until a notice invalidates it. */
    isCacheable: (hash: string) => pubsub.isConnected() && state.watched.has(hash),
    /**
     * When this node began to read the session of this hash in SQL, monotonic ms: notices of changes cover it
     * from then on. Minus infinity if it comes from a copy that was not confirmed by this node.
     */
    getReadMs: (hash: string) => state.watched.get(hash)?.readMs ?? Number.NEGATIVE_INFINITY,
    /** Invalidates a node's own cache with every notice. Returns a function that stops this. */
    invalidateCache: (cache: InvalidatedCache) => invalidateCache(pubsub, cache),
    /** Runs a change in SQL that ends or alters sessions, so that none of their copies outlives it. */
    changeSessions: <Result>(affected: AffectedSessions, change: () => Promise<Result>) =>
      changeSessions(state, affected, change),
  };
};
