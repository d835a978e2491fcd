/**
 * The live actors: found by address, activated on demand, passivated under a cap.
 *
 * Activation is single flight: all who want the same entity wait for one look at the hot store, and only
 * when that does not know it, one look at the ledger and an `init`. Passivation is a clock hand: an actor
 * that was used since the hand last passed, or has turns on their way, is spared. Discarding an actor loses
 * nothing (its state is in the store). Called by the engine only.
 */
import { Actor } from './actor.ts';
import type { HeldState } from './entity/held.ts';
import { isBefore } from './entity/history.ts';
import { DomainError } from './errors.ts';
import {
  addressOf,
  type EntityAddress,
  type EntityKind,
  type EntityRef,
  type Shard,
  shardOf,
} from './ids.ts';
import { limits } from './limits.ts';
import type { EngineMeters } from './meters.ts';

/** One live listing as the stores know it. */
export interface Found {
  readonly ref: EntityRef;
  readonly generation: number;
  readonly state: HeldState;
}

/** The store's word on one listing; `state` is `null` when it does not hold it. */
export interface Heard {
  readonly ref: EntityRef;
  readonly generation: number;
  readonly state: HeldState | null;
}

export interface RegistryParts {
  readonly actorsMax: number;
  readonly meters: EngineMeters;
  /** Finds or initialises the entity; `null` when there is no such listing. */
  readonly activate: (kind: EntityKind, id: string) => Promise<Found | null>;
}

export interface Registry {
  /** The live actor, or `undefined`. Marks it used. */
  live(kind: EntityKind, id: string): Actor | undefined;
  at(address: EntityAddress): Actor | undefined;
  /** The live actor, after activation. Throws `not_found`, or what the stores throw. */
  open(kind: EntityKind, id: string): Promise<Actor>;
  /**
   * The store spoke of a listing that has no actor yet: one being opened must not come up older than that.
   */
  heard(address: EntityAddress, word: () => Heard): void;
  discard(address: EntityAddress): void;
  /** Discards all actors of a shard but the named ones. */
  discardShard(shard: Shard, except: { has(address: EntityAddress): boolean }): void;
  /** Shards with actors, live or being opened. */
  shards(): readonly Shard[];
  /** The actor's state changed: whether its votes are flushed is looked at. */
  adopted(actor: Actor): void;
  /**
   * Discards actors whose votes are not flushed, as far as this node knows, and that heard of no flush for
   * `limits.unflushedLooksMax` calls: another node may have flushed them, which moves no version.
   */
  discardUnflushed(): void;
  size(): number;
}

interface Opening {
  readonly promise: Promise<Actor>;
  readonly shard: Shard;
  waiters: number;
  /** Its shard was changed by others meanwhile: what it finds is good for those who wait, and not kept. */
  doubted: boolean;
}

/** How often the same number of flushed votes was seen. */
interface Look {
  flushedVotes: number;
  times: number;
}

interface RegistryState extends RegistryParts {
  readonly actors: Map<EntityAddress, Actor>;
  /** The same actors by kind and id: a request finds its actor without building an address. */
  readonly byId: Readonly<Record<EntityKind, Map<string, Actor>>>;
  readonly byShard: Map<Shard, Set<EntityAddress>>;
  readonly opening: Map<EntityAddress, Opening>;
  /** The store's newest word on listings being opened. */
  readonly heard: Map<EntityAddress, Heard>;
  /** Actors whose votes are not flushed, as far as is known. */
  readonly unflushed: Map<Actor, Look>;
  hand: IterableIterator<[EntityAddress, Actor]>;
}

export const createRegistry = (parts: RegistryParts): Registry => {
  const actors = new Map<EntityAddress, Actor>();
  const state: RegistryState = {
    ...parts,
    actors,
    byId: { bot: new Map(), server: new Map(), team: new Map(), pack: new Map() },
    byShard: new Map(),
    opening: new Map(),
    heard: new Map(),
    unflushed: new Map(),
    hand: actors.entries(),
  };
  return {
    live: (kind, id) => touch(state.byId[kind].get(id)),
    at: (address) => actors.get(address),
    open: (kind, id) => open(state, kind, id),
    heard: (address, word) => {
      if (state.opening.has(address)) state.heard.set(address, word());
    },
    discard: (address) => discard(state, address),
    discardShard: (shard, except) => discardShard(state, shard, except),
    shards: () => shardsOf(state),
    adopted: (actor) => noteVotes(state, actor),
    discardUnflushed: () => discardUnflushed(state),
    size: () => actors.size,
  };
};

const touch = (actor: Actor | undefined): Actor | undefined => {
  if (actor !== undefined) actor.used = true;
  return actor;
};

const open = (state: RegistryState, kind: EntityKind, id: string): Promise<Actor> => {
  const address = addressOf(kind, id);
  const live = touch(state.actors.get(address));
  if (live !== undefined) return Promise.resolve(live);
  const opening = state.opening.get(address);
  if (opening !== undefined) {
    opening.waiters += 1;
    if (opening.waiters > limits.activationWaitersMax) return Promise.reject(crowded());
    return opening.promise;
  }
  if (state.opening.size >= limits.activationsMax) return Promise.reject(crowded());
  const promise = activate(state, kind, id).finally(() => {
    state.opening.delete(address);
    state.heard.delete(address);
  });
  state.opening.set(address, { promise, shard: shardOf(address), waiters: 1, doubted: false });
  return promise;
};

const crowded = (): DomainError =>
  new DomainError(
    'overloaded',
    'Too many requests wait for this entity. Try again.',
    { outcome: 'not_applied' },
    1,
  );

const activate = async (state: RegistryState, kind: EntityKind, id: string): Promise<Actor> => {
  for (let attempt = 0; attempt < limits.reactivationsMax; attempt++) {
    const found = await state.activate(kind, id);
    if (found === null) throw notFound(kind, id);
    const newest = newerOf(found, state.heard.get(found.ref.address));
    state.heard.delete(found.ref.address);
    if (newest === null) continue;
    const actor = new Actor(newest.ref, newest.generation, newest.state);
    if (!state.opening.get(actor.ref.address)?.doubted) insert(state, actor);
    return actor;
  }
  throw crowded();
};

/**
 * A look at the store may come back after the reply to a later commit: then the actor starts from that reply,
 * or what was acknowledged would be out of sight (I9). `null`: the store said it holds none, so look again.
 */
const newerOf = (found: Found, heard: Heard | undefined): Found | null => {
  if (heard === undefined || heard.ref.incarnation < found.ref.incarnation) return found;
  const { ref, generation, state } = heard;
  if (state === null) return null;
  const newer =
    ref.incarnation > found.ref.incarnation ||
    isBefore(
      { generation: found.generation, version: found.state.version },
      { generation, version: state.version },
    );
  return newer ? { ref, generation, state } : found;
};

/** The words for an entity that does not exist. */
export const notFound = (kind: EntityKind, id: string): DomainError =>
  new DomainError('not_found', `There is no ${kind} with the id ${JSON.stringify(id.slice(0, 64))}.`);

const insert = (state: RegistryState, actor: Actor): void => {
  const { address, kind, id, shard } = actor.ref;
  if (state.actors.size >= state.actorsMax) passivate(state);
  state.actors.set(address, actor);
  state.byId[kind].set(id, actor);
  let addresses = state.byShard.get(shard);
  if (addresses === undefined) {
    addresses = new Set();
    state.byShard.set(shard, addresses);
  }
  addresses.add(address);
  noteVotes(state, actor);
  state.meters.actors(state.actors.size);
};

const discard = (state: RegistryState, address: EntityAddress): void => {
  const actor = state.actors.get(address);
  if (actor === undefined) return;
  state.actors.delete(address);
  state.byId[actor.ref.kind].delete(actor.ref.id);
  settleVotes(state, actor);
  state.byShard.get(actor.ref.shard)?.delete(address);
};

const discardShard = (
  state: RegistryState,
  shard: Shard,
  except: { has(address: EntityAddress): boolean },
): void => {
  for (const address of [...(state.byShard.get(shard) ?? [])]) {
    if (!except.has(address)) discard(state, address);
  }
  for (const [address, opening] of state.opening) {
    if (opening.shard === shard && !except.has(address)) opening.doubted = true;
  }
};

const shardsOf = (state: RegistryState): readonly Shard[] => {
  const shards = new Set<Shard>();
  for (const [shard, addresses] of state.byShard) if (addresses.size > 0) shards.add(shard);
  for (const { shard } of state.opening.values()) shards.add(shard);
  return [...shards];
};

const noteVotes = (state: RegistryState, actor: Actor): void => {
  if (actor.votesFlushed()) settleVotes(state, actor);
  else if (!actor.unflushed) {
    actor.unflushed = true;
    state.unflushed.set(actor, { flushedVotes: actor.flushedVotes(), times: 0 });
  }
};

const settleVotes = (state: RegistryState, actor: Actor): void => {
  if (!actor.unflushed) return;
  actor.unflushed = false;
  state.unflushed.delete(actor);
};

const discardUnflushed = (state: RegistryState): void => {
  for (const [actor, look] of [...state.unflushed]) {
    const { address } = actor.ref;
    const flushedVotes = actor.flushedVotes();
    if (flushedVotes !== look.flushedVotes) look.times = 0;
    look.flushedVotes = flushedVotes;
    look.times += 1;
    if (state.actors.get(address) !== actor) settleVotes(state, actor);
    else if (look.times === limits.unflushedLooksMax) discard(state, address);
  }
};

/** Moves the hand until there is room for one more, at most a bounded number of steps per call. */
const passivate = (state: RegistryState): void => {
  for (let step = 0; step < limits.passivationStepsMax && state.actors.size >= state.actorsMax; step++) {
    let next = state.hand.next();
    if (next.done === true) {
      state.hand = state.actors.entries();
      next = state.hand.next();
      if (next.done === true) return;
    }
    const [address, actor] = next.value;
    if (actor.used) actor.used = false;
    else if (actor.turns === 0) discard(state, address);
  }
};

/** The shard of an entity that may not be live. */
export const shardFor = (kind: EntityKind, id: string): Shard => shardOf(addressOf(kind, id));
