/**
 * Moves pending changes into LMDB's tables, and deletes the journal files that are then not needed.
 *
 * A checkpoint takes all pending values at one moment, begins a new journal file, and writes the values in
 * bounded transactions, each synced; the last one records up to which record the tables are complete. Until
 * then a start reads the old file again, which only repeats values. So nothing is lost if it ends in
 * the middle, but the tables alone are then no copy of the store.
 */
import type { Database } from 'lmdb';
import type { EntityAddress, Shard } from '../../../engine/ids.ts';
import { type Note, toNote } from '../../../engine/tools/notes.ts';
import { packSlot, packVisitor } from './codec.ts';
import { beginFile } from './journal.ts';
import { removeApplied } from './journal-files.ts';
import { toDirtyKey, toDuePartsKey, toSlotKey } from './keys.ts';
import { toIndexed } from './pending.ts';
import type { PendingSlot, PendingVisitors } from './pending-values.ts';
import { measureUsedBytes, putApplied } from './tables.ts';
import { countPendingBytes, runInTables, runQueued, type Writer, write } from './writer.ts';

/** A pending value on its way: `put` inside a transaction, `release` once that is synced. */
interface PendingWrite {
  readonly entries: number;
  readonly put: () => void;
  readonly release: () => void;
}

/** A checkpoint begins at the latest this long after the first pending change. */
const dueMs = 60_000;
const retryMs = 5_000;

/** Entries of one transaction. Bounds how long it blocks the main thread and how much disk room it needs. */
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
    Object.assign(entry.indexed, toIndexed(entry.stored));
    const slots = pending.slots[shard];
    if (slots?.get(address) === entry) slots.delete(address);
  },
});

/** Creates the write of a value in a table without an index; `null` removes it. */
const writeValue = <Value>(
  table: Database<Value, string>,
  values: Map<string, Value | null>,
  [key, value]: readonly [string, Value | null],
): PendingWrite => ({
  entries: 1,
  put: () => {
    if (value === null) table.remove(key);
    else table.put(key, value);
  },
  release: () => {
    if (values.get(key) === value) values.delete(key);
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

/** Splits one listing's new visitors into writes of bounded size. */
function* splitVisitors(writer: Writer, taken: TakenVisitors): Generator<PendingWrite> {
  const { removed, added } = taken;
  for (let from = 0; from === 0 || from < added.length; from += stepEntries) {
    const part = added.slice(from, from + stepEntries);
    yield writeVisitors(writer, { ...taken, removed: removed && from === 0, added: part });
  }
}

/** Creates the last write of a checkpoint: up to which journal record the tables are complete. */
const writeApplied = ({ tables, journal: { sequence, seed } }: Writer): PendingWrite => ({
  entries: 1,
  put: () => putApplied(tables, { sequence, seed }),
  release: () => {},
});

const sortByKey = <Entry extends readonly [string, unknown]>(entries: Entry[]): Entry[] =>
  entries.sort(([left], [right]) => (left < right ? -1 : 1));

/** Takes the present entries of a table without an index, each with the map in which it is pending. */
const takeValues = <Value>(
  table: Database<Value, string>,
  maps: Iterable<Map<string, Value | null>>,
): (() => Generator<PendingWrite>) => {
  const taken = [...maps].map((values) => ({ values, entries: [...values] }));
  return function* () {
    for (const { values, entries } of taken)
      for (const entry of sortByKey(entries)) yield writeValue(table, values, entry);
  };
};

const removeEmpty = (maps: Map<string, Map<string, unknown>>): void => {
  for (const [key, map] of maps) if (map.size === 0) maps.delete(key);
};

/**
 * Takes all pending values as of now; sorts them later, part by part, so that a transaction changes pages
 * that lie together.
 */
const takePending = (writer: Writer): (() => Generator<PendingWrite>) => {
  const { pending, tables } = writer;
  removeEmpty(pending.parts);
  const slots = pending.slots.map((map) => [...map]);
  const visitors = [...pending.visitors].map(
    ([listing, entry]) =>
      [listing, { listing, entry, removed: entry.removed, added: [...entry.added] }] as const,
  );
  const values = [
    takeValues(tables.outbox, pending.outbox),
    takeValues(tables.votes, [pending.votes]),
    takeValues(tables.parts, pending.parts.values()),
    takeValues(tables.producers, [pending.producers]),
    takeValues(tables.meta, [pending.meta]),
  ];
  const applied = writeApplied(writer);
  return function* listWrites() {
    for (const [shard, entries] of slots.entries())
      for (const entry of sortByKey(entries)) yield writeSlot(writer, shard as Shard, entry);
    for (const [, taken] of sortByKey(visitors)) yield* splitVisitors(writer, taken);
    for (const list of values) yield* list();
    yield applied;
  };
};

const writeStep = async (writer: Writer, step: readonly PendingWrite[]): Promise<void> => {
  if (step.length === 0) return;
  await write(writer, 'checkpoint', () => {
    for (const { put } of step) put();
  });
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

const writePending = async (writer: Writer): Promise<void> => {
  const mark = writer.addedBytes;
  writer.checkpoints++;
  try {
    beginFile(writer.journal);
    const { sequence } = writer.journal;
    const writes = takePending(writer);
    await runInTables(writer, async () => {
      writer.partial = true;
      await writeAll(writer, writes());
      writer.partial = false;
      writer.writtenBytes = Math.max(writer.writtenBytes, mark);
      removeApplied(writer.journal.folder, sequence);
      writer.usedBytes = measureUsedBytes(writer.tables);
    });
    writer.failure = null;
  } catch (error) {
    noteFailure(writer, error);
    throw error;
  } finally {
    writer.checkpoints--;
  }
};

/**
 * Takes what is pending, and begins to write it. Call inside the write queue. Resolves when that has begun;
 * `written` resolves when the tables have all of it, synced; at once when nothing is pending.
 */
const beginCheckpoint = async (writer: Writer): Promise<{ readonly written: Promise<void> }> => {
  if (countPendingBytes(writer) === 0) return { written: Promise.resolve() };
  return { written: writePending(writer) };
};

/** Writes all that is pending to the tables. Call inside the write queue, which stands still meanwhile. */
export const completeCheckpoint = async (writer: Writer): Promise<void> => {
  const { written } = await beginCheckpoint(writer);
  await written;
};

const noteFailure = (writer: Writer, error: unknown): void => {
  writer.failure = String(error);
  clearTimeout(writer.timer ?? undefined);
  writer.timer = null;
  startCheckpointLater(writer);
};

/** Writes all that is pending to the tables, from outside the write queue: commits go on meanwhile. */
export const runCheckpoint = async (writer: Writer): Promise<void> => {
  // `written` comes inside an object, because the write queue would wait for a bare promise.
  const { written } = await runQueued(writer, () => beginCheckpoint(writer));
  await written;
};

const runScheduled = async (writer: Writer): Promise<void> => {
  writer.timer = null;
  writer.scheduled = 'running';
  // A failure is noted where it happens; the journal still has everything.
  await runCheckpoint(writer).catch(() => undefined);
  writer.scheduled = 'idle';
  if (countPendingBytes(writer) > 0) startCheckpointLater(writer);
};

/** Begins a checkpoint within a minute, or at once when much is pending; after a failure in 5 s. */
export const startCheckpointLater = (writer: Writer): void => {
  if (writer.closed || writer.scheduled === 'running') return;
  const isFailing = writer.failure !== null;
  if (!isFailing && countPendingBytes(writer) >= writer.checkpointBytes) {
    clearTimeout(writer.timer ?? undefined);
    void runScheduled(writer);
    return;
  }
  writer.timer ??= setTimeout(() => void runScheduled(writer), isFailing ? retryMs : dueMs).unref();
};

/** Describes the last checkpoint for the operator if it failed; `null` otherwise. */
export const describeFailure = ({ failure, folder, pendingBytesMax }: Writer): Note | null =>
  failure === null
    ? null
    : toNote(
        'hot_store_tables',
        `The embedded hot store cannot write its tables in ${folder} (${failure}). ` +
          `Nothing is lost: its journal has all changes. It tries again every ${retryMs / 1_000} s; beyond ` +
          `${pendingBytesMax >> 20} MiB of them it refuses more.`,
      );
