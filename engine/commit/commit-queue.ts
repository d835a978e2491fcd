/**
 * The batches that travel in one call to the store, one call at a time, and whether a call is worth waiting
 * for.
 *
 * Plain data and small functions, no timers and no I/O (those are the gate's). Invariant: a lane has sealed
 * batches exactly while a call is out or is to be sent again. Only gate.ts uses this file.
 */
import assert from 'node:assert/strict';
import { type Shard, shardCount } from '../ids.ts';
import { limits } from '../limits.ts';
import type { HotWriter } from '../ports.ts';
import { expireTurn, hasWork, type SealedBatch, type ShardQueue, seal } from './shard-queue.ts';

export type CommitQueueMode = 'quiet' | 'gathering' | 'in flight' | 'resending' | 'recovering';

/**
 * The batches that travel in one call, one call at a time. A lane is all shards of a store that takes a whole
 * tick in one call, or one shard of a store that does not (`HotWriter.toCommitQueue`).
 */
export interface CommitQueue {
  /** The lines that have work, or may have; each once (`ShardQueue.listed`). */
  shardQueues: ShardQueue[];
  readonly sealed: readonly SealedBatch[];
  /** A copy of `sealed` whose outcome is unknown may have taken effect, or may yet. */
  outcomeUnknown: boolean;
  /** Some line may be broken. */
  broken: boolean;
  /** What the modes mean: see gate.ts. Written by `setMode` alone. */
  readonly mode: CommitQueueMode;
  failures: number;
  /** When the newest of them came, monotonic ms. */
  failedAtMs: number;
  /** When the last call was sent, monotonic ms. */
  sentAtMs: number;
  /** Cancels the long gather timer of work without waiters; `null` while it does not run. */
  cancelLongWait: (() => void) | null;
  /** So much comes that the next call is worth waiting for. */
  busy: boolean;
}

const createCommitQueue = (): CommitQueue => ({
  shardQueues: [],
  sealed: [],
  outcomeUnknown: false,
  broken: false,
  mode: 'quiet',
  failures: 0,
  failedAtMs: 0,
  sentAtMs: 0,
  cancelLongWait: null,
  busy: false,
});

const modesAfter: Readonly<Record<CommitQueueMode, readonly CommitQueueMode[]>> = {
  quiet: ['gathering'],
  gathering: ['in flight', 'recovering', 'quiet'],
  'in flight': ['quiet', 'resending', 'recovering'],
  resending: ['in flight', 'quiet'],
  recovering: ['quiet', 'in flight', 'recovering'],
};

/** Changes a lane's mode. Throws on a transition that cannot be, or one that would forget sealed batches. */
export const setMode = (queue: CommitQueue, mode: CommitQueueMode): void => {
  if (!modesAfter[queue.mode].includes(mode)) assert.fail(`a lane cannot go from ${queue.mode} to ${mode}`);
  const hasCall = mode === 'in flight' || mode === 'resending';
  if (hasCall !== queue.sealed.length > 0)
    assert.fail(`a lane is ${mode} with ${queue.sealed.length} batches`);
  (queue as { mode: CommitQueueMode }).mode = mode;
};

/** The lanes of a store, each made when it is first used. */
export class CommitQueues {
  private readonly hot: Pick<HotWriter, 'toCommitQueue'>;
  private readonly byIndex = new Map<number, CommitQueue>();
  private readonly byShard = new Array<CommitQueue | undefined>(shardCount).fill(undefined);

  constructor(hot: Pick<HotWriter, 'toCommitQueue'>) {
    this.hot = hot;
  }

  get(shard: Shard): CommitQueue {
    return this.byShard[shard] ?? this.findOrCreate(shard);
  }

  list(): Iterable<CommitQueue> {
    return this.byIndex.values();
  }

  /** Whether every queue is healthy; see `isHealthy` below. */
  isHealthy(answeredMs: number): boolean {
    return [...this.list()].every((queue) => isHealthy(queue, answeredMs));
  }

  /** Answers the waiters whose deadline has passed; returns how many turns left the queues. */
  expireTurns(nowMs: number): number {
    let expired = 0;
    for (const queue of this.list()) expired += expireTurns(queue, nowMs);
    return expired;
  }

  private findOrCreate(shard: Shard): CommitQueue {
    const index = this.hot.toCommitQueue(shard);
    const queue = this.byIndex.get(index) ?? createCommitQueue();
    this.byIndex.set(index, queue);
    this.byShard[shard] = queue;
    return queue;
  }
}

/** Has the lane look at a line when it sends next. */
export const enqueue = (queue: CommitQueue, shardQueue: ShardQueue): void => {
  if (shardQueue.queued) return;
  shardQueue.queued = true;
  queue.shardQueues.push(shardQueue);
};

/** Seals a batch of each line that has work. Lines with more work stay listed. */
export const sealQueues = (queue: CommitQueue, itemsMax: number): void => {
  const sealed: SealedBatch[] = [];
  for (const shardQueue of queue.shardQueues) {
    const one = seal(shardQueue, itemsMax);
    if (one !== null) sealed.push(one);
    shardQueue.queued = hasWork(shardQueue);
  }
  queue.shardQueues = queue.shardQueues.filter((shardQueue) => shardQueue.queued);
  (queue as { sealed: readonly SealedBatch[] }).sealed = sealed;
};

/** Takes the sealed batches out of the lane: their outcome is known, or is not waited for any more. */
export const takeSealed = (queue: CommitQueue): readonly SealedBatch[] => {
  const { sealed } = queue;
  for (const { shardQueue } of sealed) shardQueue.sealed = false;
  (queue as { sealed: readonly SealedBatch[] }).sealed = [];
  return sealed;
};

/** Answers the waiters of a lane whose deadline has passed; returns how many turns left the lane. */
const expireTurns = (queue: CommitQueue, nowMs: number): number => {
  for (const { turns } of queue.sealed) {
    for (const turn of turns) if (!turn.answered && turn.deadlineMs <= nowMs) expireTurn(turn);
  }
  let expired = 0;
  for (const shardQueue of queue.shardQueues) expired += expireOpen(shardQueue, nowMs);
  return expired;
};

const expireOpen = (shardQueue: ShardQueue, nowMs: number): number => {
  let expired = 0;
  for (const turn of shardQueue.open) if (turn.deadlineMs <= nowMs && expireTurn(turn)) expired += 1;
  if (expired > 0) shardQueue.open = shardQueue.open.filter((turn) => turn.stage === 'open');
  return expired;
};

/** Records a call without an answer. */
export const recordFailure = (queue: CommitQueue, nowMs: number): void => {
  queue.failures += 1;
  queue.failedAtMs = nowMs;
};

/** Whether its newest call was answered, or failed well before the store last answered, with nothing left. */
const isHealthy = ({ failures, mode, failedAtMs }: CommitQueue, answeredMs: number): boolean =>
  failures === 0 || (mode === 'quiet' && answeredMs - failedAtMs > limits.failurePassesMs);

/** Whether so many items come that waiting `gatherMs` makes the next call much fuller. */
export const recordRate = (queue: CommitQueue, items: number, nowMs: number): void => {
  const sinceMs = Math.max(1, nowMs - queue.sentAtMs);
  queue.busy = items / sinceMs >= limits.gatherItemsPerMsMin;
  queue.sentAtMs = nowMs;
};

/**
 * How long to wait before the batches of an unknown outcome are sent again: doubled with every failure, ms.
 */
export const computeResendPauseMs = ({ failures }: CommitQueue): number =>
  Math.min(limits.resendPauseMaxMs, limits.resendPauseMinMs * 2 ** Math.min(failures, 10));
