/**
 * Reads the backlog for the ledger, marks it flushed, and maintains the tables: peek, markFlushed, publish,
 * clear, sweep.
 *
 * A flush is acknowledged in memory only: after a crash the journal shows the entities as dirty again, and a
 * repeated flush is harmless. So what is flushed before the next checkpoint never gets into LMDB's index and
 * outbox. `publish` and `clear` run inside the write queue, after a checkpoint of their own, so no older
 * record of the journal can undo them. All but `clear` work in bounded steps, and all may be repeated.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ShardPosition } from '../../../engine/entity/items.ts';
import { parseEntityRef, type Shard } from '../../../engine/ids.ts';
import type { Backlog, BacklogSize, DirtyEntity, FlushReceipt, OutboxVote } from '../../../engine/ports.ts';
import { keepConsistent } from '../consistent-backlog.ts';
import { completeCheckpoint } from './checkpoint.ts';
import { packSlot, unpackOutbox, unpackSlot } from './codec.ts';
import {
  parseIndexedAddress,
  parseOutboxKey,
  toBucketKey,
  toDirtyKey,
  toOutboxKey,
  toProducerKey,
  toShardKey,
  toShardRange,
  toSlotKey,
} from './keys.ts';
import {
  getPendingOutbox,
  getPendingSlots,
  putPendingSlot,
  readStoredSlot,
  removeFromOutbox,
} from './pending.ts';
import { countStoredBacklog, putFormat, putMeta, type ShardMirror } from './tables.ts';
import { runQueued, type Writer, writeInTables } from './writer.ts';

/** Entries handled before the event loop runs other work. */
const stepEntries = 1_000;
const sweepEntriesMax = 20_000;
const producerIdleMs = 7 * 86_400_000;
/** The estimated memory of a flushed entry. Until the next checkpoint it counts as pending. */
const flushedBytes = 200;

/** Merges two lists of keys: returns the first `limit`, in order. `stored` is sorted already. */
const mergeKeys = (stored: Iterable<string>, pending: readonly string[], limit: number): string[] => {
  const keys = [...pending];
  let left = limit;
  for (const key of stored) {
    if (left-- <= 0) break;
    keys.push(key);
  }
  return keys.sort().slice(0, limit);
};

/** Lists the keys of LMDB's dirty index, except those with a pending slot: for these the index is old. */
function* listStoredDirty(writer: Writer, shard: Shard): Generator<string> {
  const pending = getPendingSlots(writer, shard);
  for (const key of writer.tables.dirty.getKeys(toShardRange(shard)))
    if (!pending.has(parseIndexedAddress(key))) yield key;
}

const listPendingDirty = (writer: Writer, shard: Shard): string[] => {
  const keys: string[] = [];
  for (const [address, { stored }] of getPendingSlots(writer, shard))
    if (stored.since > 0) keys.push(toDirtyKey(toSlotKey(shard, address), stored.since));
  return keys;
};

const listDirty = (writer: Writer, shard: Shard, limit: number): string[] =>
  mergeKeys(listStoredDirty(writer, shard), listPendingDirty(writer, shard), limit);

/** Reads the slots of keys of the dirty index, except damaged ones. */
const readEntities = (writer: Writer, shard: Shard, keys: readonly string[]): DirtyEntity[] => {
  const generation = writer.mirror[shard]?.generation ?? 0;
  const peeked: DirtyEntity[] = [];
  for (const key of keys) {
    const address = parseIndexedAddress(key);
    const stored = readStoredSlot(writer, shard, address);
    if (stored === null || stored === 'damaged' || stored.slot.state === null) continue;
    const { incarnation, state } = stored.slot;
    peeked.push({ ref: parseEntityRef(address, incarnation, shard), generation, state });
  }
  return peeked;
};

function* listStoredVotes(writer: Writer, shard: Shard): Generator<string> {
  const pending = getPendingOutbox(writer, shard);
  for (const key of writer.tables.outbox.getKeys(toShardRange(shard))) if (!pending.has(key)) yield key;
}

const listOutbox = (writer: Writer, shard: Shard, limit: number): string[] => {
  const pending = getPendingOutbox(writer, shard);
  const pendingKeys = [...pending].flatMap(([key, array]) => (array === null ? [] : [key]));
  return mergeKeys(listStoredVotes(writer, shard), pendingKeys, limit);
};

/** Reads the votes of keys of the outbox, except damaged ones. */
const readVotes = (writer: Writer, shard: Shard, keys: readonly string[]): OutboxVote[] => {
  const pending = getPendingOutbox(writer, shard);
  const peeked: OutboxVote[] = [];
  for (const key of keys) {
    const array = pending.get(key) ?? writer.tables.outbox.get(key) ?? null;
    if (array !== null) peeked.push(unpackOutbox({ itag: parseOutboxKey(key), shard }, array));
  }
  return peeked;
};

/**
 * Reads entries until there is one beyond `room`, which means that the shard has more. Damaged ones take no
 * room: they stay where they are, and a shard with many of them would never be flushed.
 */
const readPastDamaged = <Entry>(
  room: number,
  listKeys: (limit: number) => readonly string[],
  readEntries: (keys: readonly string[]) => Entry[],
): Entry[] => {
  for (let limit = room + 1; ; limit *= 2) {
    const keys = listKeys(limit);
    const entries = readEntries(keys);
    if (entries.length > room || keys.length < limit) return entries;
  }
};

const peekEntities = (writer: Writer, shard: Shard, room: number): DirtyEntity[] =>
  readPastDamaged(
    room,
    (limit) => listDirty(writer, shard, limit),
    (keys) => readEntities(writer, shard, keys),
  );

const peekVotes = (writer: Writer, shard: Shard, room: number): OutboxVote[] =>
  readPastDamaged(
    room,
    (limit) => listOutbox(writer, shard, limit),
    (keys) => readVotes(writer, shard, keys),
  );

/** Reads up to `room`, the rest of `limit`. */
const peekShard = (
  writer: Writer,
  shard: Shard,
  { room, limit }: { readonly room: BacklogSize; readonly limit: BacklogSize },
): Backlog => {
  const entities = limit.entities > 0 ? peekEntities(writer, shard, room.entities) : [];
  const votes = limit.votes > 0 ? peekVotes(writer, shard, room.votes) : [];
  const read = {
    entities: entities.slice(0, room.entities),
    votes: votes.slice(0, room.votes),
    moreEntities: entities.length > room.entities,
    moreVotes: votes.length > room.votes,
  };
  return keepConsistent(read, limit);
};

/**
 * Reads the backlog: oldest first within each shard, shards in the order given. Yields between shards after
 * many entries.
 */
export const peek = async (
  writer: Writer,
  limit: { readonly entities: number; readonly votes: number; readonly shards: readonly Shard[] },
): Promise<Backlog> => {
  const entities: DirtyEntity[] = [];
  const votes: OutboxVote[] = [];
  let readSinceTurn = 0;
  for (const shard of limit.shards) {
    const room = { entities: limit.entities - entities.length, votes: limit.votes - votes.length };
    const part = peekShard(writer, shard, { room, limit });
    entities.push(...part.entities);
    votes.push(...part.votes);
    readSinceTurn += part.entities.length + part.votes.length;
    if (readSinceTurn < stepEntries) continue;
    readSinceTurn = 0;
    await nextTurn();
  }
  return { entities, votes };
};

const markEntityFlushed = (
  writer: Writer,
  { ref, generation, version, flushedVotes }: FlushReceipt['entities'][number],
): void => {
  const stored = readStoredSlot(writer, ref.shard, ref.address);
  if (stored === null || stored === 'damaged') return;
  const { slot, since } = stored;
  if (slot.state === null || slot.incarnation !== ref.incarnation || since === 0) return;
  const { incarnation, state } = slot;
  // A slot that changed since the flush moves to the end of the dirty index, so that others get their turn.
  const unchanged = state.version === version && writer.mirror[ref.shard]?.generation === generation;
  const flushed = {
    slot: { incarnation, state: { ...state, flushedVotes } },
    since: unchanged ? 0 : state.version,
  };
  putPendingSlot(writer, ref, flushed);
};

const splitIntoSteps = <Entry>(entries: readonly Entry[]): readonly Entry[][] =>
  Array.from({ length: Math.ceil(entries.length / stepEntries) }, (_, step) =>
    entries.slice(step * stepEntries, (step + 1) * stepEntries),
  );

/** Records a flush receipt, in steps if it is large. *Applied*: a crash undoes it. */
export const markFlushed = async (writer: Writer, { entities, votes }: FlushReceipt): Promise<void> => {
  for (const step of splitIntoSteps(entities)) {
    await runQueued(writer, async () => {
      for (const entity of step) markEntityFlushed(writer, entity);
      writer.addedBytes += flushedBytes * step.length;
    });
  }
  for (const step of splitIntoSteps(votes)) {
    await runQueued(writer, async () => {
      for (const { itag, shard } of step) removeFromOutbox(writer, shard, toOutboxKey(shard, itag));
      writer.addedBytes += flushedBytes * step.length;
    });
  }
};

/**
 * Marks the clean slots of one step as dirty. Resolves to the key where the next step starts, `null` at the
 * end.
 */
const markStepDirty = async (writer: Writer, shard: Shard, start: string): Promise<string | null> => {
  const { slots, dirty } = writer.tables;
  const range = { start, end: toShardRange(shard).end, limit: stepEntries };
  const stepSlots = Array.from(slots.getRange(range), ({ key, value }) => ({
    key,
    stored: value === null ? null : unpackSlot(value),
  }));
  await writeInTables(writer, 'publish', () => {
    for (const { key, stored } of stepSlots) {
      if (stored === null) continue;
      const { slot, since } = stored;
      if (slot.state === null || since > 0) continue;
      const { version } = slot.state;
      slots.put(key, packSlot({ slot, since: version }));
      dirty.put(toDirtyKey(key, version), 0);
    }
  });
  const last = stepSlots.length < stepEntries ? undefined : stepSlots.at(-1);
  // The key right after the last one read.
  return last ? `${last.key} ` : null;
};

/** Reads slots and the backlog again: the tables changed, and readers may have cached slots meanwhile. */
const readTablesAgain = (writer: Writer): void => {
  writer.recentSlots.clear();
  writer.backlog = countStoredBacklog(writer.tables);
};

/**
 * Raises one generation. Marks all slots dirty first: a crash in between leaves only needless dirty marks.
 * Call inside the write queue.
 */
export const publishShard = async (writer: Writer, shard: Shard, generation: number): Promise<void> => {
  const current = writer.mirror[shard] as ShardMirror;
  if (generation <= current.generation) return;
  await completeCheckpoint(writer);
  const { tables, journal } = writer;
  try {
    let start: string | null = toShardRange(shard).start;
    while (start !== null) start = await markStepDirty(writer, shard, start);
    await writeInTables(writer, 'publish', () => {
      putFormat(tables, journal);
      putMeta(tables, shard, { generation, version: current.version, chainHash: current.chainHash });
    });
    current.generation = generation;
  } finally {
    // Also after a failure, because the steps before it stay.
    readTablesAgain(writer);
  }
};

/**
 * Empties a shard if it is still at `position`. Visitors and last votes stay: they are valid for any history.
 * Runs as one transaction, because a half-emptied shard would show totals that are too small. Call inside the
 * write queue.
 */
export const clearShard = async (writer: Writer, shard: Shard, position: ShardPosition): Promise<void> => {
  const current = writer.mirror[shard] as ShardMirror;
  if (current.generation !== position.generation || current.version !== position.version) return;
  await completeCheckpoint(writer);
  const { meta, producers, slots, dirty, outbox, parts, dueParts } = writer.tables;
  const removals = [producers, slots, dirty, outbox, parts, dueParts].map((table) => ({
    table,
    keys: Array.from(table.getKeys(toShardRange(shard))),
  }));
  await writeInTables(writer, 'clear', () => {
    for (const { table, keys } of removals) for (const key of keys) table.remove(key);
    meta.remove(toShardKey(shard));
  });
  readTablesAgain(writer);
  writer.mirror[shard] = { generation: 0, version: 0, chainHash: 0, producers: new Map() };
};

const listIdleProducers = ({ mirror }: Writer, nowMs: number): { shard: Shard; producer: string }[] =>
  mirror.flatMap(({ producers }, index) =>
    [...producers].flatMap(([producer, { seenMs }]) =>
      nowMs - seenMs > producerIdleMs ? [{ shard: index as Shard, producer }] : [],
    ),
  );

/** Removes expired last votes and long idle producers, a bounded number of each. Needs no record. */
export const sweep = async (writer: Writer, nowMs: number, oldestBucket: number): Promise<void> => {
  const { tables, pending, mirror } = writer;
  const end = toBucketKey(oldestBucket);
  const expired = Array.from(tables.votes.getKeys({ end, limit: sweepEntriesMax }));
  const idle = listIdleProducers(writer, nowMs);
  for (const key of pending.votes.keys()) if (key < end) pending.votes.delete(key);
  for (const { shard, producer } of idle) {
    mirror[shard]?.producers.delete(producer);
    pending.producers.delete(toProducerKey(shard, producer));
  }
  if (expired.length + idle.length === 0) return;
  await writeInTables(writer, 'sweep', () => {
    for (const key of expired) tables.votes.remove(key);
    for (const { shard, producer } of idle) tables.producers.remove(toProducerKey(shard, producer));
  });
};
