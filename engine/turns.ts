/**
 * How a command's turn travels: one attempt per command, the only retry loop, and the adoption of replies.
 *
 * The way of a write: find or activate the actor → make the item → submit a turn to the gate → the store
 * decides → the actors adopt the reply → the command concludes. Where the store does not know the entity,
 * nothing was counted, so the attempt begins again. Never decides anything about counted facts. Invariant: an
 * actor adopts a reply's state before any answer of that reply goes out, so a client that was answered finds
 * its change (I9). Used by `commands.ts` and the wiring.
 */
import assert from 'node:assert/strict';
import { toInitItem } from './actors/activation.ts';
import type { Actor } from './actors/actor.ts';
import { createNotFoundError, type Registry } from './actors/registry.ts';
import type { OutputGate } from './commit/output-gate.ts';
import { type ItemReply, notApplied, Turn, type TurnFailure, type Waiter } from './commit/shard-queue.ts';
import type { Batch, BatchReply, Decision, Item } from './entity/items.ts';
import type { LazyState } from './entity/lazy-state.ts';
import { DomainError, StorageError } from './errors.ts';
import type { DeliveryParts } from './flush/delivery.ts';
import type { EntityAddress, EntityKind, EntityRef } from './ids.ts';
import { limits } from './limits.ts';
import type { Clock, FlushReceipt } from './ports.ts';

/** The parts of the engine that turns pass through. */
export interface Core {
  readonly registry: Registry;
  readonly outputGate: Pick<OutputGate, 'submit'>;
  readonly clock: Clock;
  readonly ledger: DeliveryParts['ledger'];
}

export interface Target {
  readonly kind: EntityKind;
  readonly id: string;
}

/** One call of the engine's door: what it sends about one entity, and what the decision means. */
export interface Command<Result> extends Target {
  makeItem(ref: EntityRef): Item;
  /** Turns the decision into the result. Not called for an entity that the store does not know. */
  toResult(decided: ItemReply, actor: Actor): Result;
  /** Has the attempt wait for another one of the same actor instead of sending an item. */
  joinPending?(actor: Actor, attempt: Attempt<Result>): boolean;
  /** The turn left the gate; `toResult` or `onFailed` may follow. */
  onLeft?(actor: Actor): void;
  /** The turn had no decision, or one that sent the attempt back to its beginning. */
  onFailed?(failure: TurnFailure): void;
}

/**
 * Runs a command: one turn of an active entity. Hot when it resolves; rejects with a `DomainError` when no
 * decision comes in time, or the entity does not exist.
 */
export const runCommand = <Result>(core: Core, command: Command<Result>): Promise<Result> =>
  new Attempt(core, command).start();

/**
 * A command on its way, and the waiter of its turns: one at a time, at most `limits.reactivationsMax`.
 * A class, as every stats post makes one.
 */
export class Attempt<Result> implements Waiter {
  private readonly core: Core;
  private readonly command: Command<Result>;
  private actor: Actor | null;
  private attemptsLeft: number;
  /** Settles the promise of `start`; the attempt is over. */
  resolve: (result: Result) => void;
  private reject: (error: unknown) => void;

  constructor(core: Core, command: Command<Result>) {
    this.core = core;
    this.command = command;
    this.actor = null;
    this.attemptsLeft = limits.reactivationsMax;
    this.resolve = ignore;
    this.reject = ignore;
  }

  start(): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      this.begin();
    });
  }

  private begin(): void {
    const { core, command } = this;
    if (this.attemptsLeft === 0) {
      this.reject(createNotFoundError(command.kind, command.id));
      return;
    }
    this.attemptsLeft -= 1;
    const live = core.registry.findLive(command.kind, command.id);
    if (live !== undefined) this.takeTurn(live);
    else
      activateForWrite(core, command)
        .then((actor) => this.takeTurn(actor))
        .catch(this.reject);
  }

  private takeTurn(actor: Actor): void {
    const { core, command } = this;
    if (command.joinPending?.(actor, this)) return;
    const deadlineMs = core.clock.monotonicMs() + limits.requestDeadlineMs;
    const turn = new Turn(command.makeItem(actor.ref), deadlineMs, this);
    this.actor = actor;
    actor.pendingTurns += 1;
    core.outputGate.submit(turn);
  }

  answer(reply: ItemReply): void {
    const { core, command } = this;
    const actor = this.actor as Actor;
    if (isGone(reply.decision)) {
      command.onFailed?.(notApplied);
      core.registry.discard(actor.ref.address);
      this.begin();
      return;
    }
    try {
      this.resolve(command.toResult(reply, actor));
    } catch (error) {
      this.reject(error);
    }
  }

  fail(failure: TurnFailure): void {
    this.command.onFailed?.(failure);
    this.reject(toFailureError(failure));
  }

  onClosed(): void {
    const actor = this.actor as Actor;
    actor.pendingTurns -= 1;
    assert(actor.pendingTurns >= 0, 'a turn leaves its actor once');
    this.command.onLeft?.(actor);
  }
}

const ignore = (): void => {};

/** The store did not take the item: nothing was counted. */

/** The message for a turn without a decision. */
export const toFailureError = ({ outcome, code }: TurnFailure): DomainError => {
  const message =
    outcome === 'unknown'
      ? 'The store did not confirm in time; this may have been counted. Send it again: nothing counts twice.'
      : 'The store cannot take this now; nothing was counted. Try again.';
  return new DomainError(code, message, { outcome }, 1);
};

/**
 * The actor of something that was not sent yet: where its activation fails nothing of it was counted, also
 * when the outcome of the load or the `init` is unknown.
 */
const activateForWrite = ({ registry }: Core, { kind, id }: Target): Promise<Actor> =>
  registry.getOrActivate(kind, id).catch((error: unknown) => {
    throw toNotApplied(error);
  });

const toNotApplied = (error: unknown): unknown => {
  if (error instanceof StorageError) {
    const { operation, reason } = error;
    return new StorageError(operation, { outcome: 'not_applied', reason, cause: error });
  }
  const isOpen = error instanceof DomainError && error.context.outcome === 'unknown';
  return isOpen ? toFailureError({ outcome: 'not_applied', code: error.code }) : error;
};

/** Whether the store says that it does not hold this listing. */
const isGone = ({ kind }: Decision): boolean => kind === 'absent' || kind === 'forgotten';

/**
 * Sends an item without a waiter: it is in the next batch, lost only with the whole process or a refused
 * batch.
 */
export const sendUnawaited = (core: Core, item: Item): void =>
  core.outputGate.submit(new Turn(item, Number.POSITIVE_INFINITY, null));

/**
 * Sends one item that needs no actor. Hot when it resolves; rejects with a `DomainError` when no decision
 * comes in time.
 */
export const sendItem = (core: Core, item: Item): Promise<ItemReply> =>
  new Promise((resolve, reject) => {
    const deadlineMs = core.clock.monotonicMs() + limits.requestDeadlineMs;
    const fail = (failure: TurnFailure): void => reject(toFailureError(failure));
    core.outputGate.submit(new Turn(item, deadlineMs, { answer: resolve, fail }));
  });

/**
 * Sends a decision of the ledger. An entity that the store does not know is initialised first; one that the
 * ledger does not know either needs nothing.
 */
export const sendOrInitialise = async (core: Core, item: Item): Promise<Decision> => {
  const { decision } = await sendItem(core, item);
  if (decision.kind !== 'absent') return decision;
  try {
    await core.registry.getOrActivate(item.target.kind, item.target.id);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'not_found') return { kind: 'forgotten' };
    throw error;
  }
  return (await sendItem(core, item)).decision;
};

/** What brings the ledger's decisions to the store. */
export const toDeliveryParts = (core: Core): DeliveryParts => ({
  ledger: core.ledger,
  send: (item) => sendOrInitialise(core, item),
});

/** Activates the entity of a lost item again. False when the ledger does not know it. */
export const reactivate = async (core: Core, { target }: Item): Promise<boolean> => {
  core.registry.discard(target.address);
  try {
    const actor = await core.registry.getOrActivate(target.kind, target.id);
    return actor.ref.incarnation >= target.incarnation || (await replaceOlderListing(core, actor, target));
  } catch (error) {
    if (error instanceof DomainError && error.code === 'not_found') return false;
    throw error;
  }
};

/** The store fell back to an earlier listing of the address: the one in the ledger takes its place. */
const replaceOlderListing = async (
  core: Core,
  { generation }: Actor,
  target: EntityRef,
): Promise<boolean> => {
  const [row] = await core.ledger.find([target]);
  if (row === null || row === undefined || row.ref.incarnation < target.incarnation) return false;
  await sendItem(core, toInitItem(row, generation));
  return true;
};

/** Adopts the states of a reply. `foreign`: other nodes wrote to the shard meanwhile. */
export const adoptReply = (
  registry: Registry,
  batch: Batch,
  { reply, foreign }: { readonly reply: BatchReply; readonly foreign: boolean },
): void => {
  const { items } = batch;
  for (let index = 0; index < items.length; index++) {
    const { address, incarnation } = (items[index] as Item).target;
    const state = reply.states[index] as LazyState | null;
    if (state !== null) assert(state.version <= reply.version, 'a state is not newer than its shard');
    const actor = registry.findAt(address);
    // The state is of the newest listing named at the address, so an actor of an earlier one goes.
    if (actor === undefined || actor.ref.incarnation < incarnation)
      recordMissedState(registry, batch, { reply, index });
    else if (state === null || actor.generation !== reply.generation) registry.discard(address);
    else if (actor.adopt(reply.generation, state)) registry.trackVotes(actor);
  }
  if (foreign) registry.discardShard(batch.shard, new Set(items.map(({ target }) => target.address)));
};

interface ReplyPart {
  readonly reply: BatchReply;
  readonly index: number;
}

const recordMissedState = (registry: Registry, batch: Batch, { reply, index }: ReplyPart): void => {
  const { address } = (batch.items[index] as Item).target;
  const { generation } = reply;
  const state = reply.states[index] as LazyState | null;
  registry.discard(address);
  registry.recordLatestState(address, () => ({ ref: findNewestTarget(batch, address), generation, state }));
};

/** The listing a reply's state belongs to: the newest that the batch names at that address. */
const findNewestTarget = (batch: Batch, address: EntityAddress): EntityRef =>
  batch.items
    .map(({ target }) => target)
    .filter((target) => target.address === address)
    .reduce((newest, target) => (target.incarnation > newest.incarnation ? target : newest));

/** Corrects `approximate_votes` of live actors after a flush. */
export const adoptFlushed = (registry: Registry, receipt: FlushReceipt): void => {
  for (const { ref, flushedVotes } of receipt.entities) {
    const actor = registry.findAt(ref.address);
    if (actor?.ref.incarnation !== ref.incarnation) continue;
    if (actor.adoptFlushedVotes(flushedVotes)) registry.trackVotes(actor);
  }
};
