/**
 * Reads the sums of a bot's parts, which a slot in Redis holds as one text of doubles.
 *
 * Owns the order of the numbers, which must match the head in `functions/3-parts.lua`.
 */
import type { PartsState, PartsTable } from '../../../engine/entity/state.ts';

const doubleBytes = 8;
/** Where the two tables begin in a head. */
const currentAt = 2;
const buildingAt = 11;

const readTable = (head: Buffer, first: number): PartsTable | null => {
  const read = (index: number): number => head.readDoubleLE((first + index) * doubleBytes);
  const shardCount = read(0);
  if (shardCount === 0) return null;
  const live = [read(5), read(6), read(7), read(8)];
  return { shardCount, sinceMs: read(1), seen: read(2), servers: read(3), users: read(4), live };
};

/** Reads the head of a bot's parts. */
export const readPartsState = (head: Buffer): PartsState => ({
  current: readTable(head, currentAt),
  building: readTable(head, buildingAt),
  replaced: head.readDoubleLE(doubleBytes),
  dueMs: head.readDoubleLE(0),
});
