/**
 * The engine's inside: its parts, what happens when the store has spoken, and how one turn is taken.
 *
 * Shared by the operations and the wiring. Never decides anything about counted facts. Invariant: an actor
 * adopts a reply's state before any answer of that reply goes out, so who was answered finds his change (I9).
 */
import { initOf, type Loader } from './activation.ts';
import type { Actor } from './actor.ts';
import type { DeliveryParts } from './delivery.ts';
import type { HeldState } from './entity/held.ts';
import type { Batch, BatchReply, CommitRules, Decision, Item } from './entity/items.ts';
import { DomainError, StorageError } from './errors.ts';
import type { Flusher } from './flusher.ts';
import type { Freshness } from './freshness.ts';
import type { Gate } from './gate.ts';
import type { EntityAddress, EntityKind, EntityRef, Shard } from './ids.ts';
import { limits } from './limits.ts';
import type { EngineMeters } from './meters.ts';
import type { Clock, HotStore, Ledger, Settlement } from './ports.ts';
import { notFound, type Registry } from './registry.ts';
import type { Decided, Turn, TurnFailure } from './shard.ts';

export interface EngineParts {
  readonly hot: HotStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly meters: EngineMeters;
  /** Unique for the life of this process, e.g. node name and a boot UUID. */
  readonly producer: string;
  readonly rules: () => CommitRules;
  /** 32 random bytes, the same for the whole fleet and for ever. */
  readonly visitorSecret: Uint8Array;
  /** UUIDs for votes; version 7 keeps their index dense. */
  readonly newId: () => string;
  readonly flushIntervalMs: number;
  readonly actorsMax: number;
  /** Other nodes use the same stores. Default: alone. */
  readonly shared?: boolean;
  /** The shards this node flushes now, `null` for all (it is alone). Default: all. */
  readonly flushShards?: () => readonly Shard[] | null;
  /** The ledger came back from an older copy: send it all totals again. */
  readonly reflush: boolean;
}

export interface Core extends EngineParts {
  readonly registry: Registry;
  readonly gate: Gate;
  readonly flusher: Flusher;
  readonly freshness: Freshness;
  readonly load: Loader;
  /** The number of a client address. */
  readonly visitorOf: (clientAddress: string) => string;
  phase: 'new' | 'started' | 'draining';
  /** The outbox passed its high mark and has not come under the low one. */
  votesPaused: boolean;
}

export interface Target {
  readonly kind: EntityKind;
  readonly id: string;
}

/**
 * Takes the store's word for every entity of a reply. `foreign`: other nodes wrote to the shard meanwhile.
 */
export const adopt = (
  core: Core,
  batch: Batch,
  { reply, foreign }: { readonly reply: BatchReply; readonly foreign: boolean },
): void => {
  const { registry } = core;
  const { items } = batch;
  for (let index = 0; index < items.length; index++) {
    const { address, incarnation } = (items[index] as Item).target;
    const actor = registry.at(address);
    // The state is of the newest listing named at the address, so an actor of an earlier one goes.
    if (actor === undefined || actor.ref.incarnation < incarnation) missed(core, batch, { reply, index });
    else adoptState(core, actor, { reply, index });
  }
  if (foreign) registry.discardShard(batch.shard, new Set(items.map(({ target }) => target.address)));
};

interface Word {
  readonly reply: BatchReply;
  readonly index: number;
}

const adoptState = ({ registry }: Core, actor: Actor, { reply, index }: Word): void => {
  const state = reply.states[index] as HeldState | null;
  if (state === null || actor.generation !== reply.generation) registry.discard(actor.ref.address);
  else if (actor.adopt(state)) registry.adopted(actor);
};

const missed = ({ registry }: Core, batch: Batch, { reply, index }: Word): void => {
  const { address } = (batch.items[index] as Item).target;
  const { generation } = reply;
  const state = reply.states[index] as HeldState | null;
  registry.discard(address);
  registry.heard(address, () => ({ ref: newestNamed(batch, address), generation, state }));
};

/** The listing a reply's state belongs to: the newest that the batch names at that address. */
const newestNamed = (batch: Batch, address: EntityAddress): EntityRef =>
  batch.items
    .map(({ target }) => target)
    .filter((target) => target.address === address)
    .reduce((newest, target) => (target.incarnation > newest.incarnation ? target : newest));

/** Corrects `approximate_votes` of live actors after a flush. */
export const adoptFlushed = (core: Core, settlement: Settlement): void => {
  for (const { ref, flushedVotes } of settlement.entities) {
    const actor = core.registry.at(ref.address);
    if (actor?.ref.incarnation !== ref.incarnation) continue;
    if (actor.adoptFlushedVotes(flushedVotes)) core.registry.adopted(actor);
  }
};

/** The words for a turn without a decision. */
export const failureError = ({ outcome, code }: TurnFailure): DomainError => {
  const words =
    outcome === 'unknown'
      ? 'The store did not confirm in time; this may have been counted. Send it again: nothing counts twice.'
      : 'The store cannot take this now; nothing was counted. Try again.';
  return new DomainError(code, words, { outcome }, 1);
};

/**
 * Sends one item that needs no actor. Hot when it resolves; rejects with a `DomainError` when no decision
 * comes in time.
 */
export const send = (core: Core, item: Item): Promise<Decided> =>
  new Promise((resolve, reject) => {
    core.gate.submit({
      item,
      deadlineMs: core.clock.monotonicMs() + limits.requestDeadlineMs,
      place: 'open',
      answered: false,
      answer: resolve,
      fail: (failure) => reject(failureError(failure)),
    });
  });

/** A turn nobody waits for. */
class Unawaited implements Turn {
  readonly item: Item;
  readonly deadlineMs = Number.POSITIVE_INFINITY;
  place: Turn['place'] = 'open';
  answered = true;
  private readonly actor: Actor | undefined;

  constructor(item: Item, actor: Actor | undefined) {
    this.item = item;
    this.actor = actor;
  }

  answer(): void {}

  fail(): void {}

  closed(): void {
    if (this.actor !== undefined) this.actor.turns -= 1;
  }
}

/**
 * Sends an item nobody waits for: it is in the next batch, lost only with the whole process or a refused one.
 */
export const sendUnawaited = (core: Core, item: Item): void => {
  const actor = core.registry.at(item.target.address);
  if (actor !== undefined) actor.turns += 1;
  core.gate.submit(new Unawaited(item, actor));
};

/** What a turn asks of the store about one entity, and what the store's word means to the caller. */
export interface Step<Result> {
  readonly kind: EntityKind;
  readonly id: string;
  make(core: Core, ref: EntityRef): Item;
  /** Not asked about an entity that is gone. */
  conclude(core: Core, decided: Decided, actor: Actor): Result;
}

/** Who waits for a step, and how often it may still be begun. */
interface Asked<Result> {
  readonly core: Core;
  readonly step: Step<Result>;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  attemptsLeft: number;
}

/** The turn of a step. A class, as every stats post makes one. */
class StepTurn<Result> implements Turn {
  readonly item: Item;
  readonly deadlineMs: number;
  place: Turn['place'] = 'open';
  answered = false;
  private readonly asked: Asked<Result>;
  private readonly actor: Actor;

  constructor(asked: Asked<Result>, actor: Actor) {
    const { core, step } = asked;
    this.item = step.make(core, actor.ref);
    this.deadlineMs = core.clock.monotonicMs() + limits.requestDeadlineMs;
    this.asked = asked;
    this.actor = actor;
  }

  answer(decided: Decided): void {
    const { asked, actor } = this;
    if (!isGone(decided.decision)) {
      try {
        asked.resolve(asked.step.conclude(asked.core, decided, actor));
      } catch (error) {
        asked.reject(error);
      }
      return;
    }
    asked.core.registry.discard(actor.ref.address);
    begin(asked);
  }

  fail(failure: TurnFailure): void {
    this.asked.reject(failureError(failure));
  }

  closed(): void {
    this.actor.turns -= 1;
  }
}

const begin = <Result>(asked: Asked<Result>): void => {
  const { core, step } = asked;
  const { kind, id } = step;
  if (asked.attemptsLeft === 0) {
    asked.reject(notFound(kind, id));
    return;
  }
  asked.attemptsLeft -= 1;
  const live = core.registry.live(kind, id);
  if (live !== undefined) takeTurn(asked, live);
  else
    openForWrite(core, step)
      .then((actor) => takeTurn(asked, actor))
      .catch(asked.reject);
};

/**
 * The actor of something that was not sent yet: where it does not come to life nothing of it was counted,
 * also when the store did not say what became of the look or the `init`.
 */
export const openForWrite = ({ registry }: Core, { kind, id }: Target): Promise<Actor> =>
  registry.open(kind, id).catch((error: unknown) => {
    throw uncounted(error);
  });

const uncounted = (error: unknown): unknown => {
  if (error instanceof StorageError) {
    const { operation, reason } = error;
    return new StorageError(operation, { outcome: 'not_applied', reason, cause: error });
  }
  const isOpen = error instanceof DomainError && error.context.outcome === 'unknown';
  return isOpen ? failureError({ outcome: 'not_applied', code: error.code }) : error;
};

const takeTurn = <Result>(asked: Asked<Result>, actor: Actor): void => {
  const turn = new StepTurn(asked, actor);
  actor.turns += 1;
  asked.core.gate.submit(turn);
};

/**
 * One turn on a living entity. When the store does not know it (any more), it is activated again and the turn
 * repeated: nothing was counted, so that is safe.
 */
export const act = <Result>(core: Core, step: Step<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    begin({ core, step, resolve, reject, attemptsLeft: limits.reactivationsMax });
  });

/** Brings the entity of a lost item to life again. False when the ledger does not know it. */
export const revive = async (core: Core, { target }: Item): Promise<boolean> => {
  core.registry.discard(target.address);
  try {
    const actor = await core.registry.open(target.kind, target.id);
    return actor.ref.incarnation >= target.incarnation || (await supersede(core, actor, target));
  } catch (error) {
    if (error instanceof DomainError && error.code === 'not_found') return false;
    throw error;
  }
};

/** The store fell back to an earlier listing of the address: the one in the ledger takes its place. */
const supersede = async (core: Core, { generation }: Actor, target: EntityRef): Promise<boolean> => {
  const [row] = await core.ledger.find([target]);
  if (row === null || row === undefined || row.ref.incarnation < target.incarnation) return false;
  await send(core, initOf(row, generation));
  return true;
};

/** Whether the store says that it does not hold this listing. */
export const isGone = (decision: Decision): boolean =>
  decision.kind === 'absent' || decision.kind === 'forgotten';

/** Sends what people decided. An entity the store does not know is initialised first; the dead need none. */
export const sendKnown = async (core: Core, item: Item): Promise<Decision> => {
  const { decision } = await send(core, item);
  if (decision.kind !== 'absent') return decision;
  try {
    await core.registry.open(item.target.kind, item.target.id);
  } catch (error) {
    if (error instanceof DomainError && error.code === 'not_found') return { kind: 'forgotten' };
    throw error;
  }
  return (await send(core, item)).decision;
};

/** What brings the ledger's decisions to the store. */
export const deliveryOf = (core: Core): DeliveryParts => ({
  ledger: core.ledger,
  send: (item) => sendKnown(core, item),
});
