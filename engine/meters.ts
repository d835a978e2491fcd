/**
 * What the engine tells about itself while it works. Types only.
 *
 * Whoever listens must be quick: calls come from the middle of every batch. Implemented by
 * http/telemetry/metrics.ts.
 */
import type { BacklogSize } from './ports.ts';

/**
 * Counters and timings the engine reports; the admin listener publishes them. All calls are cheap and never
 * throw.
 */
export interface EngineMeters {
  recordCommit(items: number, milliseconds: number): void;
  recordGateWait(milliseconds: number): void;
  recordCommitFailure(outcome: 'not_applied' | 'unknown'): void;
  recordPending(items: number): void;
  recordActors(live: number): void;
  recordFlush(entities: number, votes: number, milliseconds: number): void;
  recordFlushFailure(reason: string): void;
  recordBacklog(size: BacklogSize, oldestAgeMs: number): void;
  recordDeadLetters(rows: number): void;
  recordContinuityLoss(reason: string): void;
  /** Bytes of confirmed work that is kept in case the store loses it. */
  recordRetransmitBytes(bytes: number): void;
  /** Confirmed items that the store lost and that are sent again. */
  recordResends(items: number): void;
  /** The result of one: counted again, `merged` into a newer vote of the same user, or listing `deleted`. */
  recordResendOutcome(outcome: 'applied' | 'merged' | 'deleted'): void;
  /** One look at the versions of so many shards; so many had been moved by other nodes. */
  recordVersionPoll(shards: number, moved: number): void;
}
