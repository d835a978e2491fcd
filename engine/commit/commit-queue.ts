/**
 * Commit queues: the shards whose batches go to the store in one call, one call at a time.
 *
 * Plain data and small functions, no timers and no I/O (the output gate has those). Invariant: a queue has
 * sealed batches exactly while a call is in flight or waits to be resent.
 */
import assert from 'node:assert/strict';
import { type Shard, shardsTotal } from '../ids.ts';
import { limits } from '../limits.ts';
import type { HotWriter } from '../ports.ts';
import {
  expireTurn,
  hasWork,
  isRecoveryDue,
  type SealedBatch,
  type ShardQueue,
  seal,
} from './shard-queue.ts';

export type CommitQueueMode = 'quiet' | 'gathering' | 'in flight' | 'resending' | 'recovering';

/**
 * One commit queue: all shards of a store that takes a whole tick in one call, or a single shard on a Redis
 * Cluster (`HotWriter.toCommitQueue`).
 */
export interface CommitQueue {
  /** The shard queues that have or may have work, each once (`ShardQueue.queued`). */
  shardQueues: ShardQueue[];
  readonly sealed: readonly SealedBatch[];
  /** An earlier copy of `sealed` may have taken effect, or may still do so. */
  outcomeUnknown: boolean;
  /** A shard queue of this queue may be broken; never reset. */
  broken: boolean;
  /** See `output-gate.ts` for the modes. Only `setMode` writes it. */
  readonly mode: CommitQueueMode;
  /** Failed calls since the last answered one. */
  failures: number;
  /** The newest failure, and when it came, monotonic ms. */
  failure: unknown;
  failedAtMs: number;
  /** When the last call was sent, monotonic ms. */
  sentAtMs: number;
  /** Cancels the long gather timer of a call without waiters; `null` while none runs. */
  cancelLongWait: (() => void) | null;
  /** Items sent per millisecond, a moving average. */
  itemsPerMs: number;
  /** The time from a call to its reply in ms, a moving average. */
  callMs: number;
  /** The next call carries work that came while the last one was out. */
  followsCall: boolean;
  /** The share of calls that carry several items or follow another call: a moving average. */
  crowdedShare: number;
}

const createCommitQueue = (): CommitQueue => ({
  shardQueues: [],
  sealed: [],
  outcomeUnknown: false,
  broken: false,
  mode: 'quiet',
  failures: 0,
  failure: null,
  failedAtMs: 0,
  sentAtMs: 0,
  cancelLongWait: null,
  itemsPerMs: 0,
  callMs: 0,
  followsCall: false,
  crowdedShare: 0,
});

const modesAfter: Readonly<Record<CommitQueueMode, readonly CommitQueueMode[]>> = {
  quiet: ['gathering'],
  gathering: ['in flight', 'recovering', 'quiet'],
  'in flight': ['quiet', 'resending', 'recovering'],
  resending: ['in flight', 'quiet'],
  recovering: ['quiet', 'in flight', 'recovering'],
};

/** Changes the mode. Throws on an impossible transition, or one that would drop sealed batches. */
export const setMode = (queue: CommitQueue, mode: CommitQueueMode): void => {
  if (!modesAfter[queue.mode].includes(mode))
    assert.fail(`a commit queue cannot go from ${queue.mode} to ${mode}`);
  const hasCall = mode === 'in flight' || mode === 'resending';
  if (hasCall !== queue.sealed.length > 0)
    assert.fail(`a commit queue is ${mode} with ${queue.sealed.length} sealed batches`);
  (queue as { mode: CommitQueueMode }).mode = mode;
};

/** The commit queues of a store, each created on first use. */
export class CommitQueues {
  private readonly hot: Pick<HotWriter, 'toCommitQueue'>;
  private readonly byIndex = new Map<number, CommitQueue>();
  /** Queues that gather for longer than `limits.gatherUnawaitedMs`, until a caller waits for any queue. */
  readonly longest = new Set<CommitQueue>();
  private readonly byShard: (CommitQueue | undefined)[];

  constructor(hot: CommitQueues['hot']) {
    this.hot = hot;
    this.byShard = new Array<CommitQueue | undefined>(shardsTotal).fill(undefined);
  }

  get(shard: Shard): CommitQueue {
    return this.byShard[shard] ?? this.findOrCreate(shard);
  }

  list(): Iterable<CommitQueue> {
    return this.byIndex.values();
  }

  /** Why a queue is not healthy, `null` when all are; see `isHealthy` below. */
  findFailure(answeredMs: number): unknown {
    return [...this.list()].find((queue) => !isHealthy(queue, answeredMs))?.failure ?? null;
  }

  /** Answers the waiters whose deadline has passed; returns how many turns left the queues. */
  expireTurns(nowMs: number): number {
    let expired = 0;
    for (const queue of this.list()) expired += expireTurns(queue, nowMs);
    return expired;
  }

  /** Records that a queue gathers without a waiter, and how to cancel that. */
  startLongWait(queue: CommitQueue, waitMs: number, cancel: () => void): void {
    queue.cancelLongWait = cancel;
    if (waitMs > limits.gatherUnawaitedMs) this.longest.add(queue);
  }

  /** Cancels it, if there is one. */
  endLongWait(queue: CommitQueue): void {
    queue.cancelLongWait?.();
    queue.cancelLongWait = null;
    this.longest.delete(queue);
  }

  private findOrCreate(shard: Shard): CommitQueue {
    const index = this.hot.toCommitQueue(shard);
    const queue = this.byIndex.get(index) ?? createCommitQueue();
    this.byIndex.set(index, queue);
    this.byShard[shard] = queue;
    return queue;
  }
}

/** Adds a shard queue to those that the next call takes batches from. */
export const enqueue = (queue: CommitQueue, shardQueue: ShardQueue): void => {
  if (shardQueue.queued) return;
  shardQueue.queued = true;
  queue.shardQueues.push(shardQueue);
};

/** Seals one batch of each shard queue that has work. Shard queues with more work stay queued. */
export const sealQueues = (queue: CommitQueue, itemsMax: number): void => {
  const sealed: SealedBatch[] = [];
  for (const shardQueue of queue.shardQueues) {
    const batch = seal(shardQueue, itemsMax);
    if (batch !== null) sealed.push(batch);
    shardQueue.queued = hasWork(shardQueue);
  }
  queue.shardQueues = queue.shardQueues.filter((shardQueue) => shardQueue.queued);
  (queue as { sealed: readonly SealedBatch[] }).sealed = sealed;
};

/** Takes the sealed batches out of the queue: their outcome is known, or the gate gives up on it. */
export const takeSealed = (queue: CommitQueue): readonly SealedBatch[] => {
  const { sealed } = queue;
  for (const { shardQueue } of sealed) shardQueue.sealed = false;
  (queue as { sealed: readonly SealedBatch[] }).sealed = [];
  return sealed;
};

/** Answers the waiters whose deadline has passed; returns how many turns left the queue. */
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

/** Lists the shard queues with work that must not be sent before lost work was searched for. */
export const listBroken = ({ broken, shardQueues }: CommitQueue): readonly ShardQueue[] =>
  broken ? shardQueues.filter((one) => isRecoveryDue(one) && hasWork(one)) : [];

/** Records a call that failed. */
export const recordFailure = (queue: CommitQueue, failure: unknown, nowMs: number): void => {
  queue.failures += 1;
  queue.failure = failure;
  queue.failedAtMs = nowMs;
};

/** Whether the newest call was answered, or the queue is quiet and the store has answered well after it. */
const isHealthy = ({ failures, mode, failedAtMs }: CommitQueue, answeredMs: number): boolean =>
  failures === 0 || (mode === 'quiet' && answeredMs - failedAtMs > limits.failurePassesMs);

/** Records a call that is sent now. */
export const recordCall = (queue: CommitQueue, items: number, nowMs: number): void => {
  const sinceMs = Math.max(1, nowMs - queue.sentAtMs);
  const weight = Math.min(1, sinceMs / limits.gatherAverageMs);
  queue.itemsPerMs += (items / sinceMs - queue.itemsPerMs) * weight;
  queue.sentAtMs = nowMs;
  const crowded = items > 1 || queue.followsCall ? 1 : 0;
  queue.crowdedShare += (crowded - queue.crowdedShare) / limits.gatherCallsAverage;
};

/** Records that the last call is answered now; returns how long it took, in ms. */
export const recordAnswer = (queue: CommitQueue, nowMs: number): number => {
  const elapsedMs = nowMs - queue.sentAtMs;
  queue.callMs += (elapsedMs - queue.callMs) / limits.gatherCallsAverage;
  return elapsedMs;
};

/** Computes how long the next call gathers, in ms; 0: to the end of the tick. `awaited`: a caller waits. */
export const computeGatherMs = (queue: CommitQueue, nowMs: number, awaited: boolean): number => {
  const { itemsPerMs, sentAtMs, callMs, crowdedShare, followsCall } = queue;
  const sinceMs = nowMs - sentAtMs;
  const isRecent = sinceMs <= limits.gatherAverageMs;
  if (!awaited) {
    const isBusy = isRecent && itemsPerMs >= limits.gatherItemsPerMsMin;
    return isBusy ? limits.gatherUnawaitedMs : limits.gatherUnawaitedMsMax;
  }
  if (crowdedShare < limits.gatherCrowdedShareMin) return 0;
  if (isRecent && itemsPerMs >= limits.gatherItemsPerMsHigh) return limits.gatherLoadMs;
  const expected = isRecent ? itemsPerMs * callMs : 0;
  if (!followsCall && expected < limits.gatherItemsMin) return 0;
  const leastMs = isRecent && itemsPerMs >= limits.gatherItemsPerMsMin ? limits.gatherLoadMs : 0;
  const apartMs = Math.min(limits.gatherMs, limits.gatherCallTimes * callMs);
  return Math.max(leastMs, apartMs - sinceMs);
};

/** Computes the pause before batches of unknown outcome are resent, in ms; it doubles with every failure. */
export const computeResendPauseMs = ({ failures }: CommitQueue): number =>
  Math.min(limits.resendPauseMaxMs, limits.resendPauseMinMs * 2 ** Math.min(failures, 10));
