/**
 * Positions in a shard's history, and its mark: one number that two different pasts do not share.
 *
 * A store that lost its tail gives versions a second time, so an equal version proves nothing. Every batch
 * that changes something is chained into the mark by its producer and sequence number; a node that knew the
 * mark before its own batch knows what it must be afterwards. The same arithmetic is in
 * `storage/hot/redis/functions/1-slots.lua`, and the conformance suite holds the two together. Pure.
 */

import type { Batch, BatchReply, ShardPosition, ShardVersion } from './items.ts';

/** By generation, then by version. */
export const isBefore = (one: ShardPosition, other: ShardPosition): boolean =>
  one.generation === other.generation ? one.version < other.version : one.generation < other.generation;

/** A prime below 2^40, so that every step stays exact in a double. */
const modulus = 1_099_511_627_689;

/** The end of a producer's name, where names differ, as a number below 2^35. */
const hashNameEnd = (producer: string): number => {
  let end = 0;
  for (let index = Math.max(0, producer.length - 5); index < producer.length; index++) {
    end = end * 128 + (producer.charCodeAt(index) & 127);
  }
  return end;
};

/** The mark after a batch that changed something. */
export const extendChainHash = (
  mark: number,
  { producer, sequence }: { readonly producer: string; readonly sequence: number },
): number => (mark * 257 + hashNameEnd(producer) + (sequence % 65_536) * 4_294_967_296) % modulus;

/** The store lost its tail: its version is below one that was seen, or equal with another mark. */
export const hasFallenBack = (now: ShardVersion, known: ShardVersion): boolean => {
  if (now.version < known.version || now.generation < known.generation) return true;
  return (
    now.generation === known.generation && now.version === known.version && now.chainHash !== known.chainHash
  );
};

/** Nothing but this batch was written since `known`. */
export const isDirectSuccessor = (reply: BatchReply, known: ShardVersion, batch: Batch): boolean => {
  if (reply.generation !== known.generation) return false;
  if (reply.version === known.version) return reply.chainHash === known.chainHash;
  return reply.version === known.version + 1 && reply.chainHash === extendChainHash(known.chainHash, batch);
};

/** Others wrote to the shard since `known`. */
export const hasMoved = (now: ShardVersion, known: ShardVersion): boolean => isBefore(known, now);
