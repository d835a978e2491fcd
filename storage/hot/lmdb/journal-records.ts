/**
 * The records of the journal: a header with length, number and two checksums, then what one commit changes.
 *
 * A crash can tear the newest record only: the append before it was synced first. So a record that does
 * not fit its checksums is damage, except when no other follows and a part of it was never written: its
 * last bytes are missing, or a sector of it reads as zeros. Zeros up to the end of the file are no record.
 * Both checksums start from the seed of the store, so the records of another store do not pass. Pure.
 *
 * The content has only values, no indexes: those follow from the slots. Each value replaces the one before,
 * so applying records again, in order, gives the same store. The order of the parts is that of later
 * versions, too: new ones go before the end mark, with a default on reading.
 */
import { crc32 } from 'node:zlib';
import { Packr, RESERVE_START_SPACE, REUSE_BUFFER_MODE } from 'msgpackr';
import type { EntityAddress, Shard } from '../../../engine/ids.ts';
import {
  type DecisionsArray,
  type OutboxArray,
  type PartArray,
  packSlot,
  type SlotArray,
  type StoredSlot,
  unpackSlot,
} from './codec.ts';
import type { VotesArray } from './tables.ts';

/** 0 length of the content, 4 number, 10 checksum of the content, 14 checksum of these. */
export const headerBytes = 18;
const headerCrcAt = 14;
/** The smallest unit that a disk writes as a whole. */
const sectorBytes = 512;
/** The number of record headers that one sector can hold: so many may be lost with an unwritten sector. */
const headersPerSectorMax = Math.ceil(sectorBytes / headerBytes) + 1;

/** Content in a larger buffer, from `start + headerBytes` to `end`. */
export type RecordBuffer = Buffer & { readonly start: number; readonly end: number };

/** Writes the header in front of the content. Returns the whole record. */
export const sealRecord = (buffer: RecordBuffer, sequence: number, seed: number): Buffer => {
  const record = buffer.subarray(buffer.start, buffer.end);
  record.writeUInt32LE(record.length - headerBytes, 0);
  record.writeUIntLE(sequence, 4, 6);
  record.writeUInt32LE(crc32(record.subarray(headerBytes), seed), 10);
  record.writeUInt32LE(crc32(record.subarray(0, headerCrcAt), seed), headerCrcAt);
  return record;
};

/** Where reading stopped, and why it did not go on. */
export interface RecordsEnd {
  /** Bytes of intact records. */
  readonly bytes: number;
  /** The number that the next record has. */
  readonly next: number;
  /** `torn`: the rest was never written whole. */
  readonly end: 'whole' | 'torn' | 'damaged';
}

/** Whether the header of record `number` is somewhere behind `from`. */
const hasHeader = (file: Buffer, number: number, { from, seed }: { from: number; seed: number }): boolean => {
  const pattern = Buffer.alloc(6);
  pattern.writeUIntLE(number, 0, 6);
  for (let at = file.indexOf(pattern, from); at !== -1; at = file.indexOf(pattern, at + 1)) {
    const header = file.subarray(at - 4, at - 4 + headerBytes);
    if (header.length === headerBytes && isIntactHeader(header, seed)) return true;
  }
  return false;
};

const isZeros = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0);

/** Whether a later record was written. Then record `number` was synced, so damage to it is no torn append. */
const hasLater = (file: Buffer, number: number, place: { from: number; seed: number }): boolean => {
  for (let later = number + 1; later <= number + headersPerSectorMax; later++)
    if (hasHeader(file, later, place)) return true;
  return false;
};

/** Whether a sector between `from` and `to` reads as zeros, so that the disk probably never wrote it. */
const hasUnwrittenSector = (file: Buffer, from: number, to: number): boolean => {
  for (let start = from; start < to; ) {
    const end = (Math.floor(start / sectorBytes) + 1) * sectorBytes;
    if (isZeros(file.subarray(start, end))) return true;
    start = end;
  }
  return false;
};

const isIntactHeader = (header: Buffer, seed: number): boolean =>
  header.readUInt32LE(headerCrcAt) === crc32(header.subarray(0, headerCrcAt), seed);

/**
 * Whether a part of the record that begins at `bytes` was never written: its end reads as zeros, or a sector
 * of it does. `end` is the end of its header when that is not intact. No single changed bit looks like that.
 */
const isTorn = (
  file: Buffer,
  { bytes, end, isIntact }: { readonly bytes: number; readonly end: number; readonly isIntact: boolean },
): boolean => {
  if (isIntact) return file[end - 1] === 0 || hasUnwrittenSector(file, bytes + headerBytes, end);
  return (
    isZeros(file.subarray(bytes, end)) || isZeros(file.subarray(end)) || hasUnwrittenSector(file, bytes, end)
  );
};

/**
 * Passes the content of each record of a file to `each`, in order. `first`: the number of its first record.
 */
export const readRecords = (
  file: Buffer,
  { first, seed }: { readonly first: number; readonly seed: number },
  each: (sequence: number, content: Buffer) => void,
): RecordsEnd => {
  let bytes = 0;
  let next = first;
  const stop = (end: RecordsEnd['end']): RecordsEnd => ({ bytes, next, end });
  while (bytes < file.length) {
    const header = file.subarray(bytes, bytes + headerBytes);
    if (isZeros(header) && isZeros(file.subarray(bytes))) break;
    if (header.length < headerBytes) return stop('torn');
    const isIntact = isIntactHeader(header, seed);
    const contentAt = bytes + headerBytes;
    const end = isIntact ? contentAt + header.readUInt32LE(0) : contentAt;
    if (end > file.length) return stop('torn');
    const content = file.subarray(contentAt, end);
    const isWhole =
      isIntact && crc32(content, seed) === header.readUInt32LE(10) && header.readUIntLE(4, 6) === next;
    if (!isWhole) {
      const isNewest = !hasLater(file, next, { from: contentAt, seed });
      return stop(isNewest && isTorn(file, { bytes, end, isIntact }) ? 'torn' : 'damaged');
    }
    each(next, content);
    bytes = end;
    next++;
  }
  return stop('whole');
};

/** A batch, and the position of its shard after it. */
export interface AppliedBatch {
  readonly shard: Shard;
  readonly producer: string;
  readonly sequence: number;
  readonly version: number;
  readonly chainHash: number;
  readonly decisions: DecisionsArray;
}

export interface Changes {
  readonly nowMs: number;
  readonly batches: readonly AppliedBatch[];
  readonly slots: readonly { readonly shard: Shard; readonly address: EntityAddress; stored: StoredSlot }[];
  readonly votes: readonly (readonly [key: string, array: VotesArray])[];
  /** Keys of the visitors of deleted listings; removed before others are added. */
  readonly removedVisitors: readonly string[];
  readonly visitors: readonly (readonly [listing: string, visitors: readonly string[]])[];
  readonly outbox: readonly (readonly [key: string, array: OutboxArray])[];
  /** `null` removes a part. */
  readonly parts: readonly (readonly [key: string, array: PartArray | null])[];
}

type BatchArray = readonly [Shard, string, number, number, number, DecisionsArray];
type RecordArray = readonly [
  number,
  readonly BatchArray[],
  readonly (readonly [Shard, EntityAddress, SlotArray])[],
  Changes['votes'],
  Changes['removedVisitors'],
  Changes['visitors'],
  Changes['outbox'],
  Changes['parts'],
  /** Never zero, not even with one bit changed. Bytes that were never written read as zero. */
  endMark: true,
];

const packr = new Packr({ useRecords: false });

/** Packs changes, after room for a record's header. The next call uses the buffer again. */
export const packChanges = (changes: Changes): RecordBuffer => {
  const { nowMs, votes, removedVisitors, visitors, outbox, parts } = changes;
  const array: RecordArray = [
    nowMs,
    changes.batches.map(({ shard, producer, sequence, version, chainHash, decisions }): BatchArray => {
      return [shard, producer, sequence, version, chainHash, decisions];
    }),
    changes.slots.map(({ shard, address, stored }) => [shard, address, packSlot(stored)] as const),
    votes,
    removedVisitors,
    visitors,
    outbox,
    parts,
    true,
  ];
  return packr.pack(array, REUSE_BUFFER_MODE | RESERVE_START_SPACE | headerBytes) as RecordBuffer;
};

const unpackKnownSlot = (address: EntityAddress, array: SlotArray): StoredSlot => {
  const stored = unpackSlot(array);
  if (stored === null) throw new Error(`a newer program wrote ${address}; start that one again`);
  return stored;
};

/** Throws on a slot of a form that this program does not know. */
export const unpackChanges = (content: Buffer): Changes => {
  const [nowMs, batches, slots, votes, removedVisitors, visitors, outbox, parts] = packr.unpack(
    content,
  ) as RecordArray;
  return {
    nowMs,
    batches: batches.map(([shard, producer, sequence, version, chainHash, decisions]) => {
      return { shard, producer, sequence, version, chainHash, decisions };
    }),
    slots: slots.map(([shard, address, array]) => ({
      shard,
      address,
      stored: unpackKnownSlot(address, array),
    })),
    votes,
    removedVisitors,
    visitors,
    outbox,
    parts,
  };
};
