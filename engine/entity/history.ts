/**
 * Positions in a shard's history, and its chain hash: one number that identifies the history.
 *
 * A store that lost its tail uses versions a second time, so an equal version proves nothing. Every batch
 * that changes something extends the chain hash by its producer and sequence number, so a node that knows the
 * hash before its own batch can compute the hash after it. `storage/hot/redis/functions/1-slots.lua` has the
 * same arithmetic, and the conformance suite compares the two. Pure.
 *
 * In Lua, too: 1-slots.lua (ARCHITECTURE.md, *Rules in two languages*).
 */

import type { Batch, BatchReply, ShardPosition, ShardVersion } from './items.ts';

/** Whether one position is before the other: by generation, then by version. */
export const isBefore = (one: ShardPosition, other: ShardPosition): boolean =>
  one.generation === other.generation ? one.version < other.version : one.generation < other.generation;

/** A prime below 2^40, so that every step stays exact in a double. */
const modulus = 1_099_511_627_689;

/** Reads the last five characters of a producer's name, where names differ, as a number below 2^35. */
const hashNameEnd = (producer: string): number => {
  let end = 0;
  for (let index = Math.max(0, producer.length - 5); index < producer.length; index++) {
    end = end * 128 + (producer.charCodeAt(index) & 127);
  }
  return end;
};

/** Computes the chain hash after a batch that changed something. */
export const extendChainHash = (
  chainHash: number,
  { producer, sequence }: { producer: string; sequence: number },
): number => (chainHash * 257 + hashNameEnd(producer) + (sequence % 65_536) * 4_294_967_296) % modulus;

/** Whether the store lost its tail: the version is below a known one, or equal with another chain hash. */
export const hasFallenBack = (now: ShardVersion, known: ShardVersion): boolean => {
  if (now.version < known.version || now.generation < known.generation) return true;
  return (
    now.generation === known.generation && now.version === known.version && now.chainHash !== known.chainHash
  );
};

/** Whether this batch is the only write since `known`. */
export const isDirectSuccessor = (reply: BatchReply, known: ShardVersion, batch: Batch): boolean => {
  if (reply.generation !== known.generation) return false;
  if (reply.version === known.version) return reply.chainHash === known.chainHash;
  return reply.version === known.version + 1 && reply.chainHash === extendChainHash(known.chainHash, batch);
};

/** Whether the shard changed since `known`. */
export const hasMoved = (now: ShardVersion, known: ShardVersion): boolean => isBefore(known, now);
