/**
 * Reads all records of an embedded hot store for a move, and writes those of another store.
 *
 * Reads the tables as they are after a checkpoint, so the store's own number of shards does not matter. A
 * record that cannot be read ends the move.
 */
import { lastVoteFlags } from '../../../engine/entity/votes.ts';
import { computeShard, type EntityAddress, type Incarnation, type Shard } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import type { HotRecord, HotTransfer } from '../../move/records.ts';
import { runCheckpoint } from './checkpoint.ts';
import { packPart, packSlot, packVisitor, unpackPart, unpackSlot, unpackVisitor } from './codec.ts';
import {
  parseBucket,
  parseDueMs,
  parsePartKey,
  parseVoterKey,
  toBucket,
  toBucketKey,
  toDuePartsKey,
  toPartKey,
  toProducerKey,
  toSlotKey,
  toVisitorsKey,
  toVoterKey,
} from './keys.ts';
import { countStored, listTables, putFormat, putMeta, type Tables } from './tables.ts';
import { type Writer, writeInTables } from './writer.ts';

const chunkMax = 1_000;

export const createTransfer = (writer: Writer): HotTransfer => {
  const { tables } = writer;
  /** Returns the tables with all that is committed. */
  const completeTables = async (): Promise<Tables> => {
    await runCheckpoint(writer);
    return tables;
  };
  return {
    isEmpty: async () =>
      tables.slots.getKeysCount({ limit: 1 }) === 0 && tables.meta.getKeysCount({ limit: 1 }) === 0,
    hasNodes: async () => false,
    removeAll: async () => {
      for (const table of listTables(tables)) await table.clearAsync();
    },
    countEntries: async () => {
      const { slots, votes, visitors, parts } = await completeTables();
      return [slots, votes, visitors, parts].reduce((sum, table) => sum + countStored(table), 0);
    },
    readRecords: async function* (onEntries) {
      let chunk: HotRecord[] = [];
      for (const record of listRecords(await completeTables())) {
        onEntries(record.kind === 'visitors' ? record.visitors.length : 1);
        chunk.push(record);
        if (chunk.length < chunkMax) continue;
        yield chunk;
        chunk = [];
      }
      yield chunk;
    },
    writeRecords: async (records) => {
      await writeInTables(writer, 'move', () => {
        for (const record of records) putRecord(writer, record);
      });
      writer.recentSlots.clear();
    },
    findNewestMs: async () => {
      const seen = writer.mirror.flatMap(({ producers }) => [...producers.values()]);
      const votes = [...tables.votes.getKeys({ reverse: true, limit: 1 }), ...writer.pending.votes.keys()];
      const bucketsMs = votes.map((key) => parseBucket(key) * limits.voteBucketMs);
      return Math.max(0, ...seen.map(({ seenMs }) => seenMs), ...bucketsMs);
    },
    removeAhead: async (nowMs) => {
      await completeTables();
      await removeAhead(writer, nowMs);
    },
    writeHeads: (heads) =>
      writeInTables(writer, 'move', () => {
        putFormat(tables, writer.journal);
        for (const { shard, ...head } of heads) putMeta(tables, shard, head);
      }),
  };
};

/** Judgements of shards of bots are in the index of the records as they are written. */
const removeAhead = async (writer: Writer, nowMs: number): Promise<void> => {
  const { tables, mirror } = writer;
  const votes = [...tables.votes.getKeys({ start: toBucketKey(toBucket(nowMs) + 1) })];
  const parts = [...tables.dueParts.getKeys({})].filter((key) => parseDueMs(key) > nowMs);
  const ahead = mirror.flatMap(({ producers }, shard) =>
    [...producers].flatMap(([producer, { seenMs }]) =>
      seenMs > nowMs ? [{ producers, producer, key: toProducerKey(shard as Shard, producer) }] : [],
    ),
  );
  await writeInTables(writer, 'clock', () => {
    for (const key of votes) tables.votes.remove(key);
    for (const key of parts) tables.dueParts.remove(key);
    for (const { key } of ahead) tables.producers.remove(key);
  });
  for (const { producers, producer } of ahead) producers.delete(producer);
};

const assertReadable = <Value>(value: Value | null, key: string): Value => {
  if (value === null) throw new Error(`The record ${key} of the hot store is damaged: nothing was moved.`);
  return value;
};

/** Parses `s7 b:12 345`, the name of a listing in a key, with what follows it. */
const parseListing = (key: string): { address: EntityAddress; incarnation: Incarnation; rest: string } => {
  const [, address = '', incarnation = '', ...rest] = key.split(' ');
  return {
    address: address as EntityAddress,
    incarnation: Number(incarnation) as Incarnation,
    rest: rest.join(' '),
  };
};

function* listRecords(tables: Tables): Generator<HotRecord> {
  for (const { key, value } of tables.slots.getRange({})) {
    const { incarnation, state } = assertReadable(unpackSlot(assertReadable(value, key)), key).slot;
    yield { kind: 'state', address: parseListing(key).address, incarnation, state };
  }
  for (const { key, value } of tables.votes.getRange({})) yield readVotes(key, assertReadable(value, key));
  yield* listVisitors(tables);
  for (const { key, value } of tables.parts.getRange({})) {
    const { address, incarnation, rest } = parseListing(key);
    const part = unpackPart(assertReadable(value, key));
    const shardCount = Number(rest.split(' ')[0]);
    yield { kind: 'part', address, incarnation, shardCount, id: parsePartKey(key), part };
  }
}

const readVotes = (key: string, array: readonly number[]): HotRecord => {
  const { address, incarnation, rest } = parseListing(key.slice(key.indexOf(' ') + 1));
  const votes = [];
  for (let index = 0; index < array.length; index += 2)
    votes.push({ atMs: array[index] ?? 0, flag: lastVoteFlags[array[index + 1] ?? 0] ?? 'cast' });
  return { kind: 'votes', address, incarnation, user: parseVoterKey(rest), votes };
};

/** Lists all visitors. Opens the table as binary: its usual encoding would decode the stored bytes. */
function* listVisitors({ root }: Tables): Generator<HotRecord> {
  const visitors = root.openDB<Buffer, string>({ name: 'visitors', dupSort: true, encoding: 'binary' });
  for (const key of visitors.getKeys({})) {
    const { address, incarnation } = parseListing(key);
    let some: string[] = [];
    for (const value of visitors.getValues(key)) {
      some.push(unpackVisitor(value));
      if (some.length < chunkMax) continue;
      yield { kind: 'visitors', address, incarnation, visitors: some };
      some = [];
    }
    if (some.length > 0) yield { kind: 'visitors', address, incarnation, visitors: some };
  }
}

const putRecord = ({ tables }: Writer, record: HotRecord): void => {
  const { address, incarnation } = record;
  const shard = computeShard(address);
  const listing = toVisitorsKey(shard, address, incarnation);
  if (record.kind === 'state') {
    const { state } = record;
    tables.slots.put(toSlotKey(shard, address), packSlot({ slot: { incarnation, state }, since: 0 }));
    if (state?.parts !== undefined) tables.dueParts.put(toDuePartsKey(shard, state.parts.dueMs, address), 0);
  } else if (record.kind === 'votes') {
    const bucket = toBucketKey(toBucket(record.votes[0]?.atMs ?? 0));
    const array = record.votes.flatMap(({ atMs, flag }) => [atMs, lastVoteFlags.indexOf(flag)]);
    tables.votes.put(`${bucket} ${toVoterKey(listing, record.user)}`, array);
  } else if (record.kind === 'visitors') {
    for (const visitor of record.visitors) tables.visitors.put(listing, packVisitor(visitor));
  } else tables.parts.put(toPartKey(listing, record.shardCount, record.id), packPart(record.part));
};
