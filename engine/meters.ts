/**
 * What the engine tells about itself while it works. Types only.
 *
 * Whoever listens must be quick: calls come from the middle of every batch. Implemented by http/metrics.ts.
 */
import type { BacklogSize } from './ports.ts';

/**
 * Counters and timings the engine reports; the admin listener publishes them. All calls are cheap and never
 * throw.
 */
export interface EngineMeters {
  batchCommitted(items: number, milliseconds: number): void;
  gateWaited(milliseconds: number): void;
  commitFailed(outcome: 'not_applied' | 'unknown'): void;
  pending(items: number): void;
  actors(live: number): void;
  flushed(entities: number, votes: number, milliseconds: number): void;
  flushFailed(reason: string): void;
  backlog(size: BacklogSize, oldestAgeMs: number): void;
  buried(rows: number): void;
  gateBroken(reason: string): void;
  /** Bytes of confirmed work that is kept in case the store loses it. */
  ring(bytes: number): void;
  /** Confirmed items that the store lost and that are sent again. */
  resent(items: number): void;
  /** One of them is done with: counted; `merged` into a newer vote of the same user; its listing `gone`. */
  healed(how: 'applied' | 'merged' | 'gone'): void;
  /** One look at the versions of so many shards; so many had been moved by other nodes. */
  refreshed(shards: number, moved: number): void;
}
