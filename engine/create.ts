/**
 * Builds the engine from its parts (registry, output gate, flusher, delivery), starts it and drains it.
 *
 * Start compares the stores' generations, then starts the flusher. Drain refuses new work, sends the answers
 * that are due, stops the output gate and flushes the backlog. Only the composition root and tests call this.
 */
import assert from 'node:assert/strict';
import { activate, createLoader } from './actors/activation.ts';
import { createRegistry } from './actors/registry.ts';
import { createStalenessPoller, type StalenessPoller } from './actors/staleness-poller.ts';
import { createVisitorHasher } from './actors/visitors.ts';
import { type CommandCore, createCommands, isOutboxFull } from './commands.ts';
import { createOutputGate, type OutputGate } from './commit/output-gate.ts';
import type { Engine, EngineHealth } from './engine.ts';
import type { CommitRules, Item, ShardVersion } from './entity/items.ts';
import { computeLongestWaitMs } from './entity/votes.ts';
import {
  awaitAll,
  type DeliveryRound,
  deliverAdjustments,
  deliverEdits,
  emptyRound,
} from './flush/delivery.ts';
import { createFlusher, type Flusher } from './flush/flusher.ts';
import { reconcileGenerations, renewGenerations, renewUnpublished } from './flush/generations.ts';
import { describeFailure } from './flush/round.ts';
import { listAllShards, type Shard, toShard } from './ids.ts';
import { limits } from './limits.ts';
import type { LivenessParts } from './liveness.ts';
import type { Clock, EngineMeters, HotStore, Ledger } from './ports.ts';
import type { Note } from './tools/notes.ts';
import { adoptFlushed, adoptReply, reactivate, sendItem, toDeliveryParts } from './turns.ts';

export interface EngineParts {
  readonly hot: HotStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly meters: EngineMeters;
  /** Unique per process start, e.g. node name and a boot UUID. */
  readonly producer: string;
  readonly rules: CommitRules;
  /** 32 random bytes, the same for the whole fleet and for ever. */
  readonly visitorSecret: Uint8Array;
  /** Creates the UUIDs of votes; version 7 keeps their index dense. */
  readonly newId: () => string;
  readonly flushIntervalMs: number;
  readonly actorsMax: number;
  /** Other nodes use the same stores. Default: false. */
  readonly shared?: boolean;
  /** The shards that this node flushes now, `null` for all (it is alone). Default: all. */
  readonly flushShards?: () => readonly Shard[] | null;
  /** Called at each interval of the staleness poller: this process runs. */
  readonly onPoll?: () => void;
  /** Called at each failed flush round, for the log. */
  readonly onFlushFailed?: (error: unknown) => void;
}

type Phase = 'new' | 'started' | 'draining';

/** All parts of one engine, wired. */
interface WiredEngine {
  readonly parts: EngineParts;
  readonly core: CommandCore;
  readonly outputGate: OutputGate;
  readonly flusher: Flusher;
  readonly stalenessPoller: StalenessPoller;
  /** Written by `setPhase` alone. */
  readonly phase: Phase;
}

/** Builds an engine that is not started. The caller owns the stores and closes them. */
export const createEngine = (parts: EngineParts): Engine => {
  const isStored = computeLongestWaitMs(parts.rules.windows) <= limits.voteBucketMs;
  assert(isStored, 'a vote window is longer than last votes are stored');
  const wired = wireParts(parts);
  return {
    ...createCommands(wired.core),
    hasPendingChanges: () => wired.outputGate.countPending() > 0,
    readHealth: () => describeHealth(wired),
    start: () => start(wired),
    drain: (deadlineMs) => drain(wired, deadlineMs),
  };
};

const wireParts = (parts: EngineParts): WiredEngine => {
  const { hot, ledger, clock, meters, rules, newId } = parts;
  const load = createLoader(hot, clock, meters.recordLoads);
  const renew = (shards: readonly Shard[]): Promise<number> => renewGenerations(hot, ledger, shards);
  const outputGate = createOutputGate({
    ...parts,
    adopt: (batch, reply, foreign) =>
      adoptReply(registry, batch, { reply, foreign: foreign && !stalenessPoller.covers(batch.shard) }),
    recover: async (shards) => {
      for (const shard of shards) registry.discardShard(shard, new Set());
      return renew(shards);
    },
    reactivate: (item) => reactivate(core, item),
  });
  const activation = { ledger, clock, rules, renew, send: (item: Item) => sendItem(core, item) };
  const registry = createRegistry({
    actorsMax: parts.actorsMax,
    meters,
    activate: (kind, id) => activate(activation, load, { kind, id }),
  });
  const flusher = createFlusher({
    ...parts,
    intervalMs: parts.flushIntervalMs,
    listShards: parts.flushShards ?? (() => null),
    onFlushed: (receipt) => adoptFlushed(registry, receipt),
    deliver: async () => {
      if (!isDelivering(parts)) {
        core.lastDelivery = emptyRound;
        return 0;
      }
      const delivery = toDeliveryParts(core);
      const edits = deliverEdits(delivery, clock.nowMs());
      const [, round] = await awaitAll([edits, deliverAdjustments(delivery, core.lastDelivery)]);
      core.lastDelivery = round;
      return round.count;
    },
    reconcile: () => renewUnpublished(hot, ledger),
  });
  const stalenessPoller = createStalenessPoller({ ...parts, outputGate, registry });
  const core: CommandCore = {
    registry,
    outputGate,
    flusher,
    stalenessPoller,
    clock,
    ledger,
    load,
    hot,
    meters,
    liveness: wireLiveness(parts, (item) => sendItem(core, item)),
    rules,
    newId,
    computeVisitor: createVisitorHasher(parts.visitorSecret),
    votesPaused: false,
    lastDelivery: emptyRound,
  };
  return { parts, core, outputGate, flusher, stalenessPoller, phase: 'new' };
};

const wireLiveness = (parts: EngineParts, send: LivenessParts['send']): LivenessParts => ({
  ...parts,
  send,
  listShards: () => parts.flushShards?.() ?? listAllShards(),
  stale: new Map(),
});

/**
 * Decisions and edits whose own node did not deliver them are delivered by one node of the fleet: the node
 * that flushes this shard.
 */
const deliveringShard = toShard(0);
const isDelivering = ({ flushShards }: EngineParts): boolean =>
  flushShards?.()?.includes(deliveringShard) ?? true;

const phasesAfter: Readonly<Record<Phase, readonly Phase[]>> = {
  new: ['started', 'draining'],
  started: ['draining'],
  draining: ['draining'],
};

const setPhase = (wired: WiredEngine, phase: Phase): void => {
  if (!phasesAfter[wired.phase].includes(phase))
    assert.fail(`an engine cannot go from ${wired.phase} to ${phase}`);
  (wired as { phase: Phase }).phase = phase;
};

const start = async (wired: WiredEngine): Promise<void> => {
  const { parts, flusher, stalenessPoller } = wired;
  await reconcileGenerations(parts.hot, parts.ledger);
  await observeVersions(wired);
  setPhase(wired, 'started');
  flusher.start();
  if (parts.shared) stalenessPoller.start();
};

/**
 * Reads where each shard stands. Otherwise a store that loses its newest writes now, before this node has
 * sent anything to a shard, would go unnoticed: the node would count on top of the older state, and the next
 * start would empty the shard, because SQL is ahead of it.
 */
const observeVersions = async ({ parts, outputGate }: WiredEngine): Promise<void> => {
  const shards = listAllShards();
  const versions = await parts.hot.readVersions(shards);
  for (const [index, shard] of shards.entries()) {
    const known = outputGate.getVersion(shard);
    outputGate.observeVersion(shard, { known, now: versions[index] as ShardVersion });
  }
};

const drain = async (wired: WiredEngine, deadlineMs: number): Promise<number> => {
  const { parts, outputGate, flusher, stalenessPoller } = wired;
  setPhase(wired, 'draining');
  outputGate.refuseNewTurns();
  while (outputGate.countPending() > 0 && parts.clock.monotonicMs() < deadlineMs) {
    await new Promise<void>((resolve) => parts.clock.after(limits.drainPollMs, resolve));
  }
  const unconfirmed = outputGate.countPending();
  outputGate.stop();
  stalenessPoller.stop();
  await flusher.drain(deadlineMs);
  return unconfirmed;
};

const namedListingsMax = 3;

const describeStuck = ({ stuck }: DeliveryRound): Note => {
  const named = stuck.slice(0, namedListingsMax).join(', ');
  const more = stuck.length - namedListingsMax;
  const all = more > 0 ? `${named} and ${more} more` : named;
  return `adjustments_wait: changes of past votes wait for the hot store: ${all}`;
};

const describeHealth = ({ parts, core, outputGate, flusher, phase }: WiredEngine): EngineHealth => {
  const notes: Note[] = [];
  const { pulse } = parts.hot;
  const silentServers = pulse?.listSilent() ?? [];
  const failure = outputGate.findFailure(pulse?.getAnsweredMs());
  if (silentServers.length > 0) notes.push(...silentServers);
  else if (failure !== null) notes.push(`hot_store_fails: ${describeFailure(failure)}`);
  // A flush reads the hot store first, so while that is silent a flush error says nothing about SQL.
  const flushError = silentServers.length === 0 ? flusher.getLastError() : null;
  if (flushError !== null) notes.push(`flush_fails: totals and votes do not reach SQL: ${flushError}`);
  if (isOutboxFull(core))
    notes.push('votes_paused: votes are refused until SQL has taken those that wait: bring SQL back');
  if (core.lastDelivery.stuck.length > 0) notes.push(describeStuck(core.lastDelivery));
  const hotStoreUp = failure === null && silentServers.length === 0;
  return { ready: phase === 'started' && hotStoreUp, hotStoreUp, notes };
};
