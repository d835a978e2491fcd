/**
 * The output gate: gathers a tick's turns into one call per commit queue, and releases answers only when the
 * store has confirmed them.
 *
 * Modes of a commit queue:
 * - *quiet*: nothing is open or in flight;
 * - *gathering*: turns are open and wait for the end of the tick, or some ms for others. Entered by `submit`;
 * - *in flight*: one call of sealed batches is out; new turns gather behind it. The reply ends this mode;
 * - *resending*: the call's outcome is unknown. After a pause the same batches with the same numbers are sent
 *   again, alone, until the store answers; a refusal ends it only if no earlier copy can take effect;
 * - *recovering*: a shard lost data, or may have. Lost work goes before all else (`retransmit-buffer.ts`).
 * Bounds: `limits.pendingItemsMax` turns per process, `limits.batchItemsMax` per batch, deadlines of waiters.
 */
import assert from 'node:assert/strict';
import { isDirectSuccessor } from '../entity/history.ts';
import type { Batch, BatchReply } from '../entity/items.ts';
import { StorageError } from '../errors.ts';
import { listAllShards, type Shard } from '../ids.ts';
import { limits } from '../limits.ts';
import {
  type CommitQueue,
  CommitQueues,
  computeGatherMs,
  computeResendPauseMs,
  enqueue,
  listBroken,
  recordAnswer,
  recordCall,
  recordFailure,
  sealQueues,
  setMode,
  takeSealed,
} from './commit-queue.ts';
import {
  createRetransmitBuffer,
  type RetransmitBuffer,
  type RetransmitBufferParts,
} from './retransmit-buffer.ts';
import {
  addOpen,
  adoptPolledVersion,
  answerTurns,
  assertReplies,
  createShardQueue,
  failTurn,
  hasWaiters,
  isAnswered,
  isOpening,
  isRecoveryDue,
  markUnconfirmed,
  notApplied,
  type PolledVersion,
  putBack,
  type QueuedTurns,
  recordLostTail,
  recordRecovery,
  restartNumbering,
  type SealedBatch,
  type ShardQueue,
  setShardVersion,
  type Turn,
  type TurnFailure,
  takeWaiting,
  toShardVersion,
  unknown,
} from './shard-queue.ts';

export interface OutputGateParts extends Omit<RetransmitBufferParts, 'resend' | 'queryLastSequence'> {
  /** Unique per process start: node name and a boot id. */
  readonly producer: string;
  /** Adopts a reply's states before any answer is sent. `foreign`: other nodes also wrote to the shard. */
  readonly adopt: (batch: Batch, reply: BatchReply, foreign: boolean) => void;
  /** Takes a new generation for shards that lost data or never had any; resolves to it. */
  readonly recover: (shards: readonly Shard[]) => Promise<number>;
}

interface OutputGateState extends OutputGateParts {
  readonly commitQueues: CommitQueues;
  readonly shardQueues: readonly ShardQueue[];
  /** `null` if the store loses nothing. */
  readonly retransmitBuffer: RetransmitBuffer | null;
  pendingCount: number;
  sweeping: boolean;
  refusing: boolean;
  stopped: boolean;
}

/** Creates an empty gate. Its batch numbers start again, so the producer's name must be new. */
export const createOutputGate = (parts: OutputGateParts) => {
  const shardQueues = listAllShards().map((shard) =>
    createShardQueue(shard, parts.producer, parts.hot.mayLoseTail),
  );
  const gate: OutputGateState = {
    ...parts,
    commitQueues: new CommitQueues(parts.hot),
    shardQueues,
    retransmitBuffer: createRetransmitBuffer({
      ...parts,
      resend: (shard, turns) => resendLost(gate, shard, turns),
      queryLastSequence: (shard, producer) => queryLastSequence(gate, shard, producer),
    }),
    pendingCount: 0,
    sweeping: false,
    refusing: false,
    stopped: false,
  };
  return {
    /** Adds the turn to its shard's open batch, or fails it at once (full, draining). */
    submit: (turn: Turn) => submit(gate, turn),
    /** Turns that have not left the gate. */
    countPending: () => gate.pendingCount,
    /** The shard's version according to the last reply or poll; version -1 before the first. */
    getVersion: (shard: Shard) => toShardVersion(gate.shardQueues[shard] as ShardQueue),
    /**
     * Records the version that a poll read. Returns whether other nodes changed the shard. False while a
     * batch of ours is out: its reply will show the change.
     */
    observeVersion: (shard: Shard, seen: PolledVersion) => observeVersion(gate, shard, seen),
    /** Why a commit queue waits for a failing store, else `null`; `answeredMs`: when it last answered. */
    findFailure: (answeredMs = Number.NEGATIVE_INFINITY) => gate.commitQueues.findFailure(answeredMs),
    /** Fails open turns and stops resending; resent batches end `unknown`. */
    stop: () => stop(gate),
    /** Fails new turns from now on; pending ones go on. */
    refuseNewTurns: () => {
      gate.refusing = true;
    },
  };
};
export type OutputGate = ReturnType<typeof createOutputGate>;

const submit = (gate: OutputGateState, turn: Turn): void => {
  if (gate.refusing || gate.pendingCount >= limits.pendingItemsMax || gate.retransmitBuffer?.isFull()) {
    failTurn(turn, { outcome: 'not_applied', code: gate.refusing ? 'draining' : 'overloaded' });
    return;
  }
  const shardQueue = gate.shardQueues[turn.item.target.shard] as ShardQueue;
  addOpen(shardQueue, turn);
  countPending(gate, 1);
  if (!gate.sweeping) scheduleSweep(gate);
  wakeQueue(gate, shardQueue, !turn.answered);
};

/** Changes the number of pending turns; nothing else writes it. */
const countPending = (gate: OutputGateState, change: number): void => {
  gate.pendingCount += change;
  assert(gate.pendingCount >= 0, 'a pending turn leaves the gate once');
};

/** Queues turns that resend lost items, ahead of the open turns. Returns false if the gate has stopped. */
const resendLost = (gate: OutputGateState, shard: Shard, turns: readonly Turn[]): boolean => {
  if (gate.stopped) return false;
  const shardQueue = gate.shardQueues[shard] as ShardQueue;
  shardQueue.lost.push(...turns);
  countPending(gate, turns.length);
  wakeQueue(gate, shardQueue, true);
  return true;
};

const queryLastSequence = (gate: OutputGateState, shard: Shard, producer: string): void => {
  if (gate.stopped) return;
  const shardQueue = gate.shardQueues[shard] as ShardQueue;
  shardQueue.query = producer;
  wakeQueue(gate, shardQueue, true);
};

/** Sends the new work of a shard queue soon; `awaited` is false if no caller waits for it. */
const wakeQueue = (gate: OutputGateState, shardQueue: ShardQueue, awaited: boolean): void => {
  const queue = gate.commitQueues.get(shardQueue.shard);
  enqueue(queue, shardQueue);
  if (queue.mode === 'quiet') gather(gate, queue, awaited);
  if (!awaited) return;
  sendSooner(gate, queue);
  for (const waiting of gate.commitQueues.longest) sendSooner(gate, waiting);
};

const gather = (gate: OutputGateState, queue: CommitQueue, awaited: boolean): void => {
  setMode(queue, 'gathering');
  scheduleSeal(gate, queue, awaited);
};

/**
 * Gathers until the end of the tick; longer where others are likely to come, because a call costs more than
 * the items it carries, and longest while no caller waits for any of them (`awaited` is false).
 */
const scheduleSeal = (gate: OutputGateState, queue: CommitQueue, awaited: boolean): void => {
  const go = (): void => sealAndSend(gate, queue);
  const waitMs = computeGatherMs(queue, gate.clock.monotonicMs(), awaited);
  if (waitMs === 0) gate.clock.endOfTick(go);
  else if (awaited) gate.clock.after(waitMs, go);
  else gate.commitQueues.startLongWait(queue, waitMs, gate.clock.after(waitMs, go));
};

/** Replaces the long gather timer of a queue by the short one, because a caller now waits. */
const sendSooner = (gate: OutputGateState, queue: CommitQueue): void => {
  if (queue.cancelLongWait === null) return;
  gate.commitQueues.endLongWait(queue);
  scheduleSeal(gate, queue, true);
};

const sealAndSend = (gate: OutputGateState, queue: CommitQueue): void => {
  gate.commitQueues.endLongWait(queue);
  const brokenQueues = listBroken(queue);
  if (brokenQueues.length > 0) {
    recover(gate, queue, brokenQueues);
    return;
  }
  sealQueues(queue, limits.batchItemsMax);
  if (queue.sealed.length > 0) sendBatches(gate, queue);
  else becomeQuiet(gate, queue);
};

/** Ends a call: gathers again if work waits, else leaves the queue quiet. */
const becomeQuiet = (gate: OutputGateState, queue: CommitQueue): void => {
  setMode(queue, 'quiet');
  queue.followsCall = queue.shardQueues.length > 0;
  if (queue.followsCall) gather(gate, queue, queue.shardQueues.some(hasWaiters));
};

const sendBatches = (gate: OutputGateState, queue: CommitQueue): void => {
  setMode(queue, 'in flight');
  const batches = queue.sealed.map((sealed) => sealed.batch);
  const items = batches.reduce((sum, batch) => sum + batch.items.length, 0);
  recordCall(queue, items, gate.clock.monotonicMs());
  gate.hot.commit(batches, gate.rules).then(
    (replies) => {
      gate.meters.recordCommit(items, recordAnswer(queue, gate.clock.monotonicMs()));
      handleReplies(gate, queue, replies);
    },
    (error: unknown) => handleCallFailure(gate, queue, error),
  );
};

const handleReplies = (gate: OutputGateState, queue: CommitQueue, replies: readonly BatchReply[]): void => {
  assertReplies(queue.sealed, replies);
  const { outcomeUnknown } = queue;
  const sealed = takeSealed(queue);
  queue.outcomeUnknown = false;
  queue.failures = 0;
  const brokenQueues: ShardQueue[] = [];
  for (let index = 0; index < sealed.length; index++) {
    const sealedBatch = sealed[index] as SealedBatch;
    const reply = replies[index] as BatchReply;
    const { batch, shardQueue } = sealedBatch;
    const answered = isAnswered(reply);
    if (answered && !gate.retransmitBuffer?.hasLost(batch, reply)) {
      adoptBatchReply(gate, sealedBatch, { reply, outcomeUnknown });
      if (isRecoveryDue(shardQueue)) brokenQueues.push(shardQueue);
      continue;
    }
    gate.meters.recordContinuityLoss(answered ? 'commits_lost' : reply.outcome);
    if (outcomeUnknown) markUnconfirmed(sealedBatch);
    restartNumbering(shardQueue);
    brokenQueues.push(shardQueue);
    if (outcomeUnknown) failTurns(gate, sealedBatch, unknown);
    else if (gate.stopped) failTurns(gate, sealedBatch, notApplied);
    else putBack(sealedBatch);
    enqueue(queue, shardQueue);
  }
  if (brokenQueues.length > 0) recover(gate, queue, brokenQueues);
  else becomeQuiet(gate, queue);
};

const observeVersion = (gate: OutputGateState, shard: Shard, seen: PolledVersion): boolean => {
  const change = adoptPolledVersion(gate.shardQueues[shard] as ShardQueue, seen);
  if (change === 'fell back') {
    // `sealAndSend` takes a new generation for the shard before it sends anything new.
    gate.commitQueues.get(shard).broken = true;
    gate.meters.recordContinuityLoss('version_regressed');
  }
  return change !== 'none';
};

const adoptBatchReply = (
  gate: OutputGateState,
  sealed: SealedBatch,
  { reply, outcomeUnknown }: { reply: BatchReply; outcomeUnknown: boolean },
): void => {
  const { shardQueue } = sealed;
  // Before its first reply the queue knows no version, so `foreign` is true: others may have written.
  const foreign = !isDirectSuccessor(reply, shardQueue, sealed.batch);
  const mayHaveLost = foreign && (gate.hot.mayLoseTail || reply.generation !== shardQueue.generation);
  const fellBack = recordLostTail(shardQueue, reply);
  if (fellBack) gate.meters.recordContinuityLoss('version_regressed');
  if (!shardQueue.restarted) gate.retransmitBuffer?.forgetOld(shardQueue.shard);
  const isQuery = sealed.batch.sequence === 0;
  // A query adopts nothing of other nodes; if the version fell, recovery discards the shard's actors.
  if (isQuery && !fellBack) return;
  gate.retransmitBuffer?.keep(shardQueue, sealed.batch, reply);
  setShardVersion(shardQueue, reply);
  if (isQuery) return;
  shardQueue.sequence = sealed.batch.sequence;
  gate.adopt(sealed.batch, reply, foreign);
  countPending(gate, -sealed.turns.length);
  gate.retransmitBuffer?.resendAbsent(sealed.turns, reply);
  answerTurns(sealed.turns, reply, { copy: outcomeUnknown && mayHaveLost, tail: fellBack });
};

/** Searches for lost work. If that fails, the turns of those shards fail and the other shards go on. */
const recover = (gate: OutputGateState, queue: CommitQueue, shardQueues: readonly ShardQueue[]): void => {
  setMode(queue, 'recovering');
  queue.broken = true;
  renewShards(gate, shardQueues).then(
    () => {
      for (const shardQueue of shardQueues) recordRecovery(shardQueue);
      becomeQuiet(gate, queue);
    },
    (error: unknown) => {
      recordFailure(queue, error, gate.clock.monotonicMs());
      for (const shardQueue of shardQueues) failTurns(gate, takeWaiting(shardQueue), notApplied);
      sealAndSend(gate, queue);
    },
  );
};

/** Queues what is lost to be resent, and takes new generations for the shards that lost something. */
const renewShards = async (gate: OutputGateState, shardQueues: readonly ShardQueue[]): Promise<void> => {
  await gate.retransmitBuffer?.findLost(shardQueues);
  const broken = shardQueues.filter((shardQueue) => shardQueue.broken);
  if (broken.length === 0) return;
  const generation = await gate.recover(broken.map(({ shard }) => shard));
  for (const shardQueue of broken) shardQueue.renewed = generation;
};

const handleCallFailure = (gate: OutputGateState, queue: CommitQueue, error: unknown): void => {
  const outcome = error instanceof StorageError ? error.outcome : 'unknown';
  gate.meters.recordCommitFailure(outcome);
  recordFailure(queue, error, gate.clock.monotonicMs());
  if (outcome === 'unknown') queue.outcomeUnknown = true;
  if (!queue.outcomeUnknown) {
    for (const sealed of takeSealed(queue))
      failTurns(gate, isOpening(sealed) ? takeWaiting(sealed.shardQueue) : sealed, notApplied);
    becomeQuiet(gate, queue);
  } else if (gate.stopped) giveUp(gate, queue);
  else resendLater(gate, queue);
};

const resendLater = (gate: OutputGateState, queue: CommitQueue): void => {
  setMode(queue, 'resending');
  gate.clock.after(computeResendPauseMs(queue), () => {
    if (!gate.stopped) sendBatches(gate, queue);
  });
};

/** Ends turns without a decision. Those without a waiter are sent again after a pause, if there is room. */
const failTurns = (gate: OutputGateState, failed: QueuedTurns, failure: TurnFailure): void => {
  const again: Turn[] = [];
  for (const turn of failed.turns) {
    if (turn.waiter === null && !gate.stopped && gate.pendingCount <= limits.pendingUnawaitedMax)
      again.push(turn);
    else {
      countPending(gate, -1);
      failTurn(turn, failure);
    }
  }
  if (again.length > 0) sendAgainLater(gate, { ...failed, turns: again });
};

const sendAgainLater = (gate: OutputGateState, failed: QueuedTurns): void => {
  gate.clock.after(computeResendPauseMs(gate.commitQueues.get(failed.shardQueue.shard)), () => {
    if (gate.stopped) return failTurns(gate, failed, notApplied);
    putBack(failed);
    return wakeQueue(gate, failed.shardQueue, false);
  });
};

const giveUp = (gate: OutputGateState, queue: CommitQueue): void => {
  for (const sealed of takeSealed(queue)) failTurns(gate, sealed, unknown);
  setMode(queue, 'quiet');
};

const stop = (gate: OutputGateState): void => {
  gate.refusing = true;
  gate.stopped = true;
  for (const queue of gate.commitQueues.list()) {
    for (const shardQueue of queue.shardQueues) {
      failTurns(gate, takeWaiting(shardQueue), { outcome: 'not_applied', code: 'draining' });
      shardQueue.queued = false;
    }
    queue.shardQueues = [];
    if (queue.mode === 'resending') giveUp(gate, queue);
  }
};

/** Expires turns with one timer per process instead of one per request. */
const scheduleSweep = (gate: OutputGateState): void => {
  gate.sweeping = true;
  gate.clock.after(limits.deadlineSweepMs, () => {
    gate.meters.recordPending(gate.pendingCount);
    countPending(gate, -gate.commitQueues.expireTurns(gate.clock.monotonicMs()));
    gate.sweeping = false;
    if (gate.pendingCount > 0) scheduleSweep(gate);
  });
};
