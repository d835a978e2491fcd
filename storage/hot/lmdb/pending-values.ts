/**
 * The form in memory of the changes that LMDB's tables lack: maps of values by key.
 *
 * pending.ts reads and adds them, checkpoint.ts removes them. Used by the files of this folder.
 */
import { type EntityAddress, oldShardCount, type Shard } from '../../../engine/ids.ts';
import type { OutboxArray, PartArray, StoredSlot } from './codec.ts';
import type { VotesArray } from './tables.ts';

/** What LMDB's indexes hold for a slot. */
export interface IndexedSlot {
  readonly since: number;
  readonly dueMs: number | undefined;
}
export interface PendingSlot {
  readonly stored: StoredSlot;
  indexed: IndexedSlot;
}
export interface PendingVisitors {
  /** Those in LMDB must be removed first. */
  removed: boolean;
  readonly added: Set<string>;
}
export interface Pending {
  readonly slots: readonly Map<EntityAddress, PendingSlot>[];
  readonly votes: Map<string, VotesArray>;
  readonly visitors: Map<string, PendingVisitors>;
  /** `null` removes a vote that LMDB may have. */
  readonly outbox: readonly Map<string, OutboxArray | null>[];
  /** By listing; `null` removes a part. */
  readonly parts: Map<string, Map<string, PartArray | null>>;
  /** Shards whose version or generation changed. */
  readonly shards: Set<Shard>;
  /** Keys of producers, by which the mirror knows them. */
  readonly producers: Map<string, { readonly shard: Shard; readonly producer: string }>;
}

// As many shards as a store can have: the folder is opened before the number is known.
const createMaps = <Key, Value>(): Map<Key, Value>[] =>
  Array.from({ length: oldShardCount }, () => new Map<Key, Value>());

export const createPending = (): Pending => ({
  slots: createMaps(),
  votes: new Map(),
  visitors: new Map(),
  outbox: createMaps(),
  parts: new Map(),
  shards: new Set(),
  producers: new Map(),
});
