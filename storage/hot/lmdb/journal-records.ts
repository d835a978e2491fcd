/**
 * The form of records in the journal: a header with length, number and two checksums, then the content.
 *
 * A crash can cut off the newest record only: the append before it was synced first. So a record that does
 * not fit its checksums is damage, except at the end of the newest file where its last bytes are missing, or
 * were never written and read as zeros. Both checksums start from the seed of the store, so the records of
 * another store do not pass. Pure. Called by journal.ts.
 */
import { crc32 } from 'node:zlib';

/** 0 length of the content, 4 number, 10 checksum of the content, 14 checksum of these. */
export const headerBytes = 18;
const headerCrcAt = 14;
/** What a disk writes as a whole. */
const sectorBytes = 512;

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

const isUnwritten = (file: Buffer): boolean => {
  const sector = Math.floor((file.length - 1) / sectorBytes) * sectorBytes;
  return file.subarray(sector).every((byte) => byte === 0);
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
    if (file.length - bytes < headerBytes) return stop('torn');
    const header = file.subarray(bytes, bytes + headerBytes);
    const isIntact = header.readUInt32LE(headerCrcAt) === crc32(header.subarray(0, headerCrcAt), seed);
    if (!isIntact) return stop(isUnwritten(file) ? 'torn' : 'damaged');
    const end = bytes + headerBytes + header.readUInt32LE(0);
    if (end > file.length) return stop('torn');
    const content = file.subarray(bytes + headerBytes, end);
    const isWhole = crc32(content, seed) === header.readUInt32LE(10) && header.readUIntLE(4, 6) === next;
    if (!isWhole) return stop(end === file.length && isUnwritten(file) ? 'torn' : 'damaged');
    each(next, content);
    bytes = end;
    next++;
  }
  return stop('whole');
};
