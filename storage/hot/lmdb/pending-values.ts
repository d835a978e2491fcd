/**
 * The form in memory of the changes that LMDB's tables lack: maps of values by key.
 *
 * pending.ts reads and adds them, checkpoint.ts removes them.
 */
import { type EntityAddress, shardsTotal } from '../../../engine/ids.ts';
import type { OutboxArray, PartArray, StoredSlot } from './codec.ts';
import type { ProducerArray, VotesArray } from './tables.ts';

/** What LMDB's indexes have for a slot. All pending values of an address share one. */
export interface IndexedSlot {
  since: number;
  dueMs: number | undefined;
}
export interface PendingSlot {
  readonly stored: StoredSlot;
  readonly indexed: IndexedSlot;
}
export interface PendingVisitors {
  /** LMDB's visitors of the listing must be removed before `added` is written. */
  removed: boolean;
  readonly added: Set<string>;
}
export interface Pending {
  readonly slots: readonly Map<EntityAddress, PendingSlot>[];
  readonly votes: Map<string, VotesArray | null>;
  readonly visitors: Map<string, PendingVisitors>;
  /** `null` removes a vote that LMDB may have. */
  readonly outbox: readonly Map<string, OutboxArray | null>[];
  /** By listing; `null` removes a part. */
  readonly parts: Map<string, Map<string, PartArray | null>>;
  /** Positions of shards. */
  readonly meta: Map<string, unknown>;
  readonly producers: Map<string, ProducerArray | null>;
}

/** One map for each shard. */
const createMaps = <Key, Value>(): Map<Key, Value>[] =>
  Array.from({ length: shardsTotal }, () => new Map<Key, Value>());

export const createPending = (): Pending => ({
  slots: createMaps(),
  votes: new Map(),
  visitors: new Map(),
  outbox: createMaps(),
  parts: new Map(),
  meta: new Map(),
  producers: new Map(),
});
