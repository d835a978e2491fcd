/**
 * What a hot store holds of its listings, in a form that both kinds of hot stores read and write.
 *
 * Only what no other place has: states, last votes, visitors and parts. A moved store is at rest and flushed,
 * so it has no dirty entities, no outbox and no producers. Types only.
 */
import type { ShardVersion } from '../../engine/entity/items.ts';
import type { HotState, Part } from '../../engine/entity/state.ts';
import type { LastVote } from '../../engine/entity/votes.ts';
import type { EntityAddress, Incarnation, Shard } from '../../engine/ids.ts';

export type HotRecord = { readonly address: EntityAddress; readonly incarnation: Incarnation } & (
  | { readonly kind: 'state'; readonly state: HotState | null }
  /** One voter's votes of one bucket. */
  | { readonly kind: 'votes'; readonly user: string; readonly votes: readonly LastVote[] }
  | { readonly kind: 'visitors'; readonly visitors: readonly string[] }
  | { readonly kind: 'part'; readonly shardCount: number; readonly id: number; readonly part: Part }
);

export type NumberedShardVersion = ShardVersion & { readonly shard: Shard };

export interface HotTransfer {
  /** Whether the store has no records and no heads. */
  isEmpty(): Promise<boolean>;
  /** Whether a node of a fleet uses the store now. */
  hasNodes(): Promise<boolean>;
  /** Removes everything. Only for a store that is being filled. */
  removeAll(): Promise<void>;
  /** Counts the entries that `readRecords` reads; on Redis an entry is a key. */
  countEntries(): Promise<number>;
  /**
   * Reads all records in chunks, whatever number of shards the store has; `onEntries` gets the number of
   * entries of each chunk. Nothing may write meanwhile.
   */
  readRecords(onEntries: (count: number) => void): AsyncIterable<readonly HotRecord[]>;
  /** Writes records under this process's number of shards. *Hot* when it resolves. */
  writeRecords(records: readonly HotRecord[]): Promise<void>;
  /**
   * Finds the newest time by the store's clock: of the last batch of each producer, and of the last votes
   * where they are in the order of time. 0 for none.
   */
  findNewestMs(): Promise<number>;
  /** Removes producers, last votes and what else is kept by its time if that lies after `nowMs`. */
  removeAhead(nowMs: number): Promise<void>;
  /** Writes the positions of shards. *Hot* when it resolves. */
  writeHeads(heads: readonly NumberedShardVersion[]): Promise<void>;
}
