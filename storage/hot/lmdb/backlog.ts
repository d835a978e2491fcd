/**
 * Reads the backlog for the ledger, marks it flushed, and maintains the tables: peek, markFlushed, publish,
 * clear, sweep.
 *
 * Removes entries from the dirty index and the outbox, which commits fill. All steps are bounded and safe to
 * repeat: a crash between two steps leaves work to repeat, never a half-done state. Called by store.ts;
 * operations that write run inside the write queue.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ShardPosition } from '../../../engine/entity/items.ts';
import type { EntityAddress, EntityRef, Shard } from '../../../engine/ids.ts';
import { parseEntityRef } from '../../../engine/ids.ts';
import type { Backlog, DirtyEntity, FlushReceipt, OutboxVote } from '../../../engine/ports.ts';
import { keepConsistent } from '../consistent-backlog.ts';
import type { StoredSlot } from './codec.ts';
import { packSlot, unpackOutbox, unpackSlot } from './codec.ts';
import {
  parseDirtyKey,
  parseOutboxKey,
  toBucketKey,
  toDirtyKey,
  toOutboxKey,
  toProducerKey,
  toShardKey,
  toShardRange,
  toSlotKey,
} from './keys.ts';
import type { ShardMirror, Tables } from './tables.ts';
import { putFormat, putMeta } from './tables.ts';
import type { Writer } from './writer.ts';
import { readStoredSlot, runQueued, write } from './writer.ts';

/** Entries handled before the event loop runs other work. */
const stepEntries = 1_000;
const sweepEntriesMax = 20_000;
const producerIdleMs = 7 * 86_400_000;

const peekEntities = (writer: Writer, shard: Shard, limit: number): DirtyEntity[] => {
  const generation = writer.mirror[shard]?.generation ?? 0;
  const peeked: DirtyEntity[] = [];
  for (const key of writer.tables.dirty.getKeys({ ...toShardRange(shard), limit })) {
    const address = parseDirtyKey(key);
    const stored = readStoredSlot(writer, shard, address);
    if (stored === null || stored === 'damaged' || stored.slot.state === null) continue;
    const { incarnation, state } = stored.slot;
    peeked.push({ ref: parseEntityRef(address, incarnation), generation, state });
  }
  return peeked;
};

const peekVotes = (tables: Tables, shard: Shard, limit: number): OutboxVote[] => {
  const peeked: OutboxVote[] = [];
  for (const { key, value } of tables.outbox.getRange({ ...toShardRange(shard), limit })) {
    if (value !== null) peeked.push(unpackOutbox(parseOutboxKey(key), value));
  }
  return peeked;
};

/** Maxima over all shards, or what is left of them. */
interface BacklogLimit {
  readonly entities: number;
  readonly votes: number;
}

/** Reads one entry of each kind beyond the room: if it exists, the shard has more. */
const peekShard = (
  writer: Writer,
  shard: Shard,
  { room, limit }: { readonly room: BacklogLimit; readonly limit: BacklogLimit },
): Backlog => {
  const entities = limit.entities > 0 ? peekEntities(writer, shard, room.entities + 1) : [];
  const votes = limit.votes > 0 ? peekVotes(writer.tables, shard, room.votes + 1) : [];
  const [moreEntities, moreVotes] = [entities.length > room.entities, votes.length > room.votes];
  entities.length = Math.min(entities.length, room.entities);
  votes.length = Math.min(votes.length, room.votes);
  return keepConsistent({ entities, votes, moreEntities, moreVotes }, limit);
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
    const before = entities.length + votes.length;
    const room = { entities: limit.entities - entities.length, votes: limit.votes - votes.length };
    const part = peekShard(writer, shard, { room, limit });
    entities.push(...part.entities);
    votes.push(...part.votes);
    readSinceTurn += entities.length + votes.length - before;
    if (readSinceTurn < stepEntries) continue;
    readSinceTurn = 0;
    await nextTurn();
  }
  return { entities, votes };
};

/** A slot before a step (`storedSince`) and after it. */
interface FlushedSlot {
  readonly key: string;
  readonly storedSince: number;
  slot: StoredSlot;
}
/** By address, because one step may hold two receipts for a listing. */
type FlushedSlots = Map<EntityAddress, FlushedSlot>;

const findFlushedSlot = (
  writer: Writer,
  flushedSlots: FlushedSlots,
  { shard, address }: EntityRef,
): FlushedSlot | null => {
  const existing = flushedSlots.get(address);
  if (existing) return existing;
  const slot = readStoredSlot(writer, shard, address);
  if (slot === null || slot === 'damaged') return null;
  const flushed: FlushedSlot = { key: toSlotKey(shard, address), storedSince: slot.since, slot };
  flushedSlots.set(address, flushed);
  return flushed;
};

const listFlushedSlots = (writer: Writer, entities: FlushReceipt['entities']): FlushedSlots => {
  const flushedSlots: FlushedSlots = new Map();
  for (const { ref, generation, version, flushedVotes } of entities) {
    const flushed = findFlushedSlot(writer, flushedSlots, ref);
    if (!flushed) continue;
    const { slot, since } = flushed.slot;
    if (slot.state === null || slot.incarnation !== ref.incarnation || since === 0) continue;
    const { incarnation, state } = slot;
    // A slot that changed since the flush moves to the end of the dirty index, so that others get their turn.
    const unchanged = state.version === version && writer.mirror[ref.shard]?.generation === generation;
    const nextSince = unchanged ? 0 : state.version;
    flushed.slot = { slot: { incarnation, state: { ...state, flushedVotes } }, since: nextSince };
  }
  return flushedSlots;
};

const putFlushed = (tables: Tables, flushedSlots: FlushedSlots): void => {
  for (const { key, storedSince, slot } of flushedSlots.values()) {
    tables.slots.put(key, packSlot(slot));
    if (slot.since === storedSince) continue;
    tables.dirty.remove(toDirtyKey(key, storedSince));
    if (slot.since > 0) tables.dirty.put(toDirtyKey(key, slot.since), 0);
  }
};

const markEntitiesFlushed = async (writer: Writer, entities: FlushReceipt['entities']): Promise<void> => {
  const flushedSlots = listFlushedSlots(writer, entities);
  await write(writer, 'settled', () => putFlushed(writer.tables, flushedSlots));
  for (const [address, { slot }] of flushedSlots) writer.recent.slots.set(address, slot);
};

const splitIntoSteps = <Entry>(entries: readonly Entry[]): readonly Entry[][] =>
  Array.from({ length: Math.ceil(entries.length / stepEntries) }, (_, step) =>
    entries.slice(step * stepEntries, (step + 1) * stepEntries),
  );

/** Records a flush receipt, in several transactions if it is large. *Hot* when it resolves. */
export const markFlushed = async (writer: Writer, receipt: FlushReceipt): Promise<void> => {
  const { tables } = writer;
  for (const step of splitIntoSteps(receipt.entities)) {
    await runQueued(writer, () => markEntitiesFlushed(writer, step));
  }
  for (const step of splitIntoSteps(receipt.votes)) {
    await runQueued(writer, () =>
      write(writer, 'settled', () => {
        for (const { shard, itag } of step) tables.outbox.remove(toOutboxKey(shard, itag));
      }),
    );
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
  await write(writer, 'publish', () => {
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

/**
 * Raises one generation. Marks all slots dirty first: a crash in between leaves only needless dirty marks.
 */
export const publishShard = async (writer: Writer, shard: Shard, generation: number): Promise<void> => {
  const current = writer.mirror[shard] as ShardMirror;
  if (generation <= current.generation) return;
  // The steps change slots that are cached; if one fails, the changes of earlier steps stay.
  writer.recent.slots.clear();
  let start: string | null = toShardRange(shard).start;
  while (start !== null) start = await markStepDirty(writer, shard, start);
  await write(writer, 'publish', () => {
    putFormat(writer.tables);
    putMeta(writer.tables, shard, { generation, version: current.version, chainHash: current.chainHash });
  });
  (writer.mirror[shard] as ShardMirror).generation = generation;
};

/**
 * Empties a shard if it is still at `position`. Visitors and last votes stay: they are valid for any history.
 * Runs as one transaction, because a half-emptied shard would show totals that are too small.
 */
export const clearShard = async (writer: Writer, shard: Shard, position: ShardPosition): Promise<void> => {
  const current = writer.mirror[shard] as ShardMirror;
  if (current.generation !== position.generation || current.version !== position.version) return;
  const { meta, producers, slots, dirty, outbox, parts, dueParts } = writer.tables;
  const removals = [producers, slots, dirty, outbox, parts, dueParts].map((table) => ({
    table,
    keys: Array.from(table.getKeys(toShardRange(shard))),
  }));
  await write(writer, 'clear', () => {
    for (const { table, keys } of removals) for (const key of keys) table.remove(key);
    meta.remove(toShardKey(shard));
  });
  writer.recent.slots.clear();
  // Tombstones are gone: a listing whose visitors were removed may be created again.
  writer.recent.visitors.clear();
  writer.mirror[shard] = { generation: 0, version: 0, chainHash: 0, producers: new Map() };
};

/** Removes expired last votes and long idle producers, a bounded number of each. */
export const sweep = async (writer: Writer, nowMs: number, oldestBucket: number): Promise<void> => {
  const { votes, producers } = writer.tables;
  const expired = Array.from(votes.getKeys({ end: toBucketKey(oldestBucket), limit: sweepEntriesMax }));
  const idle: { shard: Shard; producer: string }[] = [];
  for (const [index, shard] of writer.mirror.entries()) {
    for (const [producer, { seenMs }] of shard.producers) {
      if (nowMs - seenMs > producerIdleMs) idle.push({ shard: index as Shard, producer });
    }
  }
  if (expired.length + idle.length === 0) return;
  await write(writer, 'sweep', () => {
    for (const key of expired) votes.remove(key);
    for (const { shard, producer } of idle) producers.remove(toProducerKey(shard, producer));
  });
  for (const { shard, producer } of idle) writer.mirror[shard]?.producers.delete(producer);
};
