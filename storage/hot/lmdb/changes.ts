/**
 * What one commit changes, and its form in the journal.
 *
 * Only values, no indexes: those follow from the slots. Each value replaces the one before, so applying
 * records again, in order, gives the same store. The order of the parts is that of later versions, too: new
 * ones go before the end mark, with a default on reading. No I/O.
 */
import { Packr, RESERVE_START_SPACE, REUSE_BUFFER_MODE } from 'msgpackr';
import type { EntityAddress, Shard } from '../../../engine/ids.ts';
import {
  type DecisionsArray,
  type OutboxArray,
  type PartArray,
  packSlot,
  type SlotArray,
  type StoredSlot,
  unpackSlot,
} from './codec.ts';
import { headerBytes, type RecordBuffer } from './journal-records.ts';
import type { VotesArray } from './tables.ts';

/** A batch, and where its shard is after it. */
export interface AppliedBatch {
  readonly shard: Shard;
  readonly producer: string;
  readonly sequence: number;
  readonly version: number;
  readonly chainHash: number;
  readonly decisions: DecisionsArray;
}

export interface Changes {
  readonly nowMs: number;
  readonly batches: readonly AppliedBatch[];
  readonly slots: readonly { readonly shard: Shard; readonly address: EntityAddress; stored: StoredSlot }[];
  readonly votes: readonly (readonly [key: string, array: VotesArray])[];
  /** Keys of the visitors of deleted listings; removed before others are added. */
  readonly removedVisitors: readonly string[];
  readonly visitors: readonly (readonly [listing: string, visitors: readonly string[]])[];
  readonly outbox: readonly (readonly [key: string, array: OutboxArray])[];
  /** `null` removes a part. */
  readonly parts: readonly (readonly [key: string, array: PartArray | null])[];
}

type BatchArray = readonly [Shard, string, number, number, number, DecisionsArray];
type RecordArray = readonly [
  number,
  readonly BatchArray[],
  readonly (readonly [Shard, EntityAddress, SlotArray])[],
  Changes['votes'],
  Changes['removedVisitors'],
  Changes['visitors'],
  Changes['outbox'],
  Changes['parts'],
  /** No single changed bit makes it zero, as bytes are that were never written. */
  endMark: true,
];

const packr = new Packr({ useRecords: false });

/** Packs behind room for a record's header. The buffer is used again by the next call. */
export const packChanges = (changes: Changes): RecordBuffer => {
  const { nowMs, votes, removedVisitors, visitors, outbox, parts } = changes;
  const array: RecordArray = [
    nowMs,
    changes.batches.map(({ shard, producer, sequence, version, chainHash, decisions }): BatchArray => {
      return [shard, producer, sequence, version, chainHash, decisions];
    }),
    changes.slots.map(({ shard, address, stored }) => [shard, address, packSlot(stored)] as const),
    votes,
    removedVisitors,
    visitors,
    outbox,
    parts,
    true,
  ];
  return packr.pack(array, REUSE_BUFFER_MODE | RESERVE_START_SPACE | headerBytes) as RecordBuffer;
};

const unpackKnownSlot = (address: EntityAddress, array: SlotArray): StoredSlot => {
  const stored = unpackSlot(array);
  if (stored === null) throw new Error(`a later version wrote ${address}; start that version again`);
  return stored;
};

/** Throws on a slot of a form that this program does not know. */
export const unpackChanges = (content: Buffer): Changes => {
  const [nowMs, batches, slots, votes, removedVisitors, visitors, outbox, parts] = packr.unpack(
    content,
  ) as RecordArray;
  return {
    nowMs,
    batches: batches.map(([shard, producer, sequence, version, chainHash, decisions]) => {
      return { shard, producer, sequence, version, chainHash, decisions };
    }),
    slots: slots.map(([shard, address, array]) => ({
      shard,
      address,
      stored: unpackKnownSlot(address, array),
    })),
    votes,
    removedVisitors,
    visitors,
    outbox,
    parts,
  };
};
