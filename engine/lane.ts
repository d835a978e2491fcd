/**
 * What the gate knows of one lane: the batches that travel in one call, one call at a time.
 *
 * A lane is all shards of a store that takes a whole tick in one call, or one shard of a store that does not
 * (`HotStore.laneOf`). Also the judgement whether a call is worth waiting for. Only gate.ts uses this file.
 */
import { type Shard, shardCount } from './ids.ts';
import { limits } from './limits.ts';
import type { HotStore } from './ports.ts';
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
  /** When the newest of them came, monotonic ms. */
  failedAtMs: number;
  /** When the last call was sent, monotonic ms. */
  sentAtMs: number;
  /** Ends the longer wait of a call of which nobody waits for anything; `null` while there is none. */
  hurry: (() => void) | null;
  /** So much comes that the next call is worth waiting for. */
  busy: boolean;
}

const createLane = (): Lane => ({
  lines: [],
  sealed: [],
  doubtful: false,
  broken: false,
  mode: 'quiet',
  failures: 0,
  failedAtMs: 0,
  sentAtMs: 0,
  hurry: null,
  busy: false,
});

/** The lanes of a store, each made when it is first used. */
export class Lanes {
  private readonly hot: Pick<HotStore, 'laneOf'>;
  private readonly byIndex = new Map<number, Lane>();
  private readonly byShard = new Array<Lane | undefined>(shardCount).fill(undefined);

  constructor(hot: Pick<HotStore, 'laneOf'>) {
    this.hot = hot;
  }

  of(shard: Shard): Lane {
    return this.byShard[shard] ?? this.find(shard);
  }

  all(): Iterable<Lane> {
    return this.byIndex.values();
  }

  private find(shard: Shard): Lane {
    const index = this.hot.laneOf(shard);
    const lane = this.byIndex.get(index) ?? createLane();
    this.byIndex.set(index, lane);
    this.byShard[shard] = lane;
    return lane;
  }
}

export const noteFailure = (lane: Lane, nowMs: number): void => {
  lane.failures += 1;
  lane.failedAtMs = nowMs;
};

/** Whether its newest call was answered, or failed well before the store last answered, with nothing left. */
export const isWell = ({ failures, mode, failedAtMs }: Lane, answeredMs: number): boolean =>
  failures === 0 || (mode === 'quiet' && answeredMs - failedAtMs > limits.failurePassesMs);

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
