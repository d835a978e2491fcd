/**
 * Moves pending changes into LMDB's tables, and deletes the journal files that are then not needed.
 *
 * A checkpoint takes all pending values at one moment, begins a new journal file, and writes the values in
 * bounded transactions, each synced; the last one records up to which record the tables are complete. Until
 * then a start reads the old file again, which only repeats values. So nothing is lost if it ends in
 * the middle, but the tables alone are then no copy of the store. Called by store.ts and backlog.ts.
 */
import type { EntityAddress, Shard } from '../../../engine/ids.ts';
import type { OutboxArray, PartArray } from './codec.ts';
import { packSlot, packVisitor } from './codec.ts';
import { beginFile, removeFiles } from './journal.ts';
import { toDirtyKey, toDuePartsKey, toSlotKey } from './keys.ts';
import { toIndexed } from './pending.ts';
import type { PendingSlot, PendingVisitors } from './pending-values.ts';
import { measureUsedBytes, putApplied, putMeta, type ShardMirror, type VotesArray } from './tables.ts';
import { countPendingBytes, runInTables, runQueued, type Writer, write } from './writer.ts';

/** A pending value on its way: `put` inside a transaction, `release` once that is synced. */
interface PendingWrite {
  readonly entries: number;
  readonly put: () => void;
  readonly release: () => void;
}

/** A checkpoint begins so long after the first change that is pending, if not before. */
const dueMs = 60_000;
const retryMs = 5_000;

/** Entries of one transaction: main thread and disk room are needed for so many at once. */
const stepEntries = 1_000;

const writeSlot = (
  { tables, pending }: Writer,
  shard: Shard,
  [address, entry]: readonly [EntityAddress, PendingSlot],
): PendingWrite => ({
  entries: 1,
  put: () => {
    const { stored, indexed } = entry;
    const key = toSlotKey(shard, address);
    const { since, dueMs } = toIndexed(stored);
    tables.slots.put(key, packSlot(stored));
    if (since !== indexed.since) {
      if (indexed.since > 0) tables.dirty.remove(toDirtyKey(key, indexed.since));
      if (since > 0) tables.dirty.put(toDirtyKey(key, since), 0);
    }
    if (dueMs === indexed.dueMs) return;
    if (indexed.dueMs !== undefined) tables.dueParts.remove(toDuePartsKey(shard, indexed.dueMs, address));
    if (dueMs !== undefined) tables.dueParts.put(toDuePartsKey(shard, dueMs, address), 0);
  },
  release: () => {
    const now = pending.slots[shard]?.get(address);
    if (now === entry) pending.slots[shard]?.delete(address);
    else if (now !== undefined) now.indexed = toIndexed(entry.stored);
  },
});

const writeVotes = (
  { tables, pending }: Writer,
  [key, array]: readonly [string, VotesArray],
): PendingWrite => ({
  entries: 1,
  put: () => {
    tables.votes.put(key, array);
  },
  release: () => {
    if (pending.votes.get(key) === array) pending.votes.delete(key);
  },
});

interface TakenVisitors {
  readonly listing: string;
  readonly entry: PendingVisitors;
  readonly removed: boolean;
  readonly added: readonly string[];
}

const writeVisitors = (
  { tables, pending }: Writer,
  { listing, entry, removed, added }: TakenVisitors,
): PendingWrite => ({
  entries: added.length + 1,
  put: () => {
    if (removed) tables.visitors.remove(listing);
    for (const visitor of added) tables.visitors.put(listing, packVisitor(visitor));
  },
  release: () => {
    if (removed) entry.removed = false;
    for (const visitor of added) entry.added.delete(visitor);
    if (entry.added.size === 0 && !entry.removed && pending.visitors.get(listing) === entry)
      pending.visitors.delete(listing);
  },
});

/** One listing's new visitors, in writes of bounded size. */
function* splitVisitors(writer: Writer, taken: TakenVisitors): Generator<PendingWrite> {
  const { removed, added } = taken;
  for (let from = 0; from === 0 || from < added.length; from += stepEntries) {
    const part = added.slice(from, from + stepEntries);
    yield writeVisitors(writer, { ...taken, removed: removed && from === 0, added: part });
  }
}

const writeOutbox = (
  { tables, pending }: Writer,
  shard: Shard,
  [key, array]: readonly [string, OutboxArray | null],
): PendingWrite => ({
  entries: 1,
  put: () => {
    if (array === null) tables.outbox.remove(key);
    else tables.outbox.put(key, array);
  },
  release: () => {
    if (pending.outbox[shard]?.get(key) === array) pending.outbox[shard]?.delete(key);
  },
});

const writePart = (
  { tables, pending }: Writer,
  listing: string,
  [key, array]: readonly [string, PartArray | null],
): PendingWrite => ({
  entries: 1,
  put: () => {
    if (array === null) tables.parts.remove(key);
    else tables.parts.put(key, array);
  },
  release: () => {
    const parts = pending.parts.get(listing);
    if (parts?.get(key) === array) parts.delete(key);
    if (parts?.size === 0) pending.parts.delete(listing);
  },
});

/** The positions and producers at the moment of the checkpoint, and up to which record all is written. */
const takeShards = (writer: Writer): PendingWrite => {
  const { tables, pending, mirror, journal } = writer;
  const { seed, sequence } = journal;
  const shards = [...pending.shards].map((shard) => ({ shard, ...(mirror[shard] as ShardMirror) }));
  const producers = [...pending.producers].flatMap(([key, { shard, producer }]) => {
    const known = mirror[shard]?.producers.get(producer);
    return known === undefined ? [] : [{ key, shard, producer, known }];
  });
  return {
    entries: shards.length + producers.length,
    put: () => {
      for (const { shard, ...position } of shards) putMeta(tables, shard, position);
      for (const { key, known } of producers)
        tables.producers.put(key, [known.sequence, known.seenMs, known.decisions]);
      putApplied(tables, { sequence, seed });
    },
    release: () => {
      for (const { shard, generation, version } of shards) {
        const now = writer.mirror[shard];
        if (now?.generation === generation && now.version === version) pending.shards.delete(shard);
      }
      for (const { key, shard, producer, known } of producers)
        if (writer.mirror[shard]?.producers.get(producer) === known) pending.producers.delete(key);
    },
  };
};

const sortByKey = <Entry extends readonly [string, unknown]>(entries: Entry[]): Entry[] =>
  entries.sort(([left], [right]) => (left < right ? -1 : 1));

/**
 * Takes all pending values as of now; sorts them later, part by part, so that a transaction changes pages
 * that lie together.
 */
const takePending = (writer: Writer): (() => Generator<PendingWrite>) => {
  const { pending } = writer;
  const slots = pending.slots.map((map) => [...map]);
  const outbox = pending.outbox.map((map) => [...map]);
  const votes = [...pending.votes];
  const parts = [...pending.parts].map(([listing, map]) => [listing, [...map]] as const);
  const visitors = [...pending.visitors].map(
    ([listing, entry]) =>
      [listing, { listing, entry, removed: entry.removed, added: [...entry.added] }] as const,
  );
  return function* listWrites() {
    for (const [shard, entries] of slots.entries())
      for (const entry of sortByKey(entries)) yield writeSlot(writer, shard as Shard, entry);
    for (const [shard, entries] of outbox.entries())
      for (const entry of sortByKey(entries)) yield writeOutbox(writer, shard as Shard, entry);
    for (const entry of sortByKey(votes)) yield writeVotes(writer, entry);
    for (const [, taken] of sortByKey([...visitors])) yield* splitVisitors(writer, taken);
    for (const [listing, entries] of sortByKey([...parts]))
      for (const entry of entries) yield writePart(writer, listing, entry);
  };
};

const writeStep = async (writer: Writer, step: readonly PendingWrite[]): Promise<void> => {
  if (step.length === 0) return;
  await write(writer, 'checkpoint', () => {
    for (const { put } of step) put();
  });
  // Reads from now on must see what was written.
  writer.tables.root.resetReadTxn();
  for (const { release } of step) release();
};

const writeAll = async (writer: Writer, writes: Iterable<PendingWrite>): Promise<void> => {
  let step: PendingWrite[] = [];
  let entries = 0;
  for (const next of writes) {
    if (entries >= stepEntries) {
      await writeStep(writer, step);
      step = [];
      entries = 0;
    }
    step.push(next);
    entries += next.entries;
  }
  await writeStep(writer, step);
};

interface TakenChanges {
  readonly sequence: number;
  readonly mark: number;
  readonly writes: () => Iterable<PendingWrite>;
}

const writeTaken = async (writer: Writer, { sequence, mark, writes }: TakenChanges): Promise<void> => {
  writer.partial = true;
  await writeAll(writer, writes());
  writer.partial = false;
  writer.writtenBytes = Math.max(writer.writtenBytes, mark);
  removeFiles(writer.journal, sequence);
  writer.usedBytes = measureUsedBytes(writer.tables);
};

/**
 * Takes what is pending, and begins to write it. Call inside the write queue. Resolves when the tables have
 * all of it, synced; at once when nothing is pending.
 */
export const beginCheckpoint = async (writer: Writer): Promise<void> => {
  if (countPendingBytes(writer) === 0) return;
  const mark = writer.addedBytes;
  beginFile(writer.journal);
  const { sequence } = writer.journal;
  const listWrites = takePending(writer);
  const shards = takeShards(writer);
  const writes = function* () {
    yield* listWrites();
    yield shards;
  };
  writer.checkpoints++;
  try {
    await runInTables(writer, () => writeTaken(writer, { sequence, mark, writes }));
  } finally {
    writer.checkpoints--;
  }
};

/** The same, from outside the write queue: commits go on meanwhile. */
export const runCheckpoint = async (writer: Writer): Promise<void> => {
  // In an object, so that the write queue does not wait for it.
  const { written } = await runQueued(writer, async () => ({ written: beginCheckpoint(writer) }));
  await written;
};

const runScheduled = async (writer: Writer): Promise<void> => {
  writer.timer = null;
  writer.scheduled = 'running';
  try {
    await runCheckpoint(writer);
    writer.scheduled = 'idle';
  } catch (error) {
    writer.scheduled = 'failed';
    writer.onWarning('a checkpoint of the embedded hot store failed; its journal has everything', error);
  }
  if (countPendingBytes(writer) > 0) startCheckpointLater(writer);
};

/** Begins a checkpoint soon, at once when much is pending. */
export const startCheckpointLater = (writer: Writer): void => {
  if (writer.closed || writer.scheduled === 'running') return;
  if (writer.scheduled === 'idle' && countPendingBytes(writer) >= writer.checkpointBytes) {
    clearTimeout(writer.timer ?? undefined);
    void runScheduled(writer);
    return;
  }
  const delayMs = writer.scheduled === 'failed' ? retryMs : dueMs;
  writer.timer ??= setTimeout(() => void runScheduled(writer), delayMs).unref();
};
