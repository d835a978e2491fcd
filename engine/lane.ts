/**
 * What the gate knows of one lane: the batches that travel in one call, one call at a time.
 *
 * A lane is all shards of a store that takes a whole tick in one call, or one shard of a store that does not
 * (`HotStore.laneOf`). Also the judgement whether a call is worth waiting for. Only gate.ts uses this file.
 */
import { limits } from './limits.ts';
import type { SealedBatch, ShardLine } from './shard.ts';

export interface Lane {
  /** The lines that have work, or may have; each once (`ShardLine.listed`). */
  lines: ShardLine[];
  sealed: SealedBatch[];
  /** A copy of `sealed` whose outcome is unknown may have taken effect, or may yet. */
  doubtful: boolean;
  /** Some line may be broken. */
  broken: boolean;
  mode: 'quiet' | 'gathering' | 'in flight' | 'resending' | 'recovering';
  failures: number;
  /** When the last call was sent, monotonic ms. */
  sentAtMs: number;
  /** Ends the longer wait of a call of which nobody waits for anything; `null` while there is none. */
  hurry: (() => void) | null;
  /** So much comes that the next call is worth waiting for. */
  busy: boolean;
}

export const createLane = (): Lane => ({
  lines: [],
  sealed: [],
  doubtful: false,
  broken: false,
  mode: 'quiet',
  failures: 0,
  sentAtMs: 0,
  hurry: null,
  busy: false,
});

/** Has the lane look at a line when it sends next. */
export const list = (lane: Lane, line: ShardLine): void => {
  if (line.listed) return;
  line.listed = true;
  lane.lines.push(line);
};

/** Whether so many items come that waiting `gatherMs` makes the next call much fuller. */
export const noteRate = (lane: Lane, items: number, nowMs: number): void => {
  const sinceMs = Math.max(1, nowMs - lane.sentAtMs);
  lane.busy = items / sinceMs >= limits.gatherItemsPerMsMin;
  lane.sentAtMs = nowMs;
};
