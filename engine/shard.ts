/**
 * One shard's line of work: the open batch, the sealed one, the dense sequence.
 *
 * Plain data and small functions, no timers and no I/O (those are the gate's). A turn is in exactly one
 * place: `open` (may still be taken back), `sealed` (part of a numbered batch; only the store's word ends
 * it), or nowhere (closed). Invariant: a sealed batch keeps its number until its outcome is known, and a
 * number is used for a new batch only after a definite refusal (I3).
 */
import assert from 'node:assert/strict';
import type { HeldState } from './entity/held.ts';
import { isBefore, markAfter } from './entity/history.ts';
import type { Batch, BatchReply, Decision, Item, ShardVersion } from './entity/items.ts';
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

/** One item on its way to the store, and who waits for it. */
export interface Turn {
  readonly item: Item;
  /** Monotonic ms by which `answer` or `fail` is called; Infinity when nobody waits. */
  readonly deadlineMs: number;
  place: 'open' | 'sealed' | 'closed';
  answered: boolean;
  /** The store's decision. Called at most once, never after `fail`. */
  answer(decided: Decided): void;
  /** No decision in time, or none at all. Called at most once, never after `answer`. */
  fail(failure: TurnFailure): void;
  /** The turn left the line for good, answered or not. Called exactly once, after the other two. */
  closed?(): void;
}

export interface SealedBatch {
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
  open: Turn[];
  /** Its lane will look at it: flag of `list` in lane.ts. */
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
  if (turns.length === 0)
    return question === null ? null : { turns, batch: { shard, producer: question, sequence: 0, items: [] } };
  for (const turn of turns) turn.place = 'sealed';
  const items = turns.map((turn) => turn.item);
  return { turns, batch: { shard, producer: line.producer, sequence: line.sequence + 1, items } };
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
  assert(turn.place !== 'closed', 'a turn is closed once');
  turn.place = 'closed';
  if (!turn.answered) {
    turn.answered = true;
    turn.answer(decided);
  }
  turn.closed?.();
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

/** Ends a turn without one. */
export const failTurn = (turn: Turn, failure: TurnFailure): void => {
  assert(turn.place !== 'closed', 'a turn is closed once');
  turn.place = 'closed';
  if (!turn.answered) {
    turn.answered = true;
    turn.fail(failure);
  }
  turn.closed?.();
};

/**
 * Answers a waiter whose deadline has passed. An open turn is taken back (nothing was counted); a sealed one
 * stays in its batch and only its waiter goes, told `unknown`. Returns whether the turn left the line.
 */
export const expireTurn = (turn: Turn): boolean => {
  if (turn.place === 'open') {
    failTurn(turn, { outcome: 'not_applied', code: 'deadline_passed' });
    return true;
  }
  if (!turn.answered) {
    turn.answered = true;
    turn.fail({ outcome: 'unknown', code: 'deadline_passed' });
  }
  return false;
};

/** The store lost its tail: it stands before a place where it was seen, or there with another past. */
export const hasFallen = (now: ShardVersion, known: ShardVersion): boolean => {
  if (now.version < known.version || now.generation < known.generation) return true;
  return now.generation === known.generation && now.version === known.version && now.mark !== known.mark;
};

/** Nothing but this batch came to what was known of the shard. */
export const follows = (reply: BatchReply, line: ShardLine, batch: Batch): boolean => {
  if (reply.generation !== line.generation) return false;
  if (reply.version === line.version) return reply.mark === line.mark;
  return reply.version === line.version + 1 && reply.mark === markAfter(line.mark, batch);
};

/** Others wrote to the shard since. */
export const hasMoved = (now: ShardVersion, line: ShardLine): boolean => isBefore(line, now);

/** Takes out all turns that are not sealed: they are to fail. Lost ones come again by themselves. */
export const takeWaiting = (line: ShardLine): readonly Turn[] => {
  const waiting = [...line.lost, ...line.open].filter((turn) => turn.place !== 'closed');
  line.lost = [];
  line.open = [];
  line.question = null;
  return waiting;
};

/** Answers the waiters of open turns whose deadline has passed; the number of turns that left. */
export const expireOpen = (line: ShardLine, nowMs: number): number => {
  let expired = 0;
  for (const turn of line.open) if (turn.deadlineMs <= nowMs && expireTurn(turn)) expired += 1;
  if (expired > 0) line.open = line.open.filter((turn) => turn.place === 'open');
  return expired;
};
