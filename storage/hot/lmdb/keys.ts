/**
 * Builds and parses the keys of the embedded hot store.
 *
 * Owns the position of shard, address, incarnation, version and time in a key. A blank joins the parts; it
 * sorts below every character of an encoded id, so the keys of one shard or listing form one range. All later
 * versions read this layout: change it only together with the format number in `tables.ts`.
 *
 * Invariants: every id that a request may contain has a key, since callers share a batch, and a key that
 * throws would fail all of them. Every key is ASCII without control characters.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { EntityAddress, Incarnation, Shard } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';

/**
 * LMDB's own limit is 1,978 bytes; an index puts up to 20 in front of a key. An address has at most 1,538:
 * 128 characters of four bytes, each encoded as three.
 */
const keyCharactersMax = 1_950;

const checkKey = (key: string): string => {
  assert(
    key.length <= keyCharactersMax,
    `a key has ${key.length} characters; at most ${keyCharactersMax} are allowed`,
  );
  return key;
};

/** Nearly all ids encode to themselves, and this test is several times faster than encoding. */
const plain = /^[A-Za-z0-9_.-]*$/;
const encodePart = (part: string): string => (plain.test(part) ? part : encodeURIComponent(part));
const decodePart = (part: string): string => (part.includes('%') ? decodeURIComponent(part) : part);

export const toShardKey = (shard: Shard): string => `s${shard}`;
/** Builds the range of a shard's keys: from `start` to before `end`. */
export const toShardRange = (shard: Shard): { start: string; end: string } => ({
  start: `s${shard} `,
  end: `s${shard}!`,
});

export const parseShard = (key: string): Shard => Number(key.slice(1, key.indexOf(' '))) as Shard;

export const toSlotKey = (shard: Shard, address: EntityAddress): string => checkKey(`s${shard} ${address}`);

/** Builds the key of a slot in the dirty index. Versions are padded: slots dirty for longest come first. */
export const toDirtyKey = (slot: string, since: number): string => {
  const blank = slot.indexOf(' ');
  return `${slot.slice(0, blank)} ${since.toString(36).padStart(11, '0')}${slot.slice(blank)}`;
};
/** Reads the address from a key of an index: dirty slots, due parts. */
export const parseIndexedAddress = (key: string): EntityAddress =>
  key.slice(key.lastIndexOf(' ') + 1) as EntityAddress;

export const toProducerKey = (shard: Shard, producer: string): string =>
  checkKey(`s${shard} ${encodePart(producer)}`);
export const parseProducerKey = (key: string): { shard: Shard; producer: string } => {
  return { shard: parseShard(key), producer: decodePart(key.slice(key.indexOf(' ') + 1)) };
};

export const toOutboxKey = (shard: Shard, itag: string): string => checkKey(`s${shard} ${encodePart(itag)}`);
export const parseOutboxKey = (key: string): string => decodePart(key.slice(key.indexOf(' ') + 1));

/** Builds the key of one listing's visitors; each visitor is a value of that key. */
export const toVisitorsKey = (shard: Shard, address: EntityAddress, incarnation: Incarnation): string =>
  checkKey(`s${shard} ${address} ${incarnation}`);

export const toBucket = (atMs: number): number => Math.max(0, Math.floor(atMs / limits.voteBucketMs));
/** Builds the first part of a vote's key, so that expired buckets form one range. */
export const toBucketKey = (bucket: number): string => bucket.toString(36).padStart(8, '0');
export const parseBucket = (key: string): number => Number.parseInt(key.slice(0, 8), 36);

/** Builds the key of a bot's part. Those of a table, and of a listing, form one range (`toPartsRange`). */
export const toPartKey = (listing: string, shardCount: number, id: number): string =>
  checkKey(`${listing} ${shardCount} ${id.toString(36).padStart(3, '0')}`);
export const parsePartKey = (key: string): number => Number.parseInt(key.slice(key.lastIndexOf(' ') + 1), 36);
/** Reads the listing from the key of one of its parts. */
export const parseListing = (key: string): string =>
  key.slice(0, key.lastIndexOf(' ', key.lastIndexOf(' ') - 1));
/** Builds the range of one table's keys, or of all tables of a listing. */
export const toPartsRange = (listing: string, shardCount?: number): { start: string; end: string } => {
  const table = shardCount === undefined ? listing : `${listing} ${shardCount}`;
  return { start: `${table} `, end: `${table}!` };
};

/** Builds the key of a bot in the index of due parts, earliest first. Without an address: a bound. */
export const toDuePartsKey = (shard: Shard, dueMs: number, address: EntityAddress | ''): string =>
  `s${shard} ${dueMs.toString(36).padStart(11, '0')} ${address}`;
export const parseDueMs = (key: string): number => Number.parseInt(key.split(' ')[1] ?? '', 36);

/**
 * Joins voter and listing to the key of a last vote without its bucket. Where both ids are too long for one
 * key, a digest names the voter; no encoded id begins with its `#`.
 */
export const toVoterKey = (visitors: string, user: string): string => {
  const key = `${visitors} ${encodePart(user)}`;
  return key.length <= keyCharactersMax ? key : checkKey(`${visitors} #${hash('sha256', user, 'hex')}`);
};

/**
 * Reads the voter in what follows the listing in such a key. Throws on a digest: only votes of the last day
 * have one, and only where both ids are very long.
 */
export const parseVoterKey = (part: string): string => {
  if (part.startsWith('#'))
    throw new Error('A last vote names its voter by a digest: wait a day, then move.');
  return decodePart(part);
};

/** Follow each key, as in lmdb's own encoding: its comparison reads words of four bytes. */
const zeros = '\0\0\0\0';
const { latin1Write, latin1Slice } = Buffer.prototype as unknown as {
  latin1Write(this: Buffer, text: string, position: number): number;
  latin1Slice(this: Buffer, start: number, end: number): string;
};

/**
 * What lmdb calls a key encoder. It writes the bytes that lmdb's own writes, so folders of either are the
 * same. That one puts one byte at a time into buffers of several hidden classes; for V8 each such byte is a
 * call of its runtime, which under votes took a tenth of the event loop's CPU.
 */
export const keyEncoder = {
  /**
   * Writes a key, or the bytes with which lmdb begins a range, and returns its end. lmdb takes a larger
   * buffer after a `RangeError`.
   */
  writeKey: (key: string | Uint8Array, target: Buffer, position: number): number => {
    const text = typeof key === 'string' ? key : String.fromCharCode(...key);
    const written = latin1Write.call(target, `${text}${zeros}`, position);
    if (written < text.length + zeros.length) throw new RangeError('The key does not fit in the buffer.');
    return position + text.length;
  },
  readKey: (source: Buffer, start: number, end: number): string => latin1Slice.call(source, start, end),
  /** lmdb then compares by words, which needs the zeros. */
  enableNullTermination: (): void => {},
};
