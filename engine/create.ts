/**
 * Wires the engine: registry, gate, flusher, delivery; and its start and drain order.
 *
 * Start: compare the stores' generations, then flush. Drain is the reverse: no new work, answers out, the
 * gate shut, the backlog flushed. Only the composition root and tests call this.
 */
import { activate, createLoader } from './activation.ts';
import {
  adopt,
  adoptFlushed,
  type Core,
  deliveryOf,
  type EngineParts,
  revive,
  send,
  sendUnawaited,
} from './core.ts';
import { deliverAdjustments, deliverEdits } from './delivery.ts';
import type { Engine, EngineHealth } from './engine.ts';
import { createFlusher } from './flusher.ts';
import { createFreshness } from './freshness.ts';
import { createGate } from './gate.ts';
import { reconcileGenerations, renewGenerations, renewUnpublished } from './generations.ts';
import type { Shard } from './ids.ts';
import { limits } from './limits.ts';
import { click, deliver, postStats, read, refresh, standing, vote } from './operations.ts';
import { createRegistry, shardFor } from './registry.ts';
import { createVisitors } from './visitors.ts';

/** Builds an engine that is not started. It owns neither store: closing them is the caller's. */
export const createEngine = (parts: EngineParts): Engine => {
  const core = wire(parts);
  return {
    read: (kind, id) => read(core, { kind, id }),
    postStats: (botId, post) => postStats(core, botId, post),
    click: (view, clientAddress) => click(core, view, clientAddress),
    invite: (view) => sendUnawaited(core, { kind: 'invite', target: view.ref }),
    vote: (request) => vote(core, request),
    standing: (kind, id, user) => standing(core, { kind, id }, user),
    flushed: (kind, id) => core.flusher.flushed(shardFor(kind, id)),
    refresh: (kind, id) => refresh(core, { kind, id }),
    deliver: (kind, id) => deliver(core, { kind, id }),
    doubt: () => core.freshness.doubt(),
    health: () => health(core),
    start: () => start(core),
    drain: (deadlineMs) => drain(core, deadlineMs),
  };
};

const wire = (parts: EngineParts): Core => {
  const load = createLoader(parts.hot, parts.clock);
  const renew = (shards: readonly Shard[]): Promise<void> =>
    renewGenerations(parts.hot, parts.ledger, shards);
  const gate = createGate({
    ...parts,
    adopt: (batch, reply, foreign) => adopt(core, batch, { reply, foreign }),
    recover: async (shards) => {
      for (const shard of shards) registry.discardShard(shard, new Set());
      await renew(shards);
    },
    revive: (item) => revive(core, item),
  });
  const activation = { ...parts, renew, send: (item: Parameters<typeof send>[1]) => send(core, item) };
  const registry = createRegistry({
    actorsMax: parts.actorsMax,
    meters: parts.meters,
    activate: (kind, id) => activate(activation, load, { kind, id }),
  });
  const flusher = createFlusher({
    ...parts,
    intervalMs: parts.flushIntervalMs,
    shards: parts.flushShards ?? (() => null),
    flushed: (settlement) => adoptFlushed(core, settlement),
    deliver: async () => {
      const delivery = deliveryOf(core);
      await deliverEdits(delivery, parts.clock.nowMs());
      return deliverAdjustments(delivery);
    },
    meet: () => renewUnpublished(parts.hot, parts.ledger),
  });
  const freshness = createFreshness({ ...parts, gate, registry });
  const visitorOf = createVisitors(parts.visitorSecret);
  const core: Core = {
    ...parts,
    load,
    visitorOf,
    gate,
    registry,
    flusher,
    freshness,
    phase: 'new',
    votesPaused: false,
  };
  return core;
};

const start = async (core: Core): Promise<void> => {
  await reconcileGenerations(core.hot, core.ledger, core.reflush);
  core.phase = 'started';
  core.flusher.start();
  if (core.shared) core.freshness.start();
};

const drain = async (core: Core, deadlineMs: number): Promise<void> => {
  core.phase = 'draining';
  core.gate.refuse();
  while (core.gate.pending() > 0 && core.clock.monotonicMs() < deadlineMs) {
    await new Promise<void>((resolve) => core.clock.after(limits.drainPollMs, resolve));
  }
  core.gate.stop();
  core.freshness.stop();
  await core.flusher.drain(deadlineMs);
};

const health = ({ phase, gate, hot, flusher, votesPaused }: Core): EngineHealth => {
  const notes: string[] = [];
  if (phase !== 'started') notes.push(phase === 'new' ? 'starting' : 'draining');
  const away = hot.pulse?.away() ?? [];
  const healthy = gate.healthy(hot.pulse?.answeredMs());
  if (away.length > 0) notes.push(...away);
  else if (!healthy) notes.push('the hot store does not answer');
  const trouble = flusher.trouble();
  if (trouble !== null) notes.push(`flushing to SQL fails: ${trouble}`);
  if (votesPaused) notes.push('votes are refused until the outbox drains');
  return { ready: phase === 'started' && healthy && away.length === 0, notes };
};
