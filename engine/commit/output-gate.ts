/**
 * The output gate: gathers a tick's turns into one call per lane and lets answers go only when the store
 * has confirmed.
 *
 * Modes of a lane:
 * - *quiet*: nothing open, nothing in flight;
 * - *gathering*: turns are open and the end of the tick is awaited. Entered by `submit`;
 * - *in flight*: one call of sealed batches is out; new turns gather behind it. Left by the reply;
 * - *resending*: the call's outcome is unknown. The same batches with the same numbers go out again, alone,
 *   after a pause, until the store answers (never renumbered: that would count twice). A refusal ends it only
 *   while no earlier copy can still take effect;
 * - *recovering*: a shard's store lost data. Nothing of that shard is sent before it has a new generation;
 *   first then goes what `ring.ts` kept of the lost work.
 * Bounds: `limits.pendingItemsMax` turns per process, `limits.batchItemsMax` per batch, deadlines of waiters.
 */

import assert from 'node:assert/strict';
import { hasFallenBack, hasMoved, isDirectSuccessor } from '../entity/history.ts';
import type { Batch, BatchReply, ShardVersion } from '../entity/items.ts';
import { StorageError } from '../errors.ts';
import { type Shard, shardCount, toShard } from '../ids.ts';
import { limits } from '../limits.ts';
import {
  type CommitQueue,
  CommitQueues,
  computeResendPauseMs,
  enqueue,
  recordFailure,
  recordRate,
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
  answerTurns,
  assertReplies,
  createShardQueue,
  failTurn,
  hasWaiters,
  hasWork,
  isAnswered,
  notApplied,
  putBack,
  restartNumbering,
  type SealedBatch,
  type ShardQueue,
  type Turn,
  type TurnFailure,
  takeWaiting,
  toShardVersion,
  unknown,
} from './shard-queue.ts';

export interface OutputGateParts extends Omit<RetransmitBufferParts, 'resend' | 'queryLastSequence'> {
  /** Unique for the life of this process: node name and start. */
  readonly producer: string;
  /** Adopts a reply's states before any answer goes out. `foreign`: others wrote to the shard meanwhile. */
  readonly adopt: (batch: Batch, reply: BatchReply, foreign: boolean) => void;
  /** Takes a new generation for shards whose store lost or never had data. */
  readonly recover: (shards: readonly Shard[]) => Promise<void>;
}

export interface OutputGate {
  /** Joins the shard's open batch, or fails the turn at once (full, stopped). */
  submit(turn: Turn): void;
  countPending(): number;
  /** Where the shard stood as last heard; version -1 when nothing was. */
  getVersion(shard: Shard): ShardVersion;
  /**
   * Takes a version that was read; `known` is `getVersion` before the read. Returns whether others changed
   * the shard; false while a batch of ours is out, whose reply will show it.
   */
  observeVersion(shard: Shard, seen: { readonly known: ShardVersion; readonly now: ShardVersion }): boolean;
  /** Whether no lane waits for a store that fails; `answeredMs` is when that last answered anything. */
  isHealthy(answeredMs?: number): boolean;
  /** Fails what is open, and stops resending. What is sealed ends `unknown`. */
  stop(): void;
  /** New turns fail from now on; what is pending goes its way. */
  refuseNewTurns(): void;
}

interface OutputGateState extends OutputGateParts {
  readonly commitQueues: CommitQueues;
  readonly shardQueues: readonly ShardQueue[];
  /** What the store may lose; `null` where it loses nothing. */
  readonly retransmitBuffer: RetransmitBuffer | null;
  pendingCount: number;
  sweeping: boolean;
  refusing: boolean;
  stopped: boolean;
}

/** Creates an empty gate. Batch numbers start at 0, so the producer's name must be new. */
export const createOutputGate = (parts: OutputGateParts): OutputGate => {
  const shardQueues = Array.from({ length: shardCount }, (_, shard) =>
    createShardQueue(toShard(shard), parts.producer),
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
    submit: (turn) => submit(gate, turn),
    countPending: () => gate.pendingCount,
    getVersion: (shard) => toShardVersion(gate.shardQueues[shard] as ShardQueue),
    observeVersion: (shard, seen) => observeVersion(gate, shard, seen),
    isHealthy: (answeredMs = Number.NEGATIVE_INFINITY) => gate.commitQueues.isHealthy(answeredMs),
    stop: () => stop(gate),
    refuseNewTurns: () => {
      gate.refusing = true;
    },
  };
};

const submit = (gate: OutputGateState, turn: Turn): void => {
  if (gate.refusing || gate.pendingCount >= limits.pendingItemsMax || gate.retransmitBuffer?.isFull()) {
    failTurn(turn, { outcome: 'not_applied', code: gate.refusing ? 'draining' : 'overloaded' });
    return;
  }
  const shard = turn.item.target.shard;
  const shardQueue = gate.shardQueues[shard] as ShardQueue;
  const queue = gate.commitQueues.get(shard);
  addOpen(shardQueue, turn);
  enqueue(queue, shardQueue);
  countPending(gate, 1);
  if (!gate.sweeping) scheduleSweep(gate);
  if (queue.mode === 'quiet') gather(gate, queue, !turn.answered);
  else if (!turn.answered) sendSooner(gate, queue);
};

/** The only writer of the number of pending turns. */
const countPending = (gate: OutputGateState, change: number): void => {
  gate.pendingCount += change;
  assert(gate.pendingCount >= 0, 'a pending turn leaves the gate once');
};

/** Lost work goes before what is open. */
const resendLost = (gate: OutputGateState, shard: Shard, turns: readonly Turn[]): boolean => {
  if (gate.stopped) return false;
  const shardQueue = gate.shardQueues[shard] as ShardQueue;
  shardQueue.lost.push(...turns);
  countPending(gate, turns.length);
  wakeQueue(gate, shardQueue);
  return true;
};

const queryLastSequence = (gate: OutputGateState, shard: Shard, producer: string): void => {
  if (gate.stopped) return;
  const shardQueue = gate.shardQueues[shard] as ShardQueue;
  shardQueue.query = producer;
  wakeQueue(gate, shardQueue);
};

const wakeQueue = (gate: OutputGateState, shardQueue: ShardQueue): void => {
  const queue = gate.commitQueues.get(shardQueue.shard);
  enqueue(queue, shardQueue);
  if (queue.mode === 'quiet') gather(gate, queue, true);
  else sendSooner(gate, queue);
};

const gather = (gate: OutputGateState, queue: CommitQueue, awaited: boolean): void => {
  setMode(queue, 'gathering');
  scheduleSeal(gate, queue, awaited);
};

/**
 * Until the end of the tick; under load a little longer, for a call costs more than what it carries, and
 * longer still while no caller waits for any of it (`awaited`).
 */
const scheduleSeal = (gate: OutputGateState, queue: CommitQueue, awaited: boolean): void => {
  const go = (): void => {
    queue.cancelLongWait = null;
    sealAndSend(gate, queue);
  };
  if (!queue.busy) gate.clock.endOfTick(go);
  else if (awaited) gate.clock.after(limits.gatherMs, go);
  else queue.cancelLongWait = gate.clock.after(limits.gatherUnawaitedMs, go);
};

/** A caller waits for what a lane gathers: the short gather timer replaces the long one. */
const sendSooner = (gate: OutputGateState, queue: CommitQueue): void => {
  if (queue.cancelLongWait === null) return;
  queue.cancelLongWait();
  queue.cancelLongWait = null;
  scheduleSeal(gate, queue, true);
};

const sealAndSend = (gate: OutputGateState, queue: CommitQueue): void => {
  const isBroken = (shardQueue: ShardQueue): boolean => shardQueue.broken && hasWork(shardQueue);
  const brokenQueues = queue.broken ? queue.shardQueues.filter(isBroken) : [];
  if (brokenQueues.length > 0) {
    return recover(gate, queue, brokenQueues);
  }
  sealQueues(queue, limits.batchItemsMax);
  if (queue.sealed.length > 0) sendBatches(gate, queue);
  else becomeQuiet(gate, queue);
};

/** After a call: gather again when something waits, else be quiet. */
const becomeQuiet = (gate: OutputGateState, queue: CommitQueue): void => {
  setMode(queue, 'quiet');
  if (queue.shardQueues.length > 0) gather(gate, queue, queue.shardQueues.some(hasWaiters));
};

const sendBatches = (gate: OutputGateState, queue: CommitQueue): void => {
  setMode(queue, 'in flight');
  const startedMs = gate.clock.monotonicMs();
  const batches = queue.sealed.map((sealed) => sealed.batch);
  const items = batches.reduce((sum, batch) => sum + batch.items.length, 0);
  recordRate(queue, items, startedMs);
  gate.hot.commit(batches, gate.rules()).then(
    (replies) => {
      gate.meters.recordCommit(items, gate.clock.monotonicMs() - startedMs);
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
    const one = sealed[index] as SealedBatch;
    const reply = replies[index] as BatchReply;
    const shardQueue = one.shardQueue;
    const answered = isAnswered(reply);
    if (answered && !gate.retransmitBuffer?.hasLost(one.batch, reply)) {
      adoptBatchReply(gate, one, reply);
      if (shardQueue.broken) brokenQueues.push(shardQueue);
      continue;
    }
    gate.meters.recordContinuityLoss(answered ? 'commits_lost' : reply.outcome);
    restartNumbering(shardQueue);
    brokenQueues.push(shardQueue);
    if (outcomeUnknown) failBatch(gate, one, unknown);
    else if (gate.stopped) failBatch(gate, one, notApplied);
    else putBack(shardQueue, one);
    enqueue(queue, shardQueue);
  }
  if (brokenQueues.length > 0) recover(gate, queue, brokenQueues);
  else becomeQuiet(gate, queue);
};

const observeVersion = (
  gate: OutputGateState,
  shard: Shard,
  seen: { known: ShardVersion; now: ShardVersion },
): boolean => {
  const shardQueue = gate.shardQueues[shard] as ShardQueue;
  const queue = gate.commitQueues.get(shard);
  if (shardQueue.sealed) return false;
  const { now } = seen;
  const fell = hasFallenBack(now, seen.known);
  if (fell) {
    // Before anything new is sent there, the shard gets a new generation.
    shardQueue.broken = true;
    queue.broken = true;
    gate.meters.recordContinuityLoss('version_regressed');
  }
  const moved = fell || hasMoved(now, shardQueue);
  if (moved)
    [shardQueue.generation, shardQueue.version, shardQueue.chainHash] = [
      now.generation,
      now.version,
      now.chainHash,
    ];
  return moved;
};

const adoptBatchReply = (gate: OutputGateState, sealed: SealedBatch, reply: BatchReply): void => {
  const { shardQueue } = sealed;
  // Of the time before the first reply nothing is known, so others may have written then.
  const foreign = !isDirectSuccessor(reply, shardQueue, sealed.batch);
  const fell = hasFallenBack(reply, shardQueue);
  if (fell) {
    shardQueue.broken = true;
    gate.meters.recordContinuityLoss('version_regressed');
  }
  gate.retransmitBuffer?.forgetOld(shardQueue.shard);
  const isQuestion = sealed.batch.sequence === 0;
  // What others did is not asked here; what fell is dropped when the line recovers.
  if (isQuestion && !fell) return;
  gate.retransmitBuffer?.keep(shardQueue, sealed.batch, reply);
  [shardQueue.generation, shardQueue.version, shardQueue.chainHash] = [
    reply.generation,
    reply.version,
    reply.chainHash,
  ];
  if (isQuestion) return;
  shardQueue.sequence = sealed.batch.sequence;
  gate.adopt(sealed.batch, reply, foreign);
  countPending(gate, -sealed.turns.length);
  answerTurns(sealed.turns, reply);
};

/** Takes new generations. Without one the turns of those shards fail, and the other shards go on. */
const recover = (gate: OutputGateState, queue: CommitQueue, shardQueues: readonly ShardQueue[]): void => {
  setMode(queue, 'recovering');
  queue.broken = true;
  renewShards(gate, shardQueues).then(
    () => {
      for (const shardQueue of shardQueues) shardQueue.broken = false;
      becomeQuiet(gate, queue);
    },
    () => {
      recordFailure(queue, gate.clock.monotonicMs());
      for (const shardQueue of shardQueues) failOpen(gate, shardQueue, notApplied);
      sealAndSend(gate, queue);
    },
  );
};

const renewShards = async (gate: OutputGateState, shardQueues: readonly ShardQueue[]): Promise<void> => {
  await gate.retransmitBuffer?.findLost(shardQueues);
  await gate.recover(shardQueues.map((shardQueue) => shardQueue.shard));
};

const handleCallFailure = (gate: OutputGateState, queue: CommitQueue, error: unknown): void => {
  const outcome = error instanceof StorageError ? error.outcome : 'unknown';
  gate.meters.recordCommitFailure(outcome);
  recordFailure(queue, gate.clock.monotonicMs());
  if (outcome === 'unknown') queue.outcomeUnknown = true;
  if (!queue.outcomeUnknown) {
    for (const one of takeSealed(queue)) failBatch(gate, one, notApplied);
    becomeQuiet(gate, queue);
  } else if (gate.stopped) {
    giveUp(gate, queue);
  } else {
    resendLater(gate, queue);
  }
};

const resendLater = (gate: OutputGateState, queue: CommitQueue): void => {
  setMode(queue, 'resending');
  gate.clock.after(computeResendPauseMs(queue), () => {
    if (!gate.stopped) sendBatches(gate, queue);
  });
};

const failBatch = (gate: OutputGateState, sealed: SealedBatch, failure: TurnFailure): void => {
  countPending(gate, -sealed.turns.length);
  for (const turn of sealed.turns) failTurn(turn, failure);
};

const failOpen = (gate: OutputGateState, shardQueue: ShardQueue, failure: TurnFailure): void => {
  for (const turn of takeWaiting(shardQueue)) {
    countPending(gate, -1);
    failTurn(turn, failure);
  }
};

const giveUp = (gate: OutputGateState, queue: CommitQueue): void => {
  for (const one of takeSealed(queue)) failBatch(gate, one, unknown);
  setMode(queue, 'quiet');
};

const stop = (gate: OutputGateState): void => {
  gate.refusing = true;
  gate.stopped = true;
  for (const queue of gate.commitQueues.list()) {
    for (const shardQueue of queue.shardQueues) {
      failOpen(gate, shardQueue, { outcome: 'not_applied', code: 'draining' });
      shardQueue.queued = false;
    }
    queue.shardQueues = [];
    if (queue.mode === 'resending') giveUp(gate, queue);
  }
};

/** One timer for the process, none per request. */
const scheduleSweep = (gate: OutputGateState): void => {
  gate.sweeping = true;
  gate.clock.after(limits.deadlineSweepMs, () => {
    gate.meters.recordPending(gate.pendingCount);
    countPending(gate, -gate.commitQueues.expireTurns(gate.clock.monotonicMs()));
    gate.sweeping = false;
    if (gate.pendingCount > 0) scheduleSweep(gate);
  });
};
