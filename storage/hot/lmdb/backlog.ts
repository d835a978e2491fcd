/**
 * What waits for the ledger, and the upkeep of the tables: peek, settle, publish, sweep.
 *
 * Owns the dirty index and the outbox after they were filled. All steps are bounded and safe to repeat: a
 * crash between two of them leaves work to do again, never work undone. Called by the adapter, inside the
 * write lane where it writes.
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
import { putMeta } from './tables.ts';
import type { Writer } from './writer.ts';
import { readStoredSlot, runQueued, write } from './writer.ts';

/** Entries handled before other work gets its turn. */
const stepEntries = 1_000;
const sweepEntriesMax = 20_000;
const producerIdleMs = 7 * 86_400_000;

const peekEntities = (writer: Writer, shard: Shard, limit: number): DirtyEntity[] => {
  const generation = writer.mirror[shard]?.generation ?? 0;
  const found: DirtyEntity[] = [];
  for (const key of writer.tables.dirty.getKeys({ ...toShardRange(shard), limit })) {
    const address = parseDirtyKey(key);
    const slot = readStoredSlot(writer, shard, address)?.slot;
    if (slot?.state)
      found.push({ ref: parseEntityRef(address, slot.incarnation), generation, state: slot.state });
  }
  return found;
};

const peekVotes = (tables: Tables, shard: Shard, limit: number): OutboxVote[] => {
  const found: OutboxVote[] = [];
  for (const { key, value } of tables.outbox.getRange({ ...toShardRange(shard), limit })) {
    found.push(unpackOutbox(parseOutboxKey(key), value));
  }
  return found;
};

interface RemainingRoom {
  readonly entities: number;
  readonly votes: number;
}

/** One of each more than there is room for is looked at: if it is there, there is more. */
const peekShard = (
  writer: Writer,
  shard: Shard,
  { room, limit }: { readonly room: RemainingRoom; readonly limit: RemainingRoom },
): Backlog => {
  const entities = limit.entities > 0 ? peekEntities(writer, shard, room.entities + 1) : [];
  const votes = limit.votes > 0 ? peekVotes(writer.tables, shard, room.votes + 1) : [];
  const [moreEntities, moreVotes] = [entities.length > room.entities, votes.length > room.votes];
  entities.length = Math.min(entities.length, room.entities);
  votes.length = Math.min(votes.length, room.votes);
  return keepConsistent({ entities, votes, moreEntities, moreVotes }, limit);
};

/** Oldest first within each shard; shards in the order given. Yields between shards when it reads much. */
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

/** A slot on disk before the step, with what the step made of it. */
interface FlushedSlot {
  readonly key: string;
  readonly storedSince: number;
  slot: StoredSlot;
}
/** A listing may be settled twice in one step. */
type FlushedSlots = Map<EntityAddress, FlushedSlot>;

const findFlushedSlot = (
  writer: Writer,
  settlings: FlushedSlots,
  { shard, address }: EntityRef,
): FlushedSlot | null => {
  const known = settlings.get(address);
  if (known) return known;
  const slot = readStoredSlot(writer, shard, address);
  if (!slot) return null;
  const opened: FlushedSlot = { key: toSlotKey(shard, address), storedSince: slot.since, slot };
  settlings.set(address, opened);
  return opened;
};

const listFlushedSlots = (writer: Writer, entities: FlushReceipt['entities']): FlushedSlots => {
  const settlings: FlushedSlots = new Map();
  for (const { ref, generation, version, flushedVotes } of entities) {
    const open = findFlushedSlot(writer, settlings, ref);
    if (!open) continue;
    const { slot, since } = open.slot;
    if (slot.state === null || slot.incarnation !== ref.incarnation || since === 0) continue;
    const { incarnation, state } = slot;
    // What moved on since goes to the end of the queue, so that it cannot keep others waiting.
    const same = state.version === version && writer.mirror[ref.shard]?.generation === generation;
    const nextSince = same ? 0 : state.version;
    open.slot = { slot: { incarnation, state: { ...state, flushedVotes } }, since: nextSince };
  }
  return settlings;
};

const putFlushed = (tables: Tables, settlings: FlushedSlots): void => {
  for (const { key, storedSince, slot } of settlings.values()) {
    tables.slots.put(key, packSlot(slot));
    if (slot.since === storedSince) continue;
    tables.dirty.remove(toDirtyKey(key, storedSince));
    if (slot.since > 0) tables.dirty.put(toDirtyKey(key, slot.since), 0);
  }
};

const markEntitiesFlushed = async (writer: Writer, entities: FlushReceipt['entities']): Promise<void> => {
  const settlings = listFlushedSlots(writer, entities);
  await write(writer, 'settled', () => putFlushed(writer.tables, settlings));
  for (const [address, { slot }] of settlings) writer.recent.slots.set(address, slot);
};

const splitIntoSteps = <Entry>(entries: readonly Entry[]): readonly Entry[][] =>
  Array.from({ length: Math.ceil(entries.length / stepEntries) }, (_, step) =>
    entries.slice(step * stepEntries, (step + 1) * stepEntries),
  );

/** Records what was flushed, in several transactions when it is much. */
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
 * Marks the clean ones of a stretch of slots; returns the address where the next stretch starts, or `null`.
 */
const markStep = async (writer: Writer, shard: Shard, start: string): Promise<string | null> => {
  const { slots, dirty } = writer.tables;
  const range = { start, end: toShardRange(shard).end, limit: stepEntries };
  const rows = Array.from(slots.getRange(range), ({ key, value }) => ({ key, stored: unpackSlot(value) }));
  await write(writer, 'publish', () => {
    for (const { key, stored } of rows) {
      const { slot, since } = stored;
      if (slot.state === null || since > 0) continue;
      const { version } = slot.state;
      slots.put(key, packSlot({ slot, since: version }));
      dirty.put(toDirtyKey(key, version), 0);
    }
  });
  const last = rows.length < stepEntries ? undefined : rows.at(-1);
  // The key right after the last one read.
  return last ? `${last.key} ` : null;
};

/** Raises one generation. The marks come first: a crash before the raise leaves only needless marks. */
export const publishShard = async (writer: Writer, shard: Shard, generation: number): Promise<void> => {
  const known = writer.mirror[shard] as ShardMirror;
  if (generation <= known.generation) return;
  // The marks make other rows of what is remembered; a step that fails leaves the marks of those before it.
  writer.recent.slots.clear();
  let start: string | null = toShardRange(shard).start;
  while (start !== null) start = await markStep(writer, shard, start);
  await write(writer, 'publish', () => {
    putMeta(writer.tables, shard, { generation, version: known.version, chainHash: known.mark });
  });
  (writer.mirror[shard] as ShardMirror).generation = generation;
};

/**
 * Empties a shard that still stands at a place. Visitors and last votes stay: they are true of any past. One
 * transaction: half of it would be small numbers.
 */
export const clearShard = async (writer: Writer, shard: Shard, position: ShardPosition): Promise<void> => {
  const known = writer.mirror[shard] as ShardMirror;
  if (known.generation !== position.generation || known.version !== position.version) return;
  const { meta, producers, slots, dirty, outbox } = writer.tables;
  const keys = [producers, slots, dirty, outbox].map((table) => ({
    table,
    keys: Array.from(table.getKeys(toShardRange(shard))),
  }));
  await write(writer, 'clear', () => {
    for (const { table, keys: these } of keys) for (const key of these) table.remove(key);
    meta.remove(toShardKey(shard));
  });
  writer.recent.slots.clear();
  // Without its tombstone a listing may come again whose visitors were removed with it.
  writer.recent.visitors.clear();
  writer.mirror[shard] = { generation: 0, version: 0, mark: 0, producers: new Map() };
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
