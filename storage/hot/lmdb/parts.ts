/**
 * The parts of bots in LMDB: one entry for each part, and an index of the bots whose parts must be judged.
 *
 * `engine/entity/parts.ts` decides; this file reads and plans what commit.ts puts. Called by commit.ts and
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
import { parsePartKey, toDuePartsKey, toPartKey, toPartsRange, toShardRange, toVisitorsKey } from './keys.ts';
import type { Tables } from './tables.ts';
import { readStoredSlot, type Writer } from './writer.ts';

interface PlannedParts {
  readonly tables: Tables;
  readonly plan: { readonly parts: Map<string, PartArray | null> };
}

/** The keys in a range, on disk and planned. */
const listKeys = ({ tables, plan }: PlannedParts, range: { start: string; end: string }): Set<string> => {
  const keys = new Set(tables.parts.getKeys(range));
  for (const key of plan.parts.keys()) if (key >= range.start && key < range.end) keys.add(key);
  return keys;
};

const getPart = ({ tables, plan }: PlannedParts, key: string): Part | null => {
  const planned = plan.parts.get(key);
  const array = planned === undefined ? tables.parts.get(key) : planned;
  return array == null ? null : unpackPart(array);
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
  for (const key of listKeys(planned, toPartsRange(toListing(target), shardCount))) {
    const part = getPart(planned, key);
    if (part !== null) parts.set(parsePartKey(key), part);
  }
  return parts;
};

const toListing = ({ shard, address, incarnation }: EntityRef): string =>
  toVisitorsKey(shard, address, incarnation);

export const planPartsEffect = (planned: PlannedParts, listing: string, effect: PartsEffect): void => {
  if (effect.kind === 'drop_parts') dropRange(planned, toPartsRange(listing, effect.shardCount));
  else {
    const { shardCount, id, part } = effect;
    planned.plan.parts.set(toPartKey(listing, shardCount, id), part === null ? null : packPart(part));
  }
};

/** Removes all parts of a deleted listing. */
export const dropListing = (planned: PlannedParts, listing: string): void =>
  dropRange(planned, toPartsRange(listing));

const dropRange = (planned: PlannedParts, range: { start: string; end: string }): void => {
  for (const key of listKeys(planned, range)) planned.plan.parts.set(key, null);
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
  const { end } = toPartsRange(listing, shardCount);
  for (const { key, value } of writer.tables.parts.getRange({ start, end })) {
    const partId = parsePartKey(key);
    if (partId >= fromId + limit) break;
    // A damaged part comes back with its next post.
    if (value !== null) parts.set(partId, unpackPart(value));
  }
  return { state, parts };
};

/** The bots whose parts are due, by the index. */
export const listDueParts = (
  writer: Writer,
  { shards, limit, nowMs }: { readonly shards: readonly Shard[]; readonly limit: number; nowMs: number },
): readonly EntityRef[] => {
  const due: EntityRef[] = [];
  for (const shard of shards) {
    const { start } = toShardRange(shard);
    const range = { start, end: toDuePartsKey(shard, nowMs + 1, ''), limit: limit - due.length };
    if (range.limit <= 0) break;
    for (const key of writer.tables.dueParts.getKeys(range)) {
      const address = key.slice(key.lastIndexOf(' ') + 1) as EntityAddress;
      const stored = readStoredSlot(writer, shard, address);
      if (stored === null || stored === 'damaged') continue;
      const { state, incarnation } = stored.slot;
      if (state?.parts !== undefined) due.push(parseEntityRef(address, incarnation));
    }
  }
  return due;
};
