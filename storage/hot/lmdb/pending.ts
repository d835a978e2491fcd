/**
 * The changes that are in the journal and not yet in LMDB's tables, and how to read through them.
 *
 * A value is read from here first; LMDB's older one, and what its indexes say about a pending slot, do not
 * count. Only synced changes are here, and an acknowledged flush, which is in no record: after a crash it is
 * repeated. checkpoint.ts moves the values to LMDB.
 */
import type { EntityAddress, Shard } from '../../../engine/ids.ts';
import { type OutboxArray, type PartArray, packShard, type StoredSlot, unpackSlot } from './codec.ts';
import type { Changes } from './journal-records.ts';
import { parseListing, parseShard, toProducerKey, toShardKey, toSlotKey } from './keys.ts';
import type { IndexedSlot, PendingSlot } from './pending-values.ts';
import type { VotesArray } from './tables.ts';
import type { Writer } from './writer.ts';

export const getPendingSlots = ({ pending }: Pick<Writer, 'pending'>, shard: Shard) =>
  pending.slots[shard] as Map<EntityAddress, PendingSlot>;
export const getPendingOutbox = ({ pending }: Pick<Writer, 'pending'>, shard: Shard) =>
  pending.outbox[shard] as Map<string, OutboxArray | null>;

/** Reads the slot at an address; `null` when there is none, `'damaged'` when it cannot be read. */
export const readStoredSlot = (
  writer: Writer,
  shard: Shard,
  address: EntityAddress,
): StoredSlot | 'damaged' | null => {
  const { tables, recentSlots } = writer;
  const cached = getPendingSlots(writer, shard).get(address)?.stored ?? recentSlots.get(address);
  if (cached !== undefined) return cached;
  const packed = tables.slots.get(toSlotKey(shard, address));
  if (packed === undefined) return null;
  const stored = packed && unpackSlot(packed);
  if (stored === null) return 'damaged';
  recentSlots.set(address, stored);
  return stored;
};

/** Reads one voter's votes in one bucket; `undefined` for none, `null` when they are damaged. */
export const readVotesArray = ({ pending, tables }: Writer, key: string): VotesArray | null | undefined =>
  pending.votes.get(key) ?? tables.votes.get(key);

export const toIndexed = (stored: StoredSlot | 'damaged' | null): IndexedSlot =>
  stored === null || stored === 'damaged'
    ? { since: 0, dueMs: undefined }
    : { since: stored.since, dueMs: stored.slot.state?.parts?.dueMs };

/** Replaces a slot, and counts the backlog. */
export const putPendingSlot = (
  writer: Writer,
  { shard, address }: { readonly shard: Shard; readonly address: EntityAddress },
  stored: StoredSlot,
): void => {
  const slots = getPendingSlots(writer, shard);
  const existing = slots.get(address);
  const before = toIndexed(existing?.stored ?? readStoredSlot(writer, shard, address));
  slots.set(address, { stored, indexed: existing?.indexed ?? before });
  writer.recentSlots.set(address, stored);
  writer.backlog.entities += Number(stored.since > 0) - Number(before.since > 0);
};

const putPendingVote = (writer: Writer, key: string, array: OutboxArray): void => {
  const outbox = getPendingOutbox(writer, parseShard(key));
  if (!outbox.get(key)) writer.backlog.votes++;
  outbox.set(key, array);
};

/** Removes a vote from the outbox; nothing happens if it is not there. */
export const removeFromOutbox = (writer: Writer, shard: Shard, key: string): void => {
  const outbox = getPendingOutbox(writer, shard);
  const pending = outbox.get(key);
  if (pending === null || (pending === undefined && !writer.tables.outbox.doesExist(key))) return;
  writer.backlog.votes--;
  // A pending vote is not in LMDB, so it is just dropped, unless a running checkpoint may be writing it.
  if (pending !== undefined && writer.checkpoints === 0) outbox.delete(key);
  else outbox.set(key, null);
};

const adoptVisitors = ({ pending }: Writer, { removedVisitors, visitors }: Changes): void => {
  for (const listing of removedVisitors) pending.visitors.set(listing, { removed: true, added: new Set() });
  for (const [listing, names] of visitors) {
    const entry = pending.visitors.get(listing) ?? { removed: false, added: new Set() };
    pending.visitors.set(listing, entry);
    for (const visitor of names) entry.added.add(visitor);
  }
};

const adoptBatches = ({ mirror, pending }: Writer, { batches, nowMs }: Changes): void => {
  for (const { shard, producer, sequence, version, chainHash, decisions } of batches) {
    const current = mirror[shard];
    if (current === undefined) continue;
    current.version = version;
    current.chainHash = chainHash;
    current.producers.set(producer, { sequence, seenMs: nowMs, decisions });
    pending.meta.set(toShardKey(shard), packShard(current));
    pending.producers.set(toProducerKey(shard, producer), [sequence, nowMs, decisions]);
  }
};

/** Applies what a record holds, once it is synced. */
export const adopt = (writer: Writer, changes: Changes): void => {
  const { pending } = writer;
  for (const slot of changes.slots) putPendingSlot(writer, slot, slot.stored);
  for (const [key, array] of changes.votes) pending.votes.set(key, array);
  adoptVisitors(writer, changes);
  for (const [key, array] of changes.outbox) putPendingVote(writer, key, array);
  for (const [key, array] of changes.parts) {
    const listing = parseListing(key);
    const parts = pending.parts.get(listing) ?? new Map<string, PartArray | null>();
    pending.parts.set(listing, parts.set(key, array));
  }
  adoptBatches(writer, changes);
};
