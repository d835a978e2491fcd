/**
 * The embedded hot store: implements the `HotStore` port on a journal and LMDB, in one process.
 *
 * Owns the wiring and the checks of arguments. A commit is one record of the journal, synced before its
 * promise resolves and before any reader sees it; LMDB's tables get it later (checkpoint.ts). Calls that
 * write wait in one write queue; reads never wait. The caller must guard the folder against a second process.
 * Opened by `storage/open.ts`.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { fdatasync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { open } from 'lmdb';
import type { Batch, BatchReply, CommitRules, ShardVersion } from '../../../engine/entity/items.ts';
import type { HotState } from '../../../engine/entity/state.ts';
import { findHoldingSinceMs } from '../../../engine/entity/votes.ts';
import { createNotAppliedError, toNotAppliedError } from '../../../engine/errors.ts';
import { computeShard, listAllShards, parseEntityRef, type Shard, toAddress } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import type { HotStore, LoadReply, LoadRequest, Pulse } from '../../../engine/ports.ts';
import type { Note } from '../../../engine/tools/notes.ts';
import type { HotTransfer } from '../../move/records.ts';
import { clearShard, markFlushed, peek, publishShard, sweep } from './backlog.ts';
import { completeCheckpoint, describeFailure, runCheckpoint, startCheckpointLater } from './checkpoint.ts';
import { DamagedVotes, decide, readVotes, toChanges } from './commit.ts';
import { createDamageList } from './damage.ts';
import { addRecord, endJournal, openJournal } from './journal.ts';
import { type Changes, packChanges, type RecordBuffer, unpackChanges } from './journal-records.ts';
import { toBucket, toVisitorsKey, toVoterKey } from './keys.ts';
import { listDueParts, readParts } from './parts.ts';
import { adopt, readStoredSlot } from './pending.ts';
import { openTables, readApplied, type Tables } from './tables.ts';
import { createTransfer } from './transfer.ts';
import { assertRoom, createWriter, describeLack, runInTables, runQueued, type Writer } from './writer.ts';

export interface LmdbOptions {
  /** A folder that holds nothing else; created when missing. */
  readonly path: string;
  /** The store's clock: wall time in ms. */
  readonly clock: () => number;
  /** Above this many bytes in use, commits are refused with reason `full`. Default 1 TiB. */
  readonly sizeMaxBytes?: number;
  /** A checkpoint begins at this many pending bytes, or a minute after the first change. Default 16 MiB. */
  readonly checkpointBytes?: number;
  /** Above this many pending bytes commits are refused with reason `full`. Default 64 MiB. */
  readonly pendingBytesMax?: number;
  /** A sync failed: nothing is certain any more, and only a new process can open the folder again. */
  readonly onLost?: ((message: string, error: unknown) => void) | undefined;
  /** Makes the content of an open file durable. Default: `fdatasync`. */
  readonly sync?: (file: number) => Promise<void>;
}

export interface LmdbStore extends HotStore {
  readonly transfer: HotTransfer;
  /** Copies the store, as of one moment within the call, into an empty folder. Writers go on meanwhile. */
  copyInto(folder: string): Promise<void>;
  /** Says which records were damaged when they were read, what cannot be written, and what to do. */
  listWarnings(): readonly Note[];
  readonly pulse: Pulse;
}

interface LmdbState {
  readonly writer: Writer;
  readonly clock: () => number;
  readonly onLost: (message: string, error: unknown) => void;
  committing: boolean;
  /** Where the next `peek` over all shards starts, so that no shard is always last. */
  peekStart: number;
}

const assertOpen = (store: LmdbState, operation: string): void => {
  const { closed, journal } = store.writer;
  if (closed) throw createNotAppliedError(operation, 'closed');
  if (journal.lost) throw createNotAppliedError(operation, 'unreachable');
};

const commitQueued = async (
  store: LmdbState,
  batches: readonly Batch[],
  rules: CommitRules,
): Promise<readonly BatchReply[]> => {
  const { writer } = store;
  // A call before this one may have lost the journal.
  assertOpen(store, 'commit');
  await assertRoom(writer, 'commit', () => completeCheckpoint(writer));
  const plan = decideOrRefuse(store, batches, rules);
  if (plan.batches.length === 0) return plan.replies;
  const changes = toChanges(plan);
  writer.addedBytes += await appendOrEnd(store, packChanges(changes));
  adopt(writer, changes);
  startCheckpointLater(writer);
  return plan.replies;
};

/** After a failure here the batches had no effect, and their sequence numbers are free. */
const decideOrRefuse = ({ writer, clock }: LmdbState, batches: readonly Batch[], rules: CommitRules) => {
  try {
    return decide(batches, { writer, rules, nowMs: clock() });
  } catch (cause) {
    throw toNotAppliedError('commit', 'bug', cause);
  }
};

/** Appends a record. Resolves to its bytes when it is synced. */
const appendOrEnd = async (store: LmdbState, record: RecordBuffer): Promise<number> => {
  const { journal } = store.writer;
  try {
    return await addRecord(journal, 'commit', record);
  } catch (error) {
    if (journal.lost) store.onLost('the journal of the embedded hot store could not be synced', error);
    throw error;
  }
};

const commit = async (store: LmdbState, batches: readonly Batch[], rules: CommitRules) => {
  assertOpen(store, 'commit');
  assert(!store.committing, 'one commit at a time');
  assert(new Set(batches.map(({ shard }) => shard)).size === batches.length, 'one batch per shard');
  store.committing = true;
  try {
    return await runQueued(store.writer, () => commitQueued(store, batches, rules));
  } finally {
    store.committing = false;
  }
};

/** Runs one operation. Rejects when the store is closed or its journal lost. */
const runOperation = async <Result>(
  store: LmdbState,
  operation: string,
  task: () => Result | Promise<Result>,
): Promise<Result> => {
  assertOpen(store, operation);
  return task();
};

/** Finds the vote for which the voter waits, 0 for none; `null` when a record of these votes is damaged. */
const findVotedAtMs = (
  store: LmdbState,
  vote: { readonly listing: string; readonly voter: string },
  state: HotState,
): number | null => {
  const nowMs = store.clock();
  const range = {
    voter: toVoterKey(vote.listing, vote.voter),
    fromMs: nowMs - limits.voteBucketMs,
    toMs: nowMs + limits.clockAheadMaxMs,
  };
  try {
    return findHoldingSinceMs(readVotes(store.writer, null, range), state.releasedBeforeMs);
  } catch (error) {
    if (error instanceof DamagedVotes) return null;
    throw error;
  }
};

const loadOne = (store: LmdbState, request: LoadRequest): LoadReply => {
  const address = toAddress(request.kind, request.id);
  const shard = computeShard(address);
  const stored = readStoredSlot(store.writer, shard, address);
  const generation = store.writer.mirror[shard]?.generation ?? 0;
  if (stored === null) return { outcome: 'absent', generation };
  if (stored === 'damaged') return { outcome: 'damaged', generation };
  const { incarnation, state } = stored.slot;
  if (state === null) return { outcome: 'forgotten', incarnation, generation };
  const listing = toVisitorsKey(shard, address, incarnation);
  const { voter } = request;
  const votedAtMs = voter === undefined ? 0 : findVotedAtMs(store, { listing, voter }, state);
  if (votedAtMs === null) return { outcome: 'damaged', generation };
  return { outcome: 'found', ref: parseEntityRef(address, incarnation, shard), state, generation, votedAtMs };
};

/**
 * Copies LMDB's tables into an empty folder, without a journal. Called in the table queue after a checkpoint.
 * Rejects while the tables are whole only together with the journal.
 */
const writeCopy = async ({ tables, partial }: Writer, folder: string): Promise<void> => {
  if (partial) throw createNotAppliedError('copy', 'busy', 'the last checkpoint did not end');
  await tables.root.backup(folder, false);
  const copy = open<unknown, string>({ path: folder, maxDbs: 16, overlappingSync: false });
  // A store that names no journal begins one when it is opened.
  await copy.openDB<unknown, string>({ name: 'meta' }).remove('journal');
  await copy.close();
};

/**
 * Creates the pulse. While the disk has room the store counts as just answered: old refusals do not matter.
 */
const createPulse = (writer: Writer): Pulse => ({
  listSilent: () => {
    const lack = describeLack(writer);
    return lack === null ? [] : [`disk_full: ${lack}: make room there`];
  },
  getAnsweredMs: () => (describeLack(writer) === null ? performance.now() : Number.NEGATIVE_INFINITY),
  mayLoseTail: () => false,
});

/**
 * Closes the store. The tables get what is pending; if that fails, the journal has it, and the log says so.
 */
const close = async (store: LmdbState): Promise<void> => {
  const { writer } = store;
  if (writer.closed) return;
  writer.closed = true;
  clearTimeout(writer.timer ?? undefined);
  await runCheckpoint(writer).catch(() => undefined);
  await writer.tail;
  await writer.tablesTail;
  await endJournal(writer.journal);
  await writer.tables.root.close();
};

const createReaders = (
  store: LmdbState,
): Pick<HotStore, 'readGenerations' | 'load' | 'peek' | 'countBacklog' | 'readVersions' | 'readChanges'> => {
  const { writer } = store;
  return {
    readGenerations: () =>
      runOperation(store, 'generations', () => writer.mirror.map(({ generation }) => generation)),
    load: (requests) => runOperation(store, 'load', () => requests.map((request) => loadOne(store, request))),
    peek: (limit) =>
      runOperation(store, 'peek', () => {
        const shards = limit.shards ?? listAllShards(store.peekStart++);
        return peek(writer, { ...limit, shards });
      }),
    countBacklog: () => runOperation(store, 'backlog', () => ({ ...writer.backlog })),
    readVersions: (shards) =>
      runOperation(store, 'versions', () => shards.map((shard) => readVersion(writer, shard))),
    /** Keeps no list of changes: no other process writes to this store. */
    readChanges: (known) =>
      runOperation(store, 'changes', () =>
        known.map((from) => {
          const now = readVersion(writer, from.shard);
          const isSame =
            now.generation === from.generation &&
            now.version === from.version &&
            now.chainHash === from.chainHash;
          return { now, changed: isSame ? new Map() : null };
        }),
      ),
  };
};

const readVersion = ({ mirror }: Writer, shard: Shard): ShardVersion => {
  const { generation = 0, version = 0, chainHash = 0 } = mirror[shard] ?? {};
  return { generation, version, chainHash };
};

/** Opens the journal, and adopts what the tables lack. */
const openWriter = async (tables: Tables, options: LmdbOptions): Promise<Writer> => {
  const { path, sync = promisify(fdatasync) } = options;
  const applied = readApplied(tables, path);
  const seed = applied?.seed ?? randomBytes(4).readUInt32LE();
  // Incomplete until the journal is open: that adopts records, which needs the writer.
  const writer = createWriter(tables, {
    folder: path,
    sizeMaxBytes: options.sizeMaxBytes ?? 2 ** 40,
    checkpointBytes: options.checkpointBytes ?? 2 ** 24,
    pendingBytesMax: options.pendingBytesMax ?? 2 ** 26,
  }) as Writer;
  const folder = join(path, 'journal');
  writer.journal = openJournal({ folder, seed, applied: applied?.sequence ?? null, sync }, (content) => {
    adopt(writer, withoutWritten(tables, unpackChanges(content)));
    writer.addedBytes += content.length;
  });
  if (writer.addedBytes > 0) startCheckpointLater(writer);
  return writer;
};

/** Leaves out votes that an interrupted checkpoint has written to LMDB's outbox: they are not pending. */
const withoutWritten = ({ outbox }: Tables, changes: Changes): Changes => ({
  ...changes,
  outbox: changes.outbox.filter(([key]) => !outbox.doesExist(key)),
});

/**
 * Opens or creates the store. Rejects with a message for the operator when the folder holds another format,
 * or is damaged.
 */
export const openLmdbStore = async (options: LmdbOptions): Promise<LmdbStore> => {
  const damage = createDamageList(options.path);
  const tables = await openTables(options.path, damage.record);
  const writer = await openWriter(tables, options).catch(async (error: unknown) => {
    await tables.root.close();
    throw error;
  });
  const { clock, onLost = () => {} } = options;
  const store: LmdbState = { writer, clock, onLost, committing: false, peekStart: 0 };
  return {
    mayLoseTail: false,
    listWarnings: () => [damage.describe(), describeFailure(writer)].filter((warning) => warning !== null),
    pulse: createPulse(writer),
    toCommitQueue: () => 0,
    ...createReaders(store),
    readParts: (request) => runOperation(store, 'parts', () => readParts(writer, request)),
    listDueParts: (shards, limit) =>
      runOperation(store, 'due parts', () => listDueParts(writer, { shards, limit, nowMs: clock() })),
    commit: (batches, rules) => commit(store, batches, rules),
    publish: (generations) =>
      runOperation(store, 'publish', async () => {
        for (const { shard, generation } of generations)
          await runQueued(writer, () => publishShard(writer, shard, generation));
      }),
    clear: (positions) =>
      runOperation(store, 'clear', async () => {
        for (const { shard, ...position } of positions)
          await runQueued(writer, () => clearShard(writer, shard, position));
      }),
    markFlushed: (receipt) =>
      runOperation(store, 'settled', async () => {
        await markFlushed(writer, receipt);
        startCheckpointLater(writer);
      }),
    sweep: (nowMs) =>
      runOperation(store, 'sweep', async () => {
        await sweep(writer, nowMs, Math.max(0, toBucket(nowMs) - 2));
        return [];
      }),
    transfer: createTransfer(writer),
    copyInto: (folder) =>
      runOperation(store, 'copy', async () => {
        await runCheckpoint(writer);
        await runInTables(writer, () => writeCopy(writer, folder));
      }),
    close: () => close(store),
  };
};
