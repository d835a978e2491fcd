/**
 * The form of records in the journal: a header with length, number and two checksums, then the content.
 *
 * A crash can tear the newest record only: the append before it was synced first. So a record that does
 * not fit its checksums is damage, except when no other follows and a part of it was never written: its
 * last bytes are missing, or a sector of it reads as zeros. Both checksums start from the seed of the store,
 * so the records of another store do not pass. Pure.
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

/** Whether the header of record `number` is somewhere behind `from`: then all before it was synced. */
const hasHeader = (file: Buffer, number: number, { from, seed }: { from: number; seed: number }): boolean => {
  const pattern = Buffer.alloc(6);
  pattern.writeUIntLE(number, 0, 6);
  for (let at = file.indexOf(pattern, from); at !== -1; at = file.indexOf(pattern, at + 1)) {
    const header = file.subarray(at - 4, at - 4 + headerBytes);
    if (header.length === headerBytes && isIntactHeader(header, seed)) return true;
  }
  return false;
};

/** Whether all bytes of a sector from `from` on are zeros. */
const hasUnwrittenSector = (file: Buffer, from: number): boolean => {
  for (let start = from; start < file.length; ) {
    const end = (Math.floor(start / sectorBytes) + 1) * sectorBytes;
    if (file.subarray(start, end).every((byte) => byte === 0)) return true;
    start = end;
  }
  return false;
};

const isIntactHeader = (header: Buffer, seed: number): boolean =>
  header.readUInt32LE(headerCrcAt) === crc32(header.subarray(0, headerCrcAt), seed);

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
    if (header.length < headerBytes) return stop('torn');
    const isIntact = isIntactHeader(header, seed);
    const end = isIntact ? bytes + headerBytes + header.readUInt32LE(0) : file.length;
    if (end > file.length) return stop('torn');
    const content = file.subarray(bytes + headerBytes, end);
    const isWhole =
      isIntact && crc32(content, seed) === header.readUInt32LE(10) && header.readUIntLE(4, 6) === next;
    if (!isWhole) {
      const isNewest = !hasHeader(file, next + 1, { from: bytes + headerBytes, seed });
      return stop(isNewest && hasUnwrittenSector(file, bytes) ? 'torn' : 'damaged');
    }
    each(next, content);
    bytes = end;
    next++;
  }
  return stop('whole');
};
