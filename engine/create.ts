/**
 * Wires the engine: registry, gate, flusher, delivery; and its start and drain order.
 *
 * Start: compare the stores' generations, then flush. Drain is the reverse: no new work, answers out, the
 * gate shut, the backlog flushed. Only the composition root and tests call this.
 */
import assert from 'node:assert/strict';
import { activate, createLoader } from './activation.ts';
import { type CommandCore, createCommands } from './commands.ts';
import { deliverAdjustments, deliverEdits } from './delivery.ts';
import type { Engine, EngineHealth } from './engine.ts';
import type { CommitRules, Item } from './entity/items.ts';
import { createFlusher, type Flusher } from './flusher.ts';
import { createFreshness, type Freshness } from './freshness.ts';
import { createGate, type Gate } from './gate.ts';
import { reconcileGenerations, renewGenerations, renewUnpublished } from './generations.ts';
import type { Shard } from './ids.ts';
import { limits } from './limits.ts';
import type { EngineMeters } from './meters.ts';
import type { Clock, HotStore, Ledger } from './ports.ts';
import { createRegistry } from './registry.ts';
import { adopt, adoptFlushed, deliveryOf, revive, send } from './turns.ts';
import { createVisitors } from './visitors.ts';

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

type Phase = 'new' | 'started' | 'draining';

/** All parts of one engine, wired. */
interface Wired {
  readonly parts: EngineParts;
  readonly core: CommandCore;
  readonly gate: Gate;
  readonly flusher: Flusher;
  readonly freshness: Freshness;
  /** Written by `setPhase` alone. */
  readonly phase: Phase;
}

/** Builds an engine that is not started. It owns neither store: closing them is the caller's. */
export const createEngine = (parts: EngineParts): Engine => {
  const wired = wire(parts);
  return {
    ...createCommands(wired.core),
    health: () => describeHealth(wired),
    start: () => start(wired),
    drain: (deadlineMs) => drain(wired, deadlineMs),
  };
};

const wire = (parts: EngineParts): Wired => {
  const { hot, ledger, clock, meters, rules, newId } = parts;
  const load = createLoader(hot, clock);
  const renew = (shards: readonly Shard[]): Promise<void> => renewGenerations(hot, ledger, shards);
  const gate = createGate({
    ...parts,
    adopt: (batch, reply, foreign) => adopt(registry, batch, { reply, foreign }),
    recover: async (shards) => {
      for (const shard of shards) registry.discardShard(shard, new Set());
      await renew(shards);
    },
    revive: (item) => revive(core, item),
  });
  const activation = { ledger, clock, rules, renew, send: (item: Item) => send(core, item) };
  const registry = createRegistry({
    actorsMax: parts.actorsMax,
    meters,
    activate: (kind, id) => activate(activation, load, { kind, id }),
  });
  const flusher = createFlusher({
    ...parts,
    intervalMs: parts.flushIntervalMs,
    shards: parts.flushShards ?? (() => null),
    flushed: (settlement) => adoptFlushed(registry, settlement),
    deliver: async () => {
      const delivery = deliveryOf(core);
      await deliverEdits(delivery, clock.nowMs());
      return deliverAdjustments(delivery);
    },
    meet: () => renewUnpublished(hot, ledger),
  });
  const freshness = createFreshness({ ...parts, gate, registry });
  const core: CommandCore = {
    registry,
    gate,
    flusher,
    freshness,
    clock,
    ledger,
    load,
    rules,
    newId,
    visitorOf: createVisitors(parts.visitorSecret),
    votesPaused: false,
  };
  return { parts, core, gate, flusher, freshness, phase: 'new' };
};

const phasesAfter: Readonly<Record<Phase, readonly Phase[]>> = {
  new: ['started', 'draining'],
  started: ['draining'],
  draining: ['draining'],
};

const setPhase = (wired: Wired, phase: Phase): void => {
  if (!phasesAfter[wired.phase].includes(phase))
    assert.fail(`an engine cannot go from ${wired.phase} to ${phase}`);
  (wired as { phase: Phase }).phase = phase;
};

const start = async (wired: Wired): Promise<void> => {
  const { parts, flusher, freshness } = wired;
  await reconcileGenerations(parts.hot, parts.ledger, parts.reflush);
  setPhase(wired, 'started');
  flusher.start();
  if (parts.shared) freshness.start();
};

const drain = async (wired: Wired, deadlineMs: number): Promise<void> => {
  const { parts, gate, flusher, freshness } = wired;
  setPhase(wired, 'draining');
  gate.refuse();
  while (gate.pending() > 0 && parts.clock.monotonicMs() < deadlineMs) {
    await new Promise<void>((resolve) => parts.clock.after(limits.drainPollMs, resolve));
  }
  gate.stop();
  freshness.stop();
  await flusher.drain(deadlineMs);
};

const describeHealth = ({ parts, core, gate, flusher, phase }: Wired): EngineHealth => {
  const notes: string[] = [];
  if (phase !== 'started') notes.push(phase === 'new' ? 'starting' : 'draining');
  const { pulse } = parts.hot;
  const away = pulse?.away() ?? [];
  const healthy = gate.healthy(pulse?.answeredMs());
  if (away.length > 0) notes.push(...away);
  else if (!healthy) notes.push('the hot store does not answer');
  const trouble = flusher.trouble();
  if (trouble !== null) notes.push(`flushing to SQL fails: ${trouble}`);
  if (core.votesPaused) notes.push('votes are refused until the outbox drains');
  return { ready: phase === 'started' && healthy && away.length === 0, notes };
};
