/**
 * Runs commands: one attempt per command, the only retry loop, and the adoption of replies.
 *
 * A write takes these steps: find or activate the actor → create the item → submit a turn to the output gate
 * → the store decides → the actors adopt the reply → the command returns its result. If the store does not
 * know the entity, nothing was counted and the attempt starts again. This file decides nothing about counted
 * facts. Invariant: an actor adopts a reply's state before any answer to that reply is sent, so a client that
 * has its answer can read its change (I9).
 */
import assert from 'node:assert/strict';
import { toInitItem } from './actors/activation.ts';
import type { Actor } from './actors/actor.ts';
import { createNotFoundError, type Registry } from './actors/registry.ts';
import type { OutputGate } from './commit/output-gate.ts';
import { type ItemReply, notApplied, Turn, type TurnFailure, type Waiter } from './commit/shard-queue.ts';
import type { Batch, BatchReply, Decision, Item } from './entity/items.ts';
import type { LazyState } from './entity/state.ts';
import { changeOutcome, createDamageError, DomainError, StorageError } from './errors.ts';
import type { DeliveryParts } from './flush/delivery.ts';
import type { EntityAddress, EntityRef, Target } from './ids.ts';
import { limits } from './limits.ts';
import type { Clock, FlushReceipt } from './ports.ts';

/** The parts of the engine that turns pass through. */
export interface Core {
  readonly registry: Registry;
  readonly outputGate: Pick<OutputGate, 'submit'>;
  readonly clock: Clock;
  readonly ledger: DeliveryParts['ledger'];
}

/** One write of the engine's interface: the item it sends about one entity, and how the decision is read. */
export interface Command<Result> extends Target {
  makeItem(ref: EntityRef): Item;
  /** Converts the decision to the result. Not called for an entity that the store does not know. */
  toResult(decided: ItemReply, actor: Actor): Result;
  /** May queue the attempt behind a pending one of the same actor; returns whether it did. */
  joinPending?(actor: Actor, attempt: Attempt<Result>): boolean;
  /** The turn left the output gate; `toResult` or `onFailed` may follow. */
  onLeft?(actor: Actor): void;
  /** The turn failed, or the store did not know the entity; then the attempt starts again. */
  onFailed?(failure: TurnFailure): void;
}

/**
 * Runs a command: one turn of an active entity. Hot when it resolves; rejects with a `DomainError` if no
 * decision comes in time or the entity does not exist.
 */
export const runCommand = <Result>(core: Core, command: Command<Result>): Promise<Result> =>
  new Attempt(core, command).start();

/**
 * A running command, and the waiter of its turns: one turn at a time, at most `limits.reactivationsMax`.
 * A class, because every stats post creates one.
 */
export class Attempt<Result> implements Waiter {
  private readonly core: Core;
  private readonly command: Command<Result>;
  private actor: Actor | null = null;
  private attemptsLeft: number = limits.reactivationsMax;
  /** Resolves the promise of `start` and ends the attempt. */
  resolve: (result: Result) => void = ignore;
  private reject: (error: unknown) => void = ignore;

  constructor(core: Core, command: Command<Result>) {
    this.core = core;
    this.command = command;
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
      core.registry
        .getOrActivate(command.kind, command.id)
        .then(
          (actor) => this.takeTurn(actor),
          (error: unknown) => this.reject(toNotApplied(error)),
        )
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
    if (reply.decision.kind === 'damaged') {
      command.onFailed?.(notApplied);
      this.reject(createDamageError('commit', actor.ref.address));
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

/** Creates the error for a turn without a decision. */
export const toFailureError = ({ outcome, code }: TurnFailure): DomainError => {
  const message =
    outcome === 'unknown'
      ? 'The store did not confirm in time; this may have been counted. Send it again: nothing counts twice.'
      : 'The store cannot take this now; nothing was counted. Try again.';
  return new DomainError(code, message, { outcome }, 1);
};

/**
 * Converts the failure of an activation for an item that is not sent yet. The item was not counted, even when
 * the outcome of the load or the `init` is unknown; so the error says `not_applied`.
 */
const toNotApplied = (error: unknown): unknown => {
  if (error instanceof StorageError) return changeOutcome(error, 'not_applied');
  const isUnknown = error instanceof DomainError && error.context.outcome === 'unknown';
  return isUnknown ? toFailureError({ outcome: 'not_applied', code: error.code }) : error;
};

/** Whether the store says that it does not have this listing. */
const isGone = ({ kind }: Decision): boolean => kind === 'absent' || kind === 'forgotten';

/** Sends an item without a waiter in the next batch. Lost with this process, or if too many items wait. */
export const sendUnawaited = (core: Core, item: Item): void =>
  core.outputGate.submit(new Turn(item, Number.POSITIVE_INFINITY, null));

/**
 * Sends one item that needs no actor. Hot when it resolves; rejects with a `DomainError` if no decision comes
 * in time.
 */
export const sendItem = (core: Core, item: Item): Promise<ItemReply> =>
  new Promise((resolve, reject) => {
    const deadlineMs = core.clock.monotonicMs() + limits.requestDeadlineMs;
    const fail = (failure: TurnFailure): void => reject(toFailureError(failure));
    core.outputGate.submit(new Turn(item, deadlineMs, { answer: resolve, fail }));
  });

/**
 * Sends a decision of the ledger. Initialises an entity that the store does not know first; resolves to
 * `forgotten` if the ledger does not know it either. Hot.
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

/** Selects the parts that `flush/delivery.ts` needs to send the ledger's decisions to the store. */
export const toDeliveryParts = (core: Core): DeliveryParts => ({
  ledger: core.ledger,
  send: (item) => sendOrInitialise(core, item),
});

/** Reactivates the entity of a lost item. Resolves to false if the ledger does not have it. */
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

/** Replaces an earlier listing of the address, to which the store fell back, by the ledger's listing. */
const replaceOlderListing = async (core: Core, { generation }: Actor, target: EntityRef) => {
  const [row] = await core.ledger.find([target]);
  if (row === null || row === undefined || row.ref.incarnation < target.incarnation) return false;
  await sendItem(core, toInitItem(row, generation));
  return true;
};

/**
 * Passes the states of a reply to the actors. `foreign`: other nodes also wrote to the shard, and no poll
 * will report which entities they changed, so the shard's other actors are discarded.
 */
export const adoptReply = (
  registry: Registry,
  batch: Batch,
  { reply, foreign }: { reply: BatchReply; foreign: boolean },
): void => {
  const { items } = batch;
  for (let index = 0; index < items.length; index++) {
    const { address, incarnation } = (items[index] as Item).target;
    const state = reply.states[index] as LazyState | null;
    if (state !== null) assert(state.version <= reply.version, 'a state is not newer than its shard');
    const actor = registry.findAt(address);
    // The state belongs to the newest listing at the address, so an actor of an earlier one is discarded.
    const isOlder = actor === undefined || actor.ref.incarnation < incarnation;
    if (isOlder || state === null || actor.generation !== reply.generation)
      recordMissedState(registry, batch, { reply, index });
    else if (actor.adopt(reply.generation, state)) registry.trackVotes(actor);
    registry.watches.notify(address);
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

/** Finds the listing that a reply's state belongs to: the newest one in the batch at that address. */
const findNewestTarget = (batch: Batch, address: EntityAddress): EntityRef =>
  batch.items
    .map(({ target }) => target)
    .filter((target) => target.address === address)
    .reduce((newest, target) => (target.incarnation > newest.incarnation ? target : newest));

/** Updates `flushedVotes` (`approximate_votes`) of live actors after a flush. */
export const adoptFlushed = (registry: Registry, receipt: FlushReceipt): void => {
  for (const { ref, flushedVotes } of receipt.entities) {
    const actor = registry.findAt(ref.address);
    if (actor?.ref.incarnation !== ref.incarnation) continue;
    if (actor.adoptFlushedVotes(flushedVotes)) registry.trackVotes(actor);
  }
};
