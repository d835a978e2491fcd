/**
 * The batches that travel in one call to the store, one call at a time, and whether a call is worth waiting
 * for.
 *
 * Plain data and small functions, no timers and no I/O (those are the gate's). Invariant: a lane has sealed
 * batches exactly while a call is out or is to be sent again. Only gate.ts uses this file.
 */
import assert from 'node:assert/strict';
import { type Shard, shardCount } from './ids.ts';
import { limits } from './limits.ts';
import type { HotWriter } from './ports.ts';
import { expireTurn, hasWork, type SealedBatch, type ShardLine, seal } from './shard.ts';

export type LaneMode = 'quiet' | 'gathering' | 'in flight' | 'resending' | 'recovering';

/**
 * The batches that travel in one call, one call at a time. A lane is all shards of a store that takes a whole
 * tick in one call, or one shard of a store that does not (`HotWriter.laneOf`).
 */
export interface Lane {
  /** The lines that have work, or may have; each once (`ShardLine.listed`). */
  lines: ShardLine[];
  readonly sealed: readonly SealedBatch[];
  /** A copy of `sealed` whose outcome is unknown may have taken effect, or may yet. */
  doubtful: boolean;
  /** Some line may be broken. */
  broken: boolean;
  /** What the modes mean: see gate.ts. Written by `setMode` alone. */
  readonly mode: LaneMode;
  failures: number;
  /** When the newest of them came, monotonic ms. */
  failedAtMs: number;
  /** When the last call was sent, monotonic ms. */
  sentAtMs: number;
  /** Cancels the long gather timer of work without waiters; `null` while it does not run. */
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

const modesAfter: Readonly<Record<LaneMode, readonly LaneMode[]>> = {
  quiet: ['gathering'],
  gathering: ['in flight', 'recovering', 'quiet'],
  'in flight': ['quiet', 'resending', 'recovering'],
  resending: ['in flight', 'quiet'],
  recovering: ['quiet', 'in flight', 'recovering'],
};

/** Changes a lane's mode. Throws on a transition that cannot be, or one that would forget sealed batches. */
export const setMode = (lane: Lane, mode: LaneMode): void => {
  if (!modesAfter[lane.mode].includes(mode)) assert.fail(`a lane cannot go from ${lane.mode} to ${mode}`);
  const hasCall = mode === 'in flight' || mode === 'resending';
  if (hasCall !== lane.sealed.length > 0) assert.fail(`a lane is ${mode} with ${lane.sealed.length} batches`);
  (lane as { mode: LaneMode }).mode = mode;
};

/** The lanes of a store, each made when it is first used. */
export class Lanes {
  private readonly hot: Pick<HotWriter, 'laneOf'>;
  private readonly byIndex = new Map<number, Lane>();
  private readonly byShard = new Array<Lane | undefined>(shardCount).fill(undefined);

  constructor(hot: Pick<HotWriter, 'laneOf'>) {
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

/** Has the lane look at a line when it sends next. */
export const list = (lane: Lane, line: ShardLine): void => {
  if (line.listed) return;
  line.listed = true;
  lane.lines.push(line);
};

/** Seals a batch of each line that has work. Lines with more work stay listed. */
export const sealLines = (lane: Lane, itemsMax: number): void => {
  const sealed: SealedBatch[] = [];
  for (const line of lane.lines) {
    const one = seal(line, itemsMax);
    if (one !== null) sealed.push(one);
    line.listed = hasWork(line);
  }
  lane.lines = lane.lines.filter((line) => line.listed);
  (lane as { sealed: readonly SealedBatch[] }).sealed = sealed;
};

/** Takes the sealed batches out of the lane: their outcome is known, or is not waited for any more. */
export const takeSealed = (lane: Lane): readonly SealedBatch[] => {
  const { sealed } = lane;
  for (const { line } of sealed) line.sealed = false;
  (lane as { sealed: readonly SealedBatch[] }).sealed = [];
  return sealed;
};

/** Answers the waiters of a lane whose deadline has passed; returns how many turns left the lane. */
export const expireLane = (lane: Lane, nowMs: number): number => {
  for (const { turns } of lane.sealed) {
    for (const turn of turns) if (!turn.answered && turn.deadlineMs <= nowMs) expireTurn(turn);
  }
  let expired = 0;
  for (const line of lane.lines) expired += expireOpen(line, nowMs);
  return expired;
};

const expireOpen = (line: ShardLine, nowMs: number): number => {
  let expired = 0;
  for (const turn of line.open) if (turn.deadlineMs <= nowMs && expireTurn(turn)) expired += 1;
  if (expired > 0) line.open = line.open.filter((turn) => turn.place === 'open');
  return expired;
};

/** Records a call without an answer. */
export const noteFailure = (lane: Lane, nowMs: number): void => {
  lane.failures += 1;
  lane.failedAtMs = nowMs;
};

/** Whether its newest call was answered, or failed well before the store last answered, with nothing left. */
export const isWell = ({ failures, mode, failedAtMs }: Lane, answeredMs: number): boolean =>
  failures === 0 || (mode === 'quiet' && answeredMs - failedAtMs > limits.failurePassesMs);

/** Whether so many items come that waiting `gatherMs` makes the next call much fuller. */
export const noteRate = (lane: Lane, items: number, nowMs: number): void => {
  const sinceMs = Math.max(1, nowMs - lane.sentAtMs);
  lane.busy = items / sinceMs >= limits.gatherItemsPerMsMin;
  lane.sentAtMs = nowMs;
};
