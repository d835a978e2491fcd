/**
 * Reads what disk-shim.c recorded: each change of a folder, in order, with the time at which it was done.
 */
import { closeSync, openSync, readSync } from 'node:fs';

export type EntryKind =
  | 'write'
  | 'truncate'
  | 'sync'
  | 'file'
  | 'folder'
  | 'rename'
  | 'link'
  | 'remove'
  | 'map';

export interface Entry {
  /** Its number in the record, from 0. */
  readonly index: number;
  readonly kind: EntryKind;
  readonly path: string;
  /** The second path of `rename` and `link`. */
  readonly other: string;
  /** Of a write: it is synced by itself (O_DSYNC). */
  readonly durable: boolean;
  /** On the clock of `nowMs`. */
  readonly doneMs: number;
  /** The inode of the file. */
  readonly file: number;
  /** Position of a write, length after a truncation, number of entries when a sync began. */
  readonly at: number;
  readonly data: Buffer;
}

const kinds: Readonly<Record<string, EntryKind>> = {
  w: 'write',
  t: 'truncate',
  s: 'sync',
  c: 'file',
  d: 'folder',
  r: 'rename',
  l: 'link',
  u: 'remove',
  m: 'map',
};
const headBytes = 48;

/** The monotonic clock of the record, and `nowMs`, differ by so much. */
const clocksApartMs = performance.timeOrigin + performance.now() - Number(process.hrtime.bigint()) / 1e6;

/** All entries in order; each is read when it is needed. */
export function* readRecord(path: string): Generator<Entry> {
  const file = openSync(path, 'r');
  const head = Buffer.alloc(headBytes);
  try {
    for (let index = 0, position = 0; readSync(file, head, 0, headBytes, position) === headBytes; index++) {
      const [pathBytes, otherBytes] = [head.readUInt32LE(4), head.readUInt32LE(8)];
      const bytes = pathBytes + otherBytes + Number(head.readBigUInt64LE(40));
      const rest = Buffer.alloc(bytes);
      readSync(file, rest, 0, bytes, position + headBytes);
      position += headBytes + bytes;
      yield {
        index,
        kind: kinds[String.fromCharCode(head.readUInt32LE(0))] ?? 'map',
        path: rest.toString('utf8', 0, pathBytes),
        other: rest.toString('utf8', pathBytes, pathBytes + otherBytes),
        durable: head.readUInt32LE(12) !== 0,
        doneMs: Number(head.readBigUInt64LE(16)) / 1e6 + clocksApartMs,
        file: Number(head.readBigUInt64LE(24)),
        at: Number(head.readBigInt64LE(32)),
        data: rest.subarray(pathBytes + otherBytes),
      };
    }
  } finally {
    closeSync(file);
  }
}
