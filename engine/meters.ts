/**
 * The engine's port for metrics. Types only.
 *
 * Implementations must be fast, because every batch calls them. Implemented by `http/telemetry/metrics.ts`.
 */
import type { PartsSwitch } from './entity/items.ts';
import type { BacklogSize } from './ports.ts';

/** Counters and timings that the engine reports; the admin listener publishes them. Calls never throw. */
export interface EngineMeters {
  recordCommit(items: number, milliseconds: number): void;
  recordCommitFailure(outcome: 'not_applied' | 'unknown'): void;
  recordPending(items: number): void;
  recordActors(live: number): void;
  recordFlush(entities: number, votes: number, milliseconds: number): void;
  recordFlushFailure(reason: string): void;
  recordBacklog(size: BacklogSize, oldestAgeMs: number): void;
  recordDeadLetters(rows: number): void;
  recordContinuityLoss(reason: string): void;
  /** Bytes in the retransmit buffer. */
  recordRetransmitBytes(bytes: number): void;
  /** Confirmed items that the store lost and that are resent. */
  recordResends(items: number): void;
  /**
   * Outcome of one resent item: counted, `merged` into a newer vote of the user, or its listing `deleted`.
   */
  recordResendOutcome(outcome: 'applied' | 'merged' | 'deleted'): void;
  /** One poll of the versions of `shards` shards; `moved` of them have changes of other nodes. */
  recordVersionPoll(shards: number, moved: number): void;
  /** Entities read from the hot store in one call. */
  recordLoads(entities: number): void;
  /** A table of parts came into force; `reason`: see `PartsSwitch`. */
  recordPartsSwitch(reason: PartsSwitch): void;
  /** Stale parts of the bots that this node judges, as of their last judgement. */
  recordStaleParts(parts: number): void;
}
