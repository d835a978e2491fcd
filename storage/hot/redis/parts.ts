/**
 * Reads the parts of bots in Redis: one bot's parts, and the bots whose parts are due.
 *
 * Owns the order of the fields, which must match `functions/3-parts.lua`.
 */

import { type Part, type PresenceStatus, presenceStatuses } from '../../../engine/entity/state.ts';
import { createDamageError } from '../../../engine/errors.ts';
import {
  computeShard,
  type EntityAddress,
  type EntityRef,
  type Incarnation,
  parseEntityRef,
  type Shard,
  toAddress,
} from '../../../engine/ids.ts';
import type { PartsReply, PartsRequest } from '../../../engine/ports.ts';
import type { Link } from './link.ts';
import { takeSlot } from './slots.ts';
import { toTag, toTags } from './tags.ts';
import { type ByteCursor, createCursor, skip, takeArray, takeBytes, takeNumber, takeText } from './unpack.ts';

const doubleBytes = 8;
/** Reads one packed part. */
export const readPart = (bytes: Buffer): Part => ({
  atMs: bytes.readDoubleLE(0),
  servers: bytes.readDoubleLE(doubleBytes),
  users: bytes.readDoubleLE(2 * doubleBytes),
  status: presenceStatuses[bytes[3 * doubleBytes] as number] as PresenceStatus,
  live: bytes[3 * doubleBytes + 1] === 1,
  cluster: bytes.toString('latin1', 3 * doubleBytes + 2),
});

const nil = 0xc0;
const takeNil = (cursor: ByteCursor): boolean => {
  if (cursor.bytes[cursor.at] !== nil) return false;
  skip(cursor, 1);
  return true;
};

/** Reads a bot's state and a page of its current table. */
export const readParts = async (
  link: Link,
  { id, fromId, limit }: PartsRequest,
): Promise<PartsReply | null> => {
  const address = toAddress('bot', id);
  const tag = toTag(computeShard(address));
  const cursor = createCursor(await link.call('parts', [tag], [tag, address, fromId, limit]));
  const slot = takeSlot(cursor);
  if (slot === 'damaged') throw createDamageError('parts', address);
  if (!slot?.state) return null;
  const parts = new Map<number, Part>();
  for (let partId = fromId; cursor.at < cursor.bytes.length; partId++)
    if (!takeNil(cursor)) parts.set(partId, readPart(takeBytes(cursor)));
  return { state: slot.state, parts };
};

/** Reads an array of addresses, each before its incarnation. */
export const takeRefs = (cursor: ByteCursor): EntityRef[] => {
  const refs: EntityRef[] = [];
  for (let left = takeArray(cursor); left > 0; left -= 2) {
    const address = takeText(cursor) as EntityAddress;
    refs.push(parseEntityRef(address, takeNumber(cursor) as Incarnation, computeShard(address)));
  }
  return refs;
};

/** Lists bots whose parts are due; on a Cluster up to `limit` of each shard. */
export const listDueParts = async (
  link: Link,
  { shards, limit, now }: { shards: readonly Shard[]; limit: number; now: string },
): Promise<readonly EntityRef[]> => {
  const groups = await Promise.all(
    link.groupShards(shards).map(async (group) => {
      const tags = toTags(group);
      return takeRefs(createCursor(await link.call('due', tags, [now, limit, ...tags])));
    }),
  );
  return groups.flat().slice(0, limit);
};
