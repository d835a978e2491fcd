/**
 * The registry of live actors: finds them by address, activates them on demand, passivates them over a cap.
 *
 * Activation is single-flight: all requests for one entity wait for the same activation. Passivation uses the
 * clock algorithm: it spares an actor that was used since the clock's last pass or has pending turns.
 * Discarding an actor loses nothing, because its state is in the store. Only the engine calls this file.
 *
 * It keeps the watches of this node, too: which entities are followed outside the engine, and what to call
 * when one of them may have changed. A watch carries no state. Its listener runs when a reply of the store
 * brought a new state, when the staleness poller found that another node changed the entity, and when a shard
 * was discarded; it must return at once and read later. It may run without a change. While nothing is
 * watched, a reply costs one comparison per item. The caller bounds how many entities it watches.
 */

import { isBefore } from '../entity/history.ts';
import type { LazyState } from '../entity/state.ts';
import { DomainError } from '../errors.ts';
import {
  computeShard,
  type EntityAddress,
  type EntityKind,
  type EntityRef,
  type Shard,
  toAddress,
} from '../ids.ts';
import { limits } from '../limits.ts';
import type { EngineMeters } from '../ports.ts';
import { Actor } from './actor.ts';

/** One live listing as the stores know it. */
export interface ActivatedEntity {
  readonly ref: EntityRef;
  readonly generation: number;
  readonly state: LazyState;
}

/** What the store last reported about one listing; `state` is `null` if the store does not have it. */
export interface LatestState {
  readonly ref: EntityRef;
  readonly generation: number;
  readonly state: LazyState | null;
}

export interface RegistryParts {
  /** The store's number of shards. */
  readonly actorsMax: number;
  readonly meters: EngineMeters;
  /** Loads or initialises the entity; `null` if there is no such listing. */
  readonly activate: (kind: EntityKind, id: string) => Promise<ActivatedEntity | null>;
}

interface Activation {
  readonly promise: Promise<Actor>;
  readonly shard: Shard;
  waiters: number;
  /** Another node changed the shard meanwhile: waiters get the actor, but the registry does not keep it. */
  stale: boolean;
  /** Another node changed the entity at this version meanwhile; 0: none did. */
  staleBelow: number;
}

/** For how many polls the number of flushed votes has stayed the same. */
interface UnflushedPolls {
  flushedVotes: number;
  times: number;
}

interface RegistryState extends RegistryParts {
  readonly actors: Map<EntityAddress, Actor>;
  /** The same actors by kind and id: a request finds its actor without building an address. */
  readonly byId: Readonly<Record<EntityKind, Map<string, Actor>>>;
  readonly byShard: Map<Shard, Set<EntityAddress>>;
  readonly activations: Map<EntityAddress, Activation>;
  /** The newest known state of each entity that is being activated and has no actor. */
  readonly latestStates: Map<EntityAddress, LatestState>;
  /** Actors whose votes are not all known to be flushed. */
  readonly unflushed: Map<Actor, UnflushedPolls>;
  hand: IterableIterator<[EntityAddress, Actor]>;
  readonly watches: Watches;
}

export const createRegistry = (parts: RegistryParts) => {
  const actors = new Map<EntityAddress, Actor>();
  const state: RegistryState = {
    ...parts,
    actors,
    byId: { bot: new Map(), server: new Map(), team: new Map(), pack: new Map() },
    byShard: new Map(),
    activations: new Map(),
    latestStates: new Map(),
    unflushed: new Map(),
    hand: actors.entries(),
    watches: createWatches(),
  };
  return {
    /** The live actor, its state current or stale, or `undefined`. Marks it used. */
    findLive: (kind: EntityKind, id: string) => markUsed(state.byId[kind].get(id)),
    /** The live actor if its state is current, or `undefined`. Marks it used. */
    findCurrent: (kind: EntityKind, id: string) => {
      const actor = markUsed(state.byId[kind].get(id));
      return actor?.isCurrent() ? actor : undefined;
    },
    /** The live actor, or `undefined`. Does not mark it used. */
    findAt: (address: EntityAddress) => actors.get(address),
    /**
     * The actor with a current state, loaded if needed. Rejects with `not_found`, `overloaded` or the stores'
     * errors.
     */
    getOrActivate: (kind: EntityKind, id: string) => getOrActivate(state, kind, id),
    /** Records the state in a reply for an entity without actor: a running activation must not be older. */
    recordLatestState: (address: EntityAddress, getLatest: () => LatestState) => {
      if (state.activations.has(address)) state.latestStates.set(address, getLatest());
    },
    discard: (address: EntityAddress) => discard(state, address),
    /** Discards all actors of a shard except those at the given addresses. */
    discardShard: (shard: Shard, except: { has(address: EntityAddress): boolean }) =>
      discardShard(state, shard, except),
    /** Another node changed the entity at this version: a state of a lower version is stale. */
    markStale: (address: EntityAddress, version: number) => markStale(state, address, version),
    /** Shards with actors that are live or being activated, or with watched entities. */
    listShards: () => listShards(state),
    /** Tracks the actor if its new state has unflushed votes, otherwise stops tracking it. */
    trackVotes: (actor: Actor) => trackVotes(state, actor),
    /**
     * Marks tracked actors stale whose flushed votes did not change for `limits.unflushedPollsMax` calls:
     * another node may have flushed them, and a flush changes no version. After a rest, all of them.
     */
    markUnflushedStale: (afterRest: boolean) => markUnflushedStale(state, afterRest),
    countActors: () => actors.size,
    watches: state.watches,
  };
};
export type Registry = ReturnType<typeof createRegistry>;

const markUsed = (actor: Actor | undefined): Actor | undefined => {
  if (actor !== undefined) actor.used = true;
  return actor;
};

const getOrActivate = (state: RegistryState, kind: EntityKind, id: string): Promise<Actor> => {
  const address = toAddress(kind, id);
  const live = markUsed(state.actors.get(address));
  if (live?.isCurrent()) return Promise.resolve(live);
  const activation = state.activations.get(address);
  if (activation !== undefined) {
    activation.waiters += 1;
    if (activation.waiters > limits.activationWaitersMax) return Promise.reject(createCrowdedError());
    return activation.promise;
  }
  if (state.activations.size >= limits.activationsMax) return Promise.reject(createCrowdedError());
  const promise = activate(state, kind, id).finally(() => {
    state.activations.delete(address);
    state.latestStates.delete(address);
  });
  const shard = computeShard(address);
  const activating = { promise, shard, waiters: 1, stale: false, staleBelow: 0 };
  state.activations.set(address, activating);
  return promise;
};

const createCrowdedError = (): DomainError =>
  new DomainError(
    'overloaded',
    'Too many requests wait for this entity. Try again.',
    { outcome: 'not_applied' },
    1,
  );

const activate = async (state: RegistryState, kind: EntityKind, id: string): Promise<Actor> => {
  for (let attempt = 0; attempt < limits.reactivationsMax; attempt++) {
    const activated = await state.activate(kind, id);
    if (activated === null) throw createNotFoundError(kind, id);
    const newest = chooseNewer(activated, state.latestStates.get(activated.ref.address));
    state.latestStates.delete(activated.ref.address);
    if (newest === null) continue;
    return keep(state, newest);
  }
  throw createCrowdedError();
};

/** Puts what was loaded into the entity's actor, or into a new one. */
const keep = (state: RegistryState, { ref, generation, state: loaded }: ActivatedEntity): Actor => {
  const { stale = false, staleBelow = 0 } = state.activations.get(ref.address) ?? {};
  const live = state.actors.get(ref.address);
  const isSame = live?.ref.incarnation === ref.incarnation && live.generation === generation;
  const actor = live !== undefined && isSame && !stale ? live : new Actor(ref, generation, loaded);
  actor.reload(loaded, staleBelow);
  if (actor === live) trackVotes(state, actor);
  else if (!stale) {
    discard(state, ref.address);
    insert(state, actor);
  }
  return actor;
};

/**
 * Chooses the newer of a load and of the latest reply: a load may return after the reply to a later commit,
 * and an actor that started from the load would hide that commit (I9). `null`: that reply said that the store
 * does not have the entity, so the caller activates again.
 */
const chooseNewer = (activated: ActivatedEntity, latest: LatestState | undefined): ActivatedEntity | null => {
  if (latest === undefined || latest.ref.incarnation < activated.ref.incarnation) return activated;
  const { ref, generation, state } = latest;
  if (state === null) return null;
  const newer =
    ref.incarnation > activated.ref.incarnation ||
    isBefore(
      { generation: activated.generation, version: activated.state.version },
      { generation, version: state.version },
    );
  return newer ? { ref, generation, state } : activated;
};

/** Creates the error for an entity that does not exist. */
export const createNotFoundError = (kind: EntityKind, id: string): DomainError =>
  new DomainError('not_found', `There is no ${kind} with the id ${JSON.stringify(id.slice(0, 64))}.`);

const insert = (state: RegistryState, actor: Actor): void => {
  const { address, kind, id, shard } = actor.ref;
  if (state.actors.size >= state.actorsMax) passivate(state);
  state.actors.set(address, actor);
  state.byId[kind].set(id, actor);
  const addresses = state.byShard.get(shard) ?? new Set();
  state.byShard.set(shard, addresses.add(address));
  trackVotes(state, actor);
  state.meters.recordActors(state.actors.size);
};

const discard = (state: RegistryState, address: EntityAddress): void => {
  const actor = state.actors.get(address);
  if (actor === undefined) return;
  state.actors.delete(address);
  state.byId[actor.ref.kind].delete(actor.ref.id);
  untrackVotes(state, actor);
  state.byShard.get(actor.ref.shard)?.delete(address);
};

const discardShard = (
  state: RegistryState,
  shard: Shard,
  except: { has(address: EntityAddress): boolean },
): void => {
  for (const [address, activation] of state.activations) {
    if (activation.shard !== shard || except.has(address)) continue;
    activation.stale = true;
    // The running load may be older than the state that the discarded actor has already shown.
    const actor = state.actors.get(address);
    if (actor === undefined) continue;
    const { ref, generation } = actor;
    state.latestStates.set(address, { ref, generation, state: actor.getLazyState() });
  }
  for (const address of [...(state.byShard.get(shard) ?? [])]) {
    if (!except.has(address)) discard(state, address);
  }
  state.watches.notifyShard(shard);
};

const markStale = (state: RegistryState, address: EntityAddress, version: number): void => {
  state.actors.get(address)?.markStale(version);
  const activation = state.activations.get(address);
  if (activation !== undefined) activation.staleBelow = Math.max(activation.staleBelow, version);
  state.watches.notify(address);
};

const listShards = (state: RegistryState): readonly Shard[] => {
  const shards = new Set<Shard>();
  for (const [shard, addresses] of state.byShard) if (addresses.size > 0) shards.add(shard);
  for (const { shard } of state.activations.values()) shards.add(shard);
  for (const shard of state.watches.listShards()) shards.add(shard);
  return [...shards];
};

const trackVotes = (state: RegistryState, actor: Actor): void => {
  if (actor.hasFlushedVotes()) untrackVotes(state, actor);
  else if (!actor.unflushed) {
    actor.unflushed = true;
    state.unflushed.set(actor, { flushedVotes: actor.getFlushedVotes(), times: 0 });
  }
};

const untrackVotes = (state: RegistryState, actor: Actor): void => {
  if (!actor.unflushed) return;
  actor.unflushed = false;
  state.unflushed.delete(actor);
};

const markUnflushedStale = (state: RegistryState, afterRest: boolean): void => {
  for (const [actor, polls] of [...state.unflushed]) {
    const { address } = actor.ref;
    const flushedVotes = actor.getFlushedVotes();
    if (flushedVotes !== polls.flushedVotes) polls.times = 0;
    polls.flushedVotes = flushedVotes;
    polls.times += 1;
    if (state.actors.get(address) !== actor) untrackVotes(state, actor);
    else if (afterRest || polls.times === limits.unflushedPollsMax) {
      actor.markFlushStale();
      untrackVotes(state, actor);
    }
  }
};

/**
 * Advances the clock until there is room for one more actor, by a bounded number of steps. Spares actors
 * whose state is being loaded again: without the actor, a load that comes after the reply to a later commit
 * would hide that commit (I9).
 */
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
    else if (actor.pendingTurns === 0 && !state.activations.has(address)) discard(state, address);
  }
};

export const createWatches = () => {
  const listeners = new Map<EntityAddress, readonly (() => void)[]>();
  const byShard = new Map<Shard, Set<EntityAddress>>();
  const notify = (address: EntityAddress): void => {
    if (listeners.size === 0) return;
    for (const listener of listeners.get(address) ?? []) listener();
  };
  return {
    /** Watches an entity, whether it exists or not. Returns a function that ends this watch. */
    add: (address: EntityAddress, onChanged: () => void) => {
      // Each watch has a listener of its own, so that ending one leaves the others.
      const listener = (): void => onChanged();
      listeners.set(address, [...(listeners.get(address) ?? []), listener]);
      const shard = computeShard(address);
      const watched = byShard.get(shard) ?? new Set();
      byShard.set(shard, watched.add(address));
      return () => {
        const others = (listeners.get(address) ?? []).filter((other) => other !== listener);
        if (others.length > 0) return void listeners.set(address, others);
        listeners.delete(address);
        watched.delete(address);
        if (watched.size === 0 && byShard.get(shard) === watched) byShard.delete(shard);
      };
    },
    /** The entity may have changed. */
    notify,
    /** Any entity of the shard may have changed. */
    notifyShard: (shard: Shard) => {
      for (const address of byShard.get(shard) ?? []) notify(address);
    },
    /** Shards with watched entities. */
    listShards: () => byShard.keys(),
    isEmpty: () => listeners.size === 0,
  };
};
export type Watches = ReturnType<typeof createWatches>;
