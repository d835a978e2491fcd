/**
 * Reads the sums of a bot's parts, which a slot in Redis holds as one text of doubles.
 *
 * Owns the order of the numbers, which must match the head in `functions/3-parts.lua`. Called by slots.ts.
 */
import type { PartsState, PartsTable } from '../../../engine/entity/state.ts';

const doubleBytes = 8;
/** Where the two tables begin in a head, and their numbers. */
const currentAt = 2;
const buildingAt = 11;
const tableNumbers = 9;

const readTable = (head: Buffer, first: number): PartsTable | null => {
  const [shardCount = 0, sinceMs = 0, seen = 0, servers = 0, users = 0, ...live] = Array.from(
    { length: tableNumbers },
    (_, index) => head.readDoubleLE((first + index) * doubleBytes),
  );
  return shardCount === 0 ? null : { shardCount, sinceMs, seen, servers, users, live };
};

/** Reads the head of a bot's parts. */
export const readPartsState = (head: Buffer): PartsState => ({
  current: readTable(head, currentAt),
  building: readTable(head, buildingAt),
  replaced: head.readDoubleLE(doubleBytes),
  dueMs: head.readDoubleLE(0),
});
