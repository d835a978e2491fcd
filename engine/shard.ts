/**
 * Turns, and the line of them that each shard has.
 *
 * Plain data and small functions, no timers and no I/O (those are the gate's). A turn is in exactly one
 * place: `open` (may still be taken back), `sealed` (part of a numbered batch; only the store's reply ends
 * it), or nowhere (closed). Invariants: a sealed batch keeps its number until its outcome is known, and a
 * number is used for a new batch only after a definite refusal (I3); a line has at most one sealed batch.
 * Only the gate, its lanes and the ring use the lines; turns are made by `turns.ts`.
 */
import assert from 'node:assert/strict';
import type { HeldState } from './entity/held.ts';
import type { Batch, BatchReply, Decision, Item } from './entity/items.ts';
import type { ErrorCode } from './errors.ts';
import type { Shard } from './ids.ts';

/**
 * Why a turn got no decision. `not_applied`: nothing was counted. `unknown`: it may have been, or may yet be.
 */
export interface TurnFailure {
  readonly outcome: 'not_applied' | 'unknown';
  readonly code: ErrorCode;
}

/** The store's word on one item: the decision, the entity's state after the batch, the shard's generation. */
export interface Decided {
  readonly decision: Decision;
  readonly state: HeldState | null;
  readonly generation: number;
}

/** The party that waits for a turn. At most one of `answer` and `fail` is called, once. */
export interface Waiter {
  /** The store's decision. */
  answer(decided: Decided): void;
  /** No decision in time, or none at all. */
  fail(failure: TurnFailure): void;
  /**
   * The turn left its line for good. Called exactly once: before `answer`, and before `fail`, unless a passed
   * deadline failed a sealed turn before.
   */
  closed?(): void;
}

/** One item on its way to the store. A class, as every stats post makes one. */
export class Turn {
  readonly item: Item;
  /** Monotonic ms by which the waiter is answered; Infinity when nothing limits the wait. */
  readonly deadlineMs: number;
  /** `null` for a turn that no caller waits for. */
  readonly waiter: Waiter | null;
  place: 'open' | 'sealed' | 'closed';
  /** The waiter has its answer or failure, or there is no waiter. */
  answered: boolean;

  constructor(item: Item, deadlineMs: number, waiter: Waiter | null) {
    this.item = item;
    this.deadlineMs = deadlineMs;
    this.waiter = waiter;
    this.place = 'open';
    this.answered = waiter === null;
  }
}

export interface SealedBatch {
  readonly line: ShardLine;
  readonly batch: Batch;
  readonly turns: readonly Turn[];
}

export interface ShardLine {
  readonly shard: Shard;
  /** Who numbers this line's batches. Changes when the numbering starts again. */
  producer: string;
  /** Times the numbering started again. */
  epoch: number;
  /** The last sequence number known to be applied. */
  sequence: number;
  /** The shard's generation as last heard, 0 before the first reply. */
  generation: number;
  /** The shard's version as last heard, -1 before the first reply. */
  version: number;
  /** The mark of the shard's history as last heard. */
  mark: number;
  /** The store lost data of this shard: it needs a new generation before anything is sent. */
  broken: boolean;
  /** A batch of this line is in its lane's call. */
  sealed: boolean;
  open: Turn[];
  /** Its lane will look at it: the flag of `list`. */
  listed: boolean;
  /** Lost work, to be sent before what is open. */
  lost: Turn[];
  /** Asks the store for its last number when there is nothing to send; `null` when nothing is to be asked. */
  question: string | null;
}

export const createLine = (shard: Shard, producer: string): ShardLine => ({
  shard,
  producer,
  epoch: 0,
  sequence: 0,
  generation: 0,
  version: -1,
  mark: 0,
  broken: false,
  sealed: false,
  open: [],
  listed: false,
  lost: [],
  question: null,
});

/** Turns the oldest open turns into the next numbered batch, or a question; `null` when nothing is left. */
export const seal = (line: ShardLine, itemsMax: number): SealedBatch | null => {
  const { shard, question } = line;
  line.question = null;
  const turns = takeTurns(line, itemsMax);
  if (turns.length === 0 && question === null) return null;
  assert(!line.sealed, 'a line has at most one sealed batch');
  line.sealed = true;
  if (turns.length === 0)
    return { line, turns, batch: { shard, producer: question as string, sequence: 0, items: [] } };
  for (const turn of turns) turn.place = 'sealed';
  const items = turns.map((turn) => turn.item);
  return { line, turns, batch: { shard, producer: line.producer, sequence: line.sequence + 1, items } };
};

/** The next turns in order, lost ones first. Nearly always that is all that is open, as it lies. */
const takeTurns = (line: ShardLine, itemsMax: number): readonly Turn[] => {
  const { lost, open } = line;
  if (lost.length === 0 && open.length <= itemsMax && open.every(isOpen)) {
    line.open = [];
    return open;
  }
  const turns = lost.splice(0, itemsMax);
  let taken = 0;
  while (taken < open.length && turns.length < itemsMax) {
    const turn = open[taken++] as Turn;
    if (isOpen(turn)) turns.push(turn);
  }
  line.open = open.slice(taken);
  return turns;
};

const isOpen = (turn: Turn): boolean => turn.place === 'open';

/** Adds a turn to the open batch. */
export const addOpen = (line: ShardLine, turn: Turn): void => {
  // A batch of one is the rule: pushed into an empty array, it would get room for seventeen.
  if (line.open.length === 0) line.open = [turn];
  else line.open.push(turn);
};

export const hasWork = ({ open, lost, question }: ShardLine): boolean =>
  open.length > 0 || lost.length > 0 || question !== null;

/** Whether somebody waits for some of the work. */
export const isAwaited = ({ open, lost, question }: ShardLine): boolean =>
  lost.length > 0 || question !== null || open.some((turn) => !turn.answered);

/**
 * The store does not know this line's numbers (it lost its tail, or all): numbering starts again under a new
 * name, because a late copy of an old batch must never find its number expected again.
 */
export const restartLine = (line: ShardLine): void => {
  line.epoch += 1;
  line.producer = `${line.producer.split('~', 1)[0]}~${line.epoch}`;
  line.sequence = 0;
  line.generation = 0;
  line.version = -1;
  line.mark = 0;
  line.broken = true;
};

/** Puts the turns of a batch that was certainly not applied, and never will be, back in front. */
export const putBack = (line: ShardLine, sealed: SealedBatch): void => {
  for (const turn of sealed.turns) turn.place = 'open';
  line.open = [...sealed.turns, ...line.open];
};

/** Ends a turn with the store's decision. */
export const answerTurn = (turn: Turn, decided: Decided): void => {
  close(turn);
  if (turn.answered) return;
  turn.answered = true;
  turn.waiter?.answer(decided);
};

const close = (turn: Turn): void => {
  assert(turn.place !== 'closed', 'a turn is closed once');
  turn.place = 'closed';
  turn.waiter?.closed?.();
};

/** Ends the turns of a batch with the reply to it. */
export const answerTurns = (turns: readonly Turn[], reply: BatchReply): void => {
  const { decisions, states, generation } = reply;
  for (let index = 0; index < turns.length; index++) {
    const turn = turns[index] as Turn;
    const decision = decisions?.[index];
    if (decision === undefined) failTurn(turn, { outcome: 'unknown', code: 'store_unavailable' });
    else answerTurn(turn, { decision, state: states[index] ?? null, generation });
  }
};

/** The batch is applied, now or earlier. */
export const isAnswered = ({ outcome }: BatchReply): boolean =>
  outcome === 'applied' || outcome === 'duplicate';

/** A reply that does not fit its batch is a bug: nothing of the call is taken over. */
export const assertReplies = (sealed: readonly SealedBatch[], replies: readonly BatchReply[]): void => {
  if (replies.length !== sealed.length) assert.fail(`${replies.length} replies to ${sealed.length} batches`);
  for (let index = 0; index < sealed.length; index++) {
    const { line, batch } = sealed[index] as SealedBatch;
    const reply = replies[index] as BatchReply;
    if (batch.sequence === 0) continue;
    assert(batch.sequence === line.sequence + 1, 'a batch has the number after the last one applied');
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
 * Answers a waiter whose deadline has passed. An open turn is taken back (nothing was counted); a sealed one
 * stays in its batch and only its waiter is answered, with `unknown`. Returns whether the turn left the line.
 */
export const expireTurn = (turn: Turn): boolean => {
  if (turn.place === 'open') {
    failTurn(turn, { outcome: 'not_applied', code: 'deadline_passed' });
    return true;
  }
  failWaiter(turn, { outcome: 'unknown', code: 'deadline_passed' });
  return false;
};

/** Takes out all turns that are not sealed: they are to fail. Lost ones come again by themselves. */
export const takeWaiting = (line: ShardLine): readonly Turn[] => {
  const waiting = [...line.lost, ...line.open].filter((turn) => turn.place !== 'closed');
  line.lost = [];
  line.open = [];
  line.question = null;
  return waiting;
};
