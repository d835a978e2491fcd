/**
 * Turns, and the queue of them that each shard has.
 *
 * Plain data and small functions, no timers and no I/O (the output gate has those). A turn is in one stage:
 * `open` (may still be taken back), `sealed` (part of a numbered batch; only the store's reply ends it), or
 * `closed`. Invariants: a sealed batch keeps its number until its outcome is known, and a number is reused
 * for a new batch only after a definite refusal (I3); a shard queue has at most one sealed batch. Only the
 * files of this folder use shard queues; `turns.ts` creates turns.
 */
import assert from 'node:assert/strict';
import { hasFallenBack, hasMoved } from '../entity/history.ts';
import type {
  Batch,
  BatchNumber,
  BatchReply,
  Decision,
  Item,
  ShardPosition,
  ShardVersion,
} from '../entity/items.ts';
import type { LazyState } from '../entity/state.ts';
import type { ErrorCode } from '../errors.ts';
import type { Shard } from '../ids.ts';

/** Why a turn got no decision. `not_applied`: not counted. `unknown`: it may be counted, now or later. */
export interface TurnFailure {
  readonly outcome: 'not_applied' | 'unknown';
  readonly code: ErrorCode;
}

export const notApplied: TurnFailure = { outcome: 'not_applied', code: 'store_unavailable' };
export const unknown: TurnFailure = { outcome: 'unknown', code: 'store_unavailable' };

/** The reply to one item: the decision, the entity's state after the batch, the shard's generation. */
export interface ItemReply {
  readonly decision: Decision;
  readonly state: LazyState | null;
  readonly generation: number;
}

/** Receives the outcome of a turn: one call of `answer` or of `fail`. */
export interface Waiter {
  /** The store decided. */
  answer(decided: ItemReply): void;
  /** No decision in time, or none at all. */
  fail(failure: TurnFailure): void;
  /**
   * The turn left its shard queue for good. Called exactly once, before `answer` or `fail`; a sealed turn
   * whose deadline passes fails first and is closed later.
   */
  onClosed?(): void;
}

/** One item to be sent to the store. A class, because every stats post creates one. */
export class Turn {
  /** Changes only in `markUnconfirmed`. */
  item: Item;
  /** Monotonic ms by which the waiter is answered; Infinity for no limit. */
  readonly deadlineMs: number;
  /** `null` for a turn that no caller waits for. */
  readonly waiter: Waiter | null;
  stage: 'open' | 'sealed' | 'closed' = 'open';
  /** Nothing waits for this item: it has no waiter, or its waiter was answered. */
  answered: boolean;

  constructor(item: Item, deadlineMs: number, waiter: Waiter | null) {
    this.item = item;
    this.deadlineMs = deadlineMs;
    this.waiter = waiter;
    this.answered = waiter === null;
  }
}

export interface QueuedTurns {
  readonly shardQueue: ShardQueue;
  readonly turns: readonly Turn[];
}
export interface SealedBatch extends QueuedTurns {
  readonly batch: Batch;
}

export interface ShardQueue {
  readonly shard: Shard;
  /**
   * The first batch of a numbering is empty, so no batch with items has number 1. If the store is emptied
   * while the outcome of a batch is unknown, the resent batch then meets a gap and does not count (I2).
   */
  readonly opensEmpty: boolean;
  /** The name under which this queue numbers its batches. Changes when the numbering restarts. */
  producer: string;
  /** How often the numbering restarted. */
  epoch: number;
  /** The last sequence number known to be applied. */
  sequence: number;
  /** The shard's last known generation, 0 before the first reply. */
  generation: number;
  /** The shard's last known version, -1 before the first reply. */
  version: number;
  /** The last known chain hash of the shard's history. */
  chainHash: number;
  /** The newest generation that this node published after a loss, 0 for none. Outlives a new numbering. */
  renewed: number;
  /** The store lost data of this shard: it needs a new generation before anything else is sent. */
  broken: boolean;
  /** The numbering restarted, and its first applied batch was not yet followed by a search for lost work. */
  restarted: boolean;
  /** A batch of this queue is among its commit queue's sealed ones. */
  sealed: boolean;
  open: Turn[];
  /** It is among its commit queue's `shardQueues`. */
  queued: boolean;
  /** Lost work, to be resent before the open turns. */
  lost: Turn[];
  /** The producer whose last number to query if there is nothing to send; `null` for no query. */
  query: string | null;
}

export const createShardQueue = (shard: Shard, producer: string, opensEmpty: boolean): ShardQueue => ({
  shard,
  opensEmpty,
  producer,
  epoch: 0,
  sequence: 0,
  generation: 0,
  version: -1,
  chainHash: 0,
  renewed: 0,
  broken: false,
  restarted: false,
  sealed: false,
  open: [],
  queued: false,
  lost: [],
  query: null,
});

/**
 * Seals the oldest turns as the next numbered batch, or a query if there are none; `null` for neither. Turns
 * stay open behind an empty first batch.
 */
export const seal = (shardQueue: ShardQueue, itemsMax: number): SealedBatch | null => {
  const { shard, query, producer, sequence } = shardQueue;
  shardQueue.query = null;
  const opening = shardQueue.opensEmpty && sequence === 0 && hasWork(shardQueue);
  const turns = opening ? [] : takeTurns(shardQueue, itemsMax);
  if (turns.length === 0 && query === null && !opening) return null;
  assert(!shardQueue.sealed, 'a shard queue has at most one sealed batch');
  shardQueue.sealed = true;
  if (turns.length === 0 && !opening)
    return { shardQueue, turns, batch: { shard, producer: query as string, sequence: 0, items: [] } };
  for (const turn of turns) turn.stage = 'sealed';
  const items = turns.map((turn) => turn.item);
  return { shardQueue, turns, batch: { shard, producer, sequence: sequence + 1, items } };
};

/** Whether this is the empty first batch of a numbering. If it is refused, so are the turns behind it. */
export const isOpening = ({ batch }: SealedBatch): boolean =>
  batch.sequence === 1 && batch.items.length === 0;

/** Takes the next turns in order, lost ones first. Nearly always it can take the open array as it is. */
const takeTurns = (shardQueue: ShardQueue, itemsMax: number): readonly Turn[] => {
  const { lost, open } = shardQueue;
  if (lost.length === 0 && open.length <= itemsMax && open.every(isOpen)) {
    shardQueue.open = [];
    return open;
  }
  const turns = lost.splice(0, itemsMax);
  let taken = 0;
  while (taken < open.length && turns.length < itemsMax) {
    const turn = open[taken++] as Turn;
    if (isOpen(turn)) turns.push(turn);
  }
  shardQueue.open = open.slice(taken);
  return turns;
};

const isOpen = (turn: Turn): boolean => turn.stage === 'open';

/** Adds a turn to the open batch. */
export const addOpen = (shardQueue: ShardQueue, turn: Turn): void => {
  // Most batches have one turn; a push into an empty array would allocate room for seventeen.
  if (shardQueue.open.length === 0) shardQueue.open = [turn];
  else shardQueue.open.push(turn);
};

export const hasWork = ({ open, lost, query }: ShardQueue): boolean =>
  open.length > 0 || lost.length > 0 || query !== null;

/** Whether the work includes lost turns, a query or a turn that a caller waits for. */
export const hasWaiters = ({ open, lost, query }: ShardQueue): boolean =>
  lost.length > 0 || query !== null || open.some((turn) => !turn.answered);

/**
 * Restarts the numbering after the store lost this producer's numbers (its tail, or all data). Uses a new
 * producer name, so that a late copy of an old batch never has the number that the store expects.
 */
export const restartNumbering = (shardQueue: ShardQueue): void => {
  shardQueue.epoch += 1;
  shardQueue.producer = `${shardQueue.producer.split('~', 1)[0]}~${shardQueue.epoch}`;
  shardQueue.sequence = 0;
  shardQueue.generation = 0;
  shardQueue.version = -1;
  shardQueue.chainHash = 0;
  shardQueue.broken = true;
  shardQueue.restarted = true;
};

/**
 * Whether lost work must be searched for before anything else is sent. This is also due after the first batch
 * of a new numbering: no later reply shows what the store lost between the last search and that batch.
 */
export const isRecoveryDue = ({ broken, restarted, sequence }: ShardQueue): boolean =>
  broken || (restarted && sequence > 0);

/**
 * Whether the reply shows that the store lost its tail; then the shard is broken. After a restart of the
 * numbering no version is known, so the generation decides: one below the newest that this node published
 * shows that the store fell back once more.
 */
export const recordLostTail = (shardQueue: ShardQueue, reply: BatchReply): boolean => {
  const fellBack = reply.generation < shardQueue.renewed || hasFallenBack(reply, shardQueue);
  if (fellBack) shardQueue.broken = true;
  return fellBack;
};

/** Records that lost work was searched for, and that the shard has a new generation if it lost any. */
export const recordRecovery = (shardQueue: ShardQueue): void => {
  shardQueue.broken = false;
  if (shardQueue.sequence > 0) shardQueue.restarted = false;
};

/** Reopens sealed turns whose batch was not applied and never will be. They go ahead of the open turns. */
export const putBack = ({ shardQueue, turns }: QueuedTurns): void => {
  for (const turn of turns) turn.stage = 'open';
  shardQueue.open = [...turns, ...shardQueue.open];
};

/** Returns the item to resend after the store lost a batch that it was in, applied at this position. */
export const markLost = (
  item: Item,
  { producer, sequence, position }: BatchNumber & { readonly position: ShardPosition },
): Item => {
  const copies = [...(item.lostAt?.copies ?? []), { producer, sequence }];
  return { ...item, lostAt: { ...(item.lostAt ?? position), copies } };
};

/** Returns the item for the buffer to keep. Adds `position` if the decision counted a lost item again. */
export const markRecounted = (item: Item, decision: Decision, position: ShardPosition): Item => {
  const { lostAt } = item;
  if (lostAt === undefined || 'contained' in decision) return item;
  return { ...item, lostAt: { ...lostAt, recounted: [...(lostAt.recounted ?? []), position] } };
};

/**
 * Marks the items of a batch as lost: the store does not have the batch now, but may have applied it before.
 * The true position is unknown, so the items get the earliest possible one: then none counts twice when it is
 * resent. To be called before the numbering restarts.
 */
export const markUnconfirmed = ({ shardQueue, batch, turns }: SealedBatch): void => {
  const { producer, sequence } = batch;
  const position = { generation: shardQueue.generation, version: shardQueue.version + 1 };
  for (const turn of turns) turn.item = markLost(turn.item, { producer, sequence, position });
};

/** Ends a turn with the store's decision. */
export const answerTurn = (turn: Turn, reply: ItemReply): void => {
  close(turn);
  if (turn.answered) return;
  turn.answered = true;
  turn.waiter?.answer(reply);
};

const close = (turn: Turn): void => {
  assert(turn.stage !== 'closed', 'a turn is closed once');
  turn.stage = 'closed';
  turn.waiter?.onClosed?.();
};

/** What a store may have lost before it replied to a batch. */
export interface BatchLosses {
  /** An earlier copy of the batch. That copy counted, and its effects may be in SQL. */
  readonly copy: boolean;
  /** The shard's newest writes before the batch. */
  readonly tail: boolean;
}

/**
 * Ends the turns of a batch with the reply to it. Two kinds of decisions are not passed on; their turns fail
 * with `unknown`:
 * - after a lost copy, a decision that counts nothing, because the copy may have counted the item (I2);
 * - after a lost tail, a decision that counts. The shard is behind SQL until it has a new generation; a node
 *   that starts before that would empty the shard, this batch included (I1). Resent items (those without a
 *   deadline) are answered all the same, because a failure would resend them.
 */
export const answerTurns = (turns: readonly Turn[], reply: BatchReply, lost: BatchLosses): void => {
  const { decisions, states, generation } = reply;
  for (let index = 0; index < turns.length; index++) {
    const turn = turns[index] as Turn;
    const decision = decisions?.[index];
    const isResent = turn.deadlineMs === Number.POSITIVE_INFINITY;
    if (decision === undefined || (isCounted(decision) ? lost.tail && !isResent : lost.copy))
      failTurn(turn, unknown);
    else answerTurn(turn, { decision, state: states[index] ?? null, generation });
  }
};

/** Whether the item took effect. */
export const isCounted = ({ kind }: Decision): boolean => kind === 'applied' || kind === 'voted';

/** Whether the batch is applied, now or earlier. */
export const isAnswered = ({ outcome }: BatchReply): boolean =>
  outcome === 'applied' || outcome === 'duplicate';

/** Throws if a reply does not fit its batch (a bug), before any reply of the call is adopted. */
export const assertReplies = (sealed: readonly SealedBatch[], replies: readonly BatchReply[]): void => {
  if (replies.length !== sealed.length) assert.fail(`${replies.length} replies to ${sealed.length} batches`);
  for (let index = 0; index < sealed.length; index++) {
    const { shardQueue, batch } = sealed[index] as SealedBatch;
    const reply = replies[index] as BatchReply;
    if (batch.sequence === 0) continue;
    assert(batch.sequence === shardQueue.sequence + 1, 'a batch has the number after the last one applied');
    if (!isAnswered(reply)) continue;
    const { decisions, states, lastSequence } = reply;
    assert(lastSequence >= batch.sequence, 'an answered batch is applied');
    assert(decisions === null || decisions.length === batch.items.length, 'one decision for each item');
    assert(states.length === batch.items.length, 'one state for each item');
  }
};

/** Ends a turn without a decision. */
export const failTurn = (turn: Turn, failure: TurnFailure): void => {
  close(turn);
  failWaiter(turn, failure);
};

const failWaiter = (turn: Turn, failure: TurnFailure): void => {
  if (turn.answered) return;
  turn.answered = true;
  turn.waiter?.fail(failure);
};

/**
 * Fails the waiter of a turn whose deadline has passed. An open turn is taken back (not counted); a sealed
 * one stays in its batch and only its waiter fails, with `unknown`. Returns whether the turn left its queue.
 */
export const expireTurn = (turn: Turn): boolean => {
  if (turn.stage === 'open') {
    failTurn(turn, { outcome: 'not_applied', code: 'deadline_passed' });
    return true;
  }
  failWaiter(turn, { outcome: 'unknown', code: 'deadline_passed' });
  return false;
};

/**
 * Removes and returns all turns that are not sealed, so that the caller can fail them. If one of them resends
 * a lost item, its waiter is the retransmit buffer, which submits the item again later.
 */
export const takeWaiting = (shardQueue: ShardQueue): QueuedTurns => {
  const turns = [...shardQueue.lost, ...shardQueue.open].filter((turn) => turn.stage !== 'closed');
  shardQueue.lost = [];
  shardQueue.open = [];
  shardQueue.query = null;
  return { shardQueue, turns };
};

export interface PolledVersion {
  /** The version that was known before the poll. */
  readonly known: ShardVersion;
  readonly now: ShardVersion;
}

/** Adopts the version that a poll read, unless a batch is out. A shard that fell back is broken. */
export const adoptPolledVersion = (
  shardQueue: ShardQueue,
  { known, now }: PolledVersion,
): 'none' | 'moved' | 'fell back' => {
  if (shardQueue.sealed) return 'none';
  const fellBack = hasFallenBack(now, known);
  if (fellBack) shardQueue.broken = true;
  else if (!hasMoved(now, shardQueue)) return 'none';
  setShardVersion(shardQueue, now);
  return fellBack ? 'fell back' : 'moved';
};

/** Records the shard's newest known version. */
export const setShardVersion = (shardQueue: ShardQueue, version: ShardVersion): void => {
  shardQueue.generation = version.generation;
  shardQueue.version = version.version;
  shardQueue.chainHash = version.chainHash;
};

/** Returns the shard's last known version. */
export const toShardVersion = ({ generation, version, chainHash }: ShardQueue): ShardVersion => ({
  generation,
  version,
  chainHash,
});
