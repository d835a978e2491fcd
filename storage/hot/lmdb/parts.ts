/**
 * The parts of bots in LMDB: one entry for each part, and an index of the bots whose parts must be judged.
 *
 * `engine/entity/parts.ts` decides; this file reads, and plans what a commit changes. Called by commit.ts and
 * store.ts.
 */
import type { PartsEffect } from '../../../engine/entity/parts.ts';
import type { Part } from '../../../engine/entity/state.ts';
import { createDamageError } from '../../../engine/errors.ts';
import {
  computeShard,
  type EntityAddress,
  type EntityRef,
  parseEntityRef,
  type Shard,
  toAddress,
} from '../../../engine/ids.ts';
import type { PartsReply, PartsRequest } from '../../../engine/ports.ts';
import { type PartArray, packPart, unpackPart } from './codec.ts';
import {
  parseIndexedAddress,
  parseListing,
  parsePartKey,
  toDuePartsKey,
  toPartKey,
  toPartsRange,
  toShardRange,
  toVisitorsKey,
} from './keys.ts';
import { getPendingSlots, readStoredSlot } from './pending.ts';
import type { Writer } from './writer.ts';

interface PlannedParts {
  readonly writer: Writer;
  readonly plan: { readonly parts: Map<string, PartArray | null> };
}
interface KeyRange {
  readonly start: string;
  readonly end: string;
}

const isInRange = (key: string, { start, end }: KeyRange): boolean => key >= start && key < end;

/** Lists the keys in a range of one listing's parts, in the tables and pending. */
const listStoredKeys = ({ tables, pending }: Writer, range: KeyRange, listing: string): Set<string> => {
  const keys = new Set(tables.parts.getKeys(range));
  for (const key of pending.parts.get(listing)?.keys() ?? []) if (isInRange(key, range)) keys.add(key);
  return keys;
};

/** Reads a stored part; `null` when there is none, or it is damaged. */
const readPartArray = ({ tables, pending }: Writer, key: string, listing: string): PartArray | null => {
  const array = pending.parts.get(listing)?.get(key);
  return (array === undefined ? tables.parts.get(key) : array) ?? null;
};

/** Lists the keys in a range of one listing's parts, as the call sees them. */
const listKeys = ({ writer, plan }: PlannedParts, range: KeyRange, listing: string): Set<string> => {
  const keys = listStoredKeys(writer, range, listing);
  for (const key of plan.parts.keys()) if (isInRange(key, range)) keys.add(key);
  return keys;
};

const getPart = ({ writer, plan }: PlannedParts, key: string): Part | null => {
  const planned = plan.parts.get(key);
  const array = planned === undefined ? readPartArray(writer, key, parseListing(key)) : planned;
  return array === null ? null : unpackPart(array);
};

/** Reads one part as the call sees it. */
export const readPart = (
  planned: PlannedParts,
  target: EntityRef,
  { shardCount, id }: { readonly shardCount: number; readonly id: number },
): Part | null => getPart(planned, toPartKey(toListing(target), shardCount, id));

/** Reads all parts of one table as the call sees them. */
export const readTable = (
  planned: PlannedParts,
  target: EntityRef,
  shardCount: number,
): ReadonlyMap<number, Part> => {
  const parts = new Map<number, Part>();
  const listing = toListing(target);
  for (const key of listKeys(planned, toPartsRange(listing, shardCount), listing)) {
    const part = getPart(planned, key);
    if (part !== null) parts.set(parsePartKey(key), part);
  }
  return parts;
};

const toListing = ({ shard, address, incarnation }: EntityRef): string =>
  toVisitorsKey(shard, address, incarnation);

export const planPartsEffect = (planned: PlannedParts, listing: string, effect: PartsEffect): void => {
  if (effect.kind === 'drop_parts') dropRange(planned, toPartsRange(listing, effect.shardCount), listing);
  else {
    const { shardCount, id, part } = effect;
    planned.plan.parts.set(toPartKey(listing, shardCount, id), part === null ? null : packPart(part));
  }
};

/** Removes all parts of a deleted listing. */
export const dropListing = (planned: PlannedParts, listing: string): void =>
  dropRange(planned, toPartsRange(listing), listing);

const dropRange = (planned: PlannedParts, range: KeyRange, listing: string): void => {
  for (const key of listKeys(planned, range, listing)) planned.plan.parts.set(key, null);
};

/** Reads a bot's state and a page of its current table. */
export const readParts = (writer: Writer, { id, fromId, limit }: PartsRequest): PartsReply | null => {
  const address = toAddress('bot', id);
  const shard = computeShard(address);
  const stored = readStoredSlot(writer, shard, address);
  if (stored === 'damaged') throw createDamageError('parts', address);
  const slot = stored?.slot;
  if (!slot?.state) return null;
  const { state, incarnation } = slot;
  const parts = new Map<number, Part>();
  const shardCount = state.parts?.current?.shardCount;
  if (shardCount === undefined) return { state, parts };
  const listing = toVisitorsKey(shard, address, incarnation);
  const start = toPartKey(listing, shardCount, fromId);
  const end = toPartKey(listing, shardCount, fromId + limit);
  for (const key of [...listStoredKeys(writer, { start, end }, listing)].sort()) {
    // A damaged part comes back with its next post.
    const array = readPartArray(writer, key, listing);
    if (array !== null) parts.set(parsePartKey(key), unpackPart(array));
  }
  return { state, parts };
};

/** Lists the addresses that are due: those pending, then those in LMDB's index. */
function* listDueAddresses(writer: Writer, shard: Shard, nowMs: number): Generator<EntityAddress> {
  const pending = getPendingSlots(writer, shard);
  for (const [address, { stored }] of pending) {
    if ((stored.slot.state?.parts?.dueMs ?? Number.POSITIVE_INFINITY) <= nowMs) yield address;
  }
  const range = { start: toShardRange(shard).start, end: toDuePartsKey(shard, nowMs + 1, '') };
  for (const key of writer.tables.dueParts.getKeys(range)) {
    const address = parseIndexedAddress(key);
    if (!pending.has(address)) yield address;
  }
}

/** Lists the bots whose parts are due. */
export const listDueParts = (
  writer: Writer,
  { shards, limit, nowMs }: { readonly shards: readonly Shard[]; readonly limit: number; nowMs: number },
): readonly EntityRef[] => {
  const due: EntityRef[] = [];
  for (const shard of shards) {
    for (const address of listDueAddresses(writer, shard, nowMs)) {
      if (due.length >= limit) return due;
      const stored = readStoredSlot(writer, shard, address);
      if (stored === null || stored === 'damaged') continue;
      const { state, incarnation } = stored.slot;
      if (state?.parts !== undefined) due.push(parseEntityRef(address, incarnation, shard));
    }
  }
  return due;
};
