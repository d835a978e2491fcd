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
import { follows, hasFallen, hasMoved } from './entity/history.ts';
import type { Batch, BatchReply, ShardVersion } from './entity/items.ts';
import { StorageError } from './errors.ts';
import { type Shard, shardCount, toShard } from './ids.ts';
import {
  expireLane,
  isWell,
  type Lane,
  Lanes,
  list,
  noteFailure,
  noteRate,
  sealLines,
  setMode,
  takeSealed,
} from './lane.ts';
import { limits } from './limits.ts';
import { createRing, type Ring, type RingParts } from './ring.ts';
import {
  addOpen,
  answerTurns,
  assertReplies,
  createLine,
  failTurn,
  hasWork,
  isAnswered,
  isAwaited,
  putBack,
  restartLine,
  type SealedBatch,
  type ShardLine,
  type Turn,
  type TurnFailure,
  takeWaiting,
} from './shard.ts';

export interface GateParts extends Omit<RingParts, 'resend' | 'ask'> {
  /** Unique for the life of this process: node name and start. */
  readonly producer: string;
  /** Adopts a reply's states before any answer goes out. `foreign`: others wrote to the shard meanwhile. */
  readonly adopt: (batch: Batch, reply: BatchReply, foreign: boolean) => void;
  /** Takes a new generation for shards whose store lost or never had data. */
  readonly recover: (shards: readonly Shard[]) => Promise<void>;
}

export interface Gate {
  /** Joins the shard's open batch, or fails the turn at once (full, stopped). */
  submit(turn: Turn): void;
  pending(): number;
  /** Where the shard stood as last heard; version -1 when nothing was. */
  versionOf(shard: Shard): ShardVersion;
  /**
   * Takes what the store said of a shard; `known` is what `versionOf` gave when it was asked. True when the
   * shard was changed by others, so that what is cached of it may be old. False while a batch of ours is out:
   * its reply will tell.
   */
  observe(shard: Shard, seen: { readonly known: ShardVersion; readonly now: ShardVersion }): boolean;
  /** Whether no lane waits for a store that fails; `answeredMs` is when that last answered anything. */
  healthy(answeredMs?: number): boolean;
  /** Fails what is open, and stops resending. What is sealed ends `unknown`. */
  stop(): void;
  /** New turns fail from now on; what is pending goes its way. */
  refuse(): void;
}

interface GateState extends GateParts {
  readonly lanes: Lanes;
  readonly lineOf: readonly ShardLine[];
  /** What the store may lose; `null` where it loses nothing. */
  readonly ring: Ring | null;
  pendingCount: number;
  sweeping: boolean;
  refusing: boolean;
  stopped: boolean;
}

/**
 * A gate with nothing in it. The producer's sequences start at 0: the name must never have been used before.
 */
export const createGate = (parts: GateParts): Gate => {
  const lineOf = Array.from({ length: shardCount }, (_, shard) => createLine(toShard(shard), parts.producer));
  const gate: GateState = {
    ...parts,
    lanes: new Lanes(parts.hot),
    lineOf,
    ring: createRing({
      ...parts,
      resend: (shard, turns) => resendLost(gate, shard, turns),
      ask: (shard, producer) => ask(gate, shard, producer),
    }),
    pendingCount: 0,
    sweeping: false,
    refusing: false,
    stopped: false,
  };
  return {
    submit: (turn) => submit(gate, turn),
    pending: () => gate.pendingCount,
    versionOf: (shard) => {
      const { generation, version, mark } = gate.lineOf[shard] as ShardLine;
      return { generation, version, mark };
    },
    observe: (shard, seen) => observe(gate, shard, seen),
    healthy: (answeredMs = Number.NEGATIVE_INFINITY) =>
      [...gate.lanes.all()].every((lane) => isWell(lane, answeredMs)),
    stop: () => stop(gate),
    refuse: () => {
      gate.refusing = true;
    },
  };
};

const submit = (gate: GateState, turn: Turn): void => {
  if (gate.refusing || gate.pendingCount >= limits.pendingItemsMax || gate.ring?.full()) {
    failTurn(turn, { outcome: 'not_applied', code: gate.refusing ? 'draining' : 'overloaded' });
    return;
  }
  const shard = turn.item.target.shard;
  const line = gate.lineOf[shard] as ShardLine;
  const lane = gate.lanes.of(shard);
  addOpen(line, turn);
  list(lane, line);
  countPending(gate, 1);
  if (!gate.sweeping) sweepLater(gate);
  if (lane.mode === 'quiet') gather(gate, lane, !turn.answered);
  else if (!turn.answered) hurry(gate, lane);
};

/** The only writer of the number of pending turns. */
const countPending = (gate: GateState, change: number): void => {
  gate.pendingCount += change;
  assert(gate.pendingCount >= 0, 'a pending turn leaves the gate once');
};

/** Lost work goes before what is open. */
const resendLost = (gate: GateState, shard: Shard, turns: readonly Turn[]): boolean => {
  if (gate.stopped) return false;
  const line = gate.lineOf[shard] as ShardLine;
  line.lost.push(...turns);
  countPending(gate, turns.length);
  wake(gate, line);
  return true;
};

const ask = (gate: GateState, shard: Shard, producer: string): void => {
  if (gate.stopped) return;
  const line = gate.lineOf[shard] as ShardLine;
  line.question = producer;
  wake(gate, line);
};

const wake = (gate: GateState, line: ShardLine): void => {
  const lane = gate.lanes.of(line.shard);
  list(lane, line);
  if (lane.mode === 'quiet') gather(gate, lane, true);
  else hurry(gate, lane);
};

const gather = (gate: GateState, lane: Lane, awaited: boolean): void => {
  setMode(lane, 'gathering');
  sealLater(gate, lane, awaited);
};

/**
 * Until the end of the tick; under load a little longer, for a call costs more than what it carries, and
 * longer still while no caller waits for any of it (`awaited`).
 */
const sealLater = (gate: GateState, lane: Lane, awaited: boolean): void => {
  const go = (): void => {
    lane.hurry = null;
    sealAndSend(gate, lane);
  };
  if (!lane.busy) gate.clock.endOfTick(go);
  else if (awaited) gate.clock.after(limits.gatherMs, go);
  else lane.hurry = gate.clock.after(limits.gatherUnawaitedMs, go);
};

/** A caller waits for what a lane gathers: the short gather timer replaces the long one. */
const hurry = (gate: GateState, lane: Lane): void => {
  if (lane.hurry === null) return;
  lane.hurry();
  lane.hurry = null;
  sealLater(gate, lane, true);
};

const sealAndSend = (gate: GateState, lane: Lane): void => {
  const broken = lane.broken ? lane.lines.filter((line) => line.broken && hasWork(line)) : [];
  if (broken.length > 0) {
    recover(gate, lane, broken);
    return;
  }
  sealLines(lane, limits.batchItemsMax);
  if (lane.sealed.length > 0) send(gate, lane);
  else rest(gate, lane);
};

/** After a call: gather again when something waits, else be quiet. */
const rest = (gate: GateState, lane: Lane): void => {
  setMode(lane, 'quiet');
  if (lane.lines.length > 0) gather(gate, lane, lane.lines.some(isAwaited));
};

const send = (gate: GateState, lane: Lane): void => {
  setMode(lane, 'in flight');
  const startedMs = gate.clock.monotonicMs();
  const batches = lane.sealed.map((sealed) => sealed.batch);
  const items = batches.reduce((sum, batch) => sum + batch.items.length, 0);
  noteRate(lane, items, startedMs);
  gate.hot.commit(batches, gate.rules()).then(
    (replies) => {
      gate.meters.batchCommitted(items, gate.clock.monotonicMs() - startedMs);
      settle(gate, lane, replies);
    },
    (error: unknown) => callFailed(gate, lane, error),
  );
};

const settle = (gate: GateState, lane: Lane, replies: readonly BatchReply[]): void => {
  assertReplies(lane.sealed, replies);
  const { doubtful } = lane;
  const sealed = takeSealed(lane);
  lane.doubtful = false;
  lane.failures = 0;
  const broken: ShardLine[] = [];
  for (let index = 0; index < sealed.length; index++) {
    const one = sealed[index] as SealedBatch;
    const reply = replies[index] as BatchReply;
    const { line } = one;
    const answered = isAnswered(reply);
    if (answered && !gate.ring?.misses(one.batch, reply)) {
      settleBatch(gate, one, reply);
      if (line.broken) broken.push(line);
      continue;
    }
    gate.meters.gateBroken(answered ? 'tail lost' : reply.outcome);
    restartLine(line);
    broken.push(line);
    if (doubtful) failBatch(gate, one, unknown);
    else if (gate.stopped) failBatch(gate, one, notApplied);
    else putBack(line, one);
    list(lane, line);
  }
  if (broken.length > 0) recover(gate, lane, broken);
  else rest(gate, lane);
};

const observe = (
  gate: GateState,
  shard: Shard,
  seen: { known: ShardVersion; now: ShardVersion },
): boolean => {
  const line = gate.lineOf[shard] as ShardLine;
  const lane = gate.lanes.of(shard);
  if (line.sealed) return false;
  const { now } = seen;
  const fell = hasFallen(now, seen.known);
  if (fell) {
    // Before anything new is sent there, the shard gets a new generation.
    line.broken = true;
    lane.broken = true;
    gate.meters.gateBroken('version fell');
  }
  const moved = fell || hasMoved(now, line);
  if (moved) [line.generation, line.version, line.mark] = [now.generation, now.version, now.mark];
  return moved;
};

const settleBatch = (gate: GateState, sealed: SealedBatch, reply: BatchReply): void => {
  const { line } = sealed;
  // Of the time before the first reply nothing is known, so others may have written then.
  const foreign = !follows(reply, line, sealed.batch);
  const fell = hasFallen(reply, line);
  if (fell) {
    line.broken = true;
    gate.meters.gateBroken('version fell');
  }
  gate.ring?.forgetOld(line.shard);
  const isQuestion = sealed.batch.sequence === 0;
  // What others did is not asked here; what fell is dropped when the line recovers.
  if (isQuestion && !fell) return;
  gate.ring?.keep(line, sealed.batch, reply);
  [line.generation, line.version, line.mark] = [reply.generation, reply.version, reply.mark];
  if (isQuestion) return;
  line.sequence = sealed.batch.sequence;
  gate.adopt(sealed.batch, reply, foreign);
  countPending(gate, -sealed.turns.length);
  answerTurns(sealed.turns, reply);
};

/** Takes new generations. Without one the turns of those shards fail, and the other shards go on. */
const recover = (gate: GateState, lane: Lane, lines: readonly ShardLine[]): void => {
  setMode(lane, 'recovering');
  lane.broken = true;
  renew(gate, lines).then(
    () => {
      for (const line of lines) line.broken = false;
      rest(gate, lane);
    },
    () => {
      noteFailure(lane, gate.clock.monotonicMs());
      for (const line of lines) failOpen(gate, line, notApplied);
      sealAndSend(gate, lane);
    },
  );
};

const renew = async (gate: GateState, lines: readonly ShardLine[]): Promise<void> => {
  await gate.ring?.findLost(lines);
  await gate.recover(lines.map((line) => line.shard));
};

const notApplied: TurnFailure = { outcome: 'not_applied', code: 'store_unavailable' };
const unknown: TurnFailure = { outcome: 'unknown', code: 'store_unavailable' };

const callFailed = (gate: GateState, lane: Lane, error: unknown): void => {
  const outcome = error instanceof StorageError ? error.outcome : 'unknown';
  gate.meters.commitFailed(outcome);
  noteFailure(lane, gate.clock.monotonicMs());
  if (outcome === 'unknown') lane.doubtful = true;
  if (!lane.doubtful) {
    for (const one of takeSealed(lane)) failBatch(gate, one, notApplied);
    rest(gate, lane);
  } else if (gate.stopped) {
    giveUp(gate, lane);
  } else {
    resendLater(gate, lane);
  }
};

const resendLater = (gate: GateState, lane: Lane): void => {
  setMode(lane, 'resending');
  const pauseMs = Math.min(
    limits.resendPauseMaxMs,
    limits.resendPauseMinMs * 2 ** Math.min(lane.failures, 10),
  );
  gate.clock.after(pauseMs, () => {
    if (!gate.stopped) send(gate, lane);
  });
};

const failBatch = (gate: GateState, sealed: SealedBatch, failure: TurnFailure): void => {
  countPending(gate, -sealed.turns.length);
  for (const turn of sealed.turns) failTurn(turn, failure);
};

const failOpen = (gate: GateState, line: ShardLine, failure: TurnFailure): void => {
  for (const turn of takeWaiting(line)) {
    countPending(gate, -1);
    failTurn(turn, failure);
  }
};

const giveUp = (gate: GateState, lane: Lane): void => {
  for (const one of takeSealed(lane)) failBatch(gate, one, unknown);
  setMode(lane, 'quiet');
};

const stop = (gate: GateState): void => {
  gate.refusing = true;
  gate.stopped = true;
  for (const lane of gate.lanes.all()) {
    for (const line of lane.lines) failOpen(gate, line, { outcome: 'not_applied', code: 'draining' });
    for (const line of lane.lines) line.listed = false;
    lane.lines = [];
    if (lane.mode === 'resending') giveUp(gate, lane);
  }
};

/** Looks for passed deadlines while anything is pending: one timer for the process, none per request. */
const sweepLater = (gate: GateState): void => {
  gate.sweeping = true;
  gate.clock.after(limits.deadlineSweepMs, () => {
    gate.meters.pending(gate.pendingCount);
    sweep(gate, gate.clock.monotonicMs());
    gate.sweeping = false;
    if (gate.pendingCount > 0) sweepLater(gate);
  });
};

const sweep = (gate: GateState, nowMs: number): void => {
  for (const lane of gate.lanes.all()) countPending(gate, -expireLane(lane, nowMs));
};
