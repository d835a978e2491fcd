/**
 * The keys of the embedded hot store.
 *
 * Owns how shard, address, incarnation, version and time stand in a key. Parts are joined by a blank, which
 * sorts below every character of an encoded id, so the keys of one shard or listing are one range. The layout
 * is read by all later versions: change it only together with the format number in `tables.ts`.
 */
import assert from 'node:assert/strict';
import type { EntityAddress, Incarnation, Shard } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';

/** The engine's ids are far shorter; LMDB itself ends at 1,978 bytes. */
const keyCharactersMax = 1_024;

const checked = (key: string): string => {
  assert(key.length <= keyCharactersMax, `a key of ${key.length} characters`);
  return key;
};

/** Nearly all ids encode to themselves, and a test is several times cheaper than encoding. */
const plain = /^[A-Za-z0-9_.-]*$/;
const encoded = (part: string): string => (plain.test(part) ? part : encodeURIComponent(part));
const decoded = (part: string): string => (part.includes('%') ? decodeURIComponent(part) : part);

export const shardKey = (shard: Shard): string => `s${shard}`;
/** All keys of a shard lie in [start, end). */
export const shardRange = (shard: Shard): { start: string; end: string } => ({
  start: `s${shard} `,
  end: `s${shard}!`,
});

export const slotKey = (shard: Shard, address: EntityAddress): string => checked(`s${shard} ${address}`);

/** The place of a slot in the dirty index. Versions are padded, so that those dirty longest come first. */
export const dirtyKeyOf = (slot: string, since: number): string => {
  const blank = slot.indexOf(' ');
  return `${slot.slice(0, blank)} ${since.toString(36).padStart(11, '0')}${slot.slice(blank)}`;
};
export const addressOfDirtyKey = (key: string): EntityAddress =>
  key.slice(key.lastIndexOf(' ') + 1) as EntityAddress;

export const producerKey = (shard: Shard, producer: string): string =>
  checked(`s${shard} ${encoded(producer)}`);
export const parseProducerKey = (key: string): { shard: Shard; producer: string } => {
  const blank = key.indexOf(' ');
  return { shard: Number(key.slice(1, blank)) as Shard, producer: decoded(key.slice(blank + 1)) };
};

export const outboxKey = (shard: Shard, itag: string): string => checked(`s${shard} ${encoded(itag)}`);
export const itagOfOutboxKey = (key: string): string => decoded(key.slice(key.indexOf(' ') + 1));

/** One listing's visitors: one key, all visitors as its values. */
export const visitorsKey = (shard: Shard, address: EntityAddress, incarnation: Incarnation): string =>
  checked(`s${shard} ${address} ${incarnation}`);

export const bucketOf = (atMs: number): number => Math.max(0, Math.floor(atMs / limits.voteBucketMs));
/** The bucket comes first, so that the expired ones are one range. */
export const bucketKey = (bucket: number): string => bucket.toString(36).padStart(8, '0');

/** Who voted on what: everything of a last vote's key but its bucket. */
export const voterKey = (visitors: string, user: string): string => checked(`${visitors} ${encoded(user)}`);
