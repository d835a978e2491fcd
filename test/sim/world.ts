/**
 * The world of one simulation: the stores, the nodes with their engines and wires, and the violations found.
 *
 * Has boot, crash and loss of the hot store; the clients are in `workload.ts`. It checks only what must be
 * true at every moment: versions and generations never fall, queues stay bounded. A crashed node's engine is
 * dropped: its timers never fire and it gets no more answers, while its calls may still reach the stores.
 */
import { createEngine } from '../../engine/create.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Batch, BatchReply, Decision } from '../../engine/entity/items.ts';
import type { EntityRef, Incarnation } from '../../engine/ids.ts';
import { limits } from '../../engine/limits.ts';
import type { EngineMeters, HotStore, Ledger } from '../../engine/ports.ts';
import { createHotModel, type HotModel } from '../model/hot-model.ts';
import { createLedgerModel, type LedgerModel } from '../model/ledger-model.ts';
import { createNodeClock, type Driver, type NodeClock } from './clock.ts';
import { faultless, hotOverWire, ledgerOverWire, type Wire } from './faults.ts';
import { type LedgerFaults, watchedLedger } from './ledger.ts';
import { type Plan, rules } from './plan.ts';

export const poisonedUser = 'user-poison';

export interface SimNode {
  readonly name: string;
  boots: number;
  /** Name of the running engine; a new one per boot. */
  boot: string;
  clock: NodeClock;
  /** `null` while the node is down. */
  engine: Engine | null;
  /** Started and taking requests. */
  ready: boolean;
}

export interface Loss {
  readonly fromMs: number;
  readonly atMs: number;
  readonly emptied: boolean;
  /** Clicks in SQL at that time, by listing: no node shows fewer afterwards. */
  readonly floor: ReadonlyMap<Incarnation, number>;
}

/** A vote that a store lost and a node sent again: what the store decided last. */
export interface ResentVote {
  readonly user: string;
  readonly ref: EntityRef;
  readonly decision: Decision;
}

export interface World {
  readonly driver: Driver;
  readonly plan: Plan;
  readonly hot: HotModel;
  /** The same store with checks, as the nodes use it. */
  readonly store: HotStore;
  readonly ledger: LedgerModel;
  /** The same ledger with checks, as the nodes use it. */
  readonly sql: Ledger;
  readonly nodes: SimNode[];
  readonly violations: string[];
  /** How often each thing happened, by name: faults, engine events, operator actions. */
  readonly counts: Map<string, number>;
  readonly inFlight: { count: number };
  /** Every loss of data in the hot store: the effects of answers in [fromMs, atMs] may be lost. */
  readonly losses: Loss[];
  /** By the first itag of the request. */
  readonly resent: Map<string, ResentVote>;
  /** No more faults: the wires are calm, no node crashes. */
  healed: boolean;
  /** All listings, also removed ones. */
  readonly refs: EntityRef[];
}

export const count = (world: World, what: string): void => {
  world.counts.set(what, (world.counts.get(what) ?? 0) + 1);
};

/** Records a broken invariant, once per wording. */
export const violate = (world: World, invariant: string, detail: string): void => {
  const line = `${invariant}: ${detail}`;
  if (world.violations.includes(line) || world.violations.length > 50) return;
  world.violations.push(line);
  world.driver.note(`VIOLATION ${line}`);
};

export const createWorld = (driver: Driver, plan: Plan, faults: LedgerFaults): World => {
  const poisoned = (row: { vote?: { user: string } }): boolean =>
    plan.poisonedUser && row.vote?.user === poisonedUser;
  const hot = createHotModel({
    clock: () => driver.nowMs() + plan.epochMs,
    voteWaitMaxMs: 1_500,
    mayLoseTail: true,
  });
  const ledger = createLedgerModel({ poisoned });
  const world: World = {
    driver,
    plan,
    hot,
    store: watched(hot, () => world),
    ledger,
    sql: watchedLedger(ledger, faults, (invariant, detail) => violate(world, invariant, detail)),
    nodes: [],
    violations: [],
    counts: new Map(),
    inFlight: { count: 0 },
    losses: [],
    resent: new Map(),
    healed: false,
    refs: [],
  };
  return world;
};

/** Records what the store decided about votes that were sent again. */
const recordResent = ({ resent }: World, { items }: Batch, { decisions }: BatchReply): void => {
  for (const [index, item] of items.entries()) {
    const decision = decisions?.[index];
    if (item.kind === 'vote' && item.lostAt !== undefined && decision !== undefined)
      resent.set(item.itags[0] as string, { user: item.user, ref: item.target, decision });
  }
};

/** The store with a check of generations and versions after every change. */
const watched = (hot: HotModel, worldOf: () => World): HotStore => {
  const seen = hot.shards.map(() => ({ generation: 0, version: 0, losses: 0 }));
  const checkVersions = (): void => {
    const world = worldOf();
    for (const [index, shard] of hot.shards.entries()) {
      const last = seen[index] as (typeof seen)[number];
      const sameLife = last.losses === world.losses.length;
      if (sameLife && (shard.generation < last.generation || shard.version < last.version))
        violate(world, 'I10', `generation or version of shard ${index} fell in the hot store`);
      seen[index] = { generation: shard.generation, version: shard.version, losses: world.losses.length };
    }
  };
  return {
    ...hot,
    commit: async (batches, given) => {
      const replies = await hot.commit(batches, given);
      for (const [index, batch] of batches.entries())
        recordResent(worldOf(), batch, replies[index] as BatchReply);
      checkVersions();
      return replies;
    },
    publish: async (generations) => {
      await hot.publish(generations);
      checkVersions();
    },
    clear: async (positions) => {
      await hot.clear(positions);
      for (const { shard } of positions) {
        const { generation, version } = hot.shards[shard] as (typeof hot.shards)[number];
        if (generation === 0) Object.assign(seen[shard] as object, { generation, version });
      }
      count(worldOf(), 'older shard emptied');
    },
  };
};

const metersOf = (world: World): EngineMeters => ({
  recordCommit: () => count(world, 'batch'),
  recordCommitFailure: (outcome) => count(world, `commit ${outcome}`),
  recordPending: (items) => {
    if (items > limits.pendingItemsMax) violate(world, 'I15', `${items} items pend`);
  },
  recordActors: (live) => {
    if (live > world.plan.actorsMax + 64) violate(world, 'I15', `${live} live actors`);
  },
  recordFlush: () => count(world, 'flush round'),
  recordFlushFailure: () => count(world, 'flush failed'),
  recordBacklog: () => {},
  recordDeadLetters: () => count(world, 'row buried'),
  recordContinuityLoss: (reason) => count(world, `gate broken: ${reason}`),
  recordRetransmitBytes: (bytes) => {
    if (bytes > limits.retransmitBytesMax) violate(world, 'I15', `${bytes} bytes are kept`);
  },
  recordResends: (items) => {
    for (let item = 0; item < items; item++) count(world, 'lost item sent again');
  },
  recordResendOutcome: (how) => count(world, `lost item ${how}`),
  recordLoads: () => {},
  recordPartsSwitch: (reason) => count(world, `table switched: ${reason}`),
  recordStaleParts: () => {},
  recordVersionPoll: () => {},
});

/** Adds a node that is down. */
export const addNode = (world: World, name: string): void => {
  const clock = createNodeClock(world.driver, world.plan.epochMs);
  world.nodes.push({ name, boots: 0, boot: '', clock, engine: null, ready: false });
};

/** Starts the node's engine under a new producer name; tries again until the stores answer. */
export const boot = async (world: World, node: SimNode): Promise<void> => {
  for (;;) {
    const engine = assemble(world, node);
    try {
      await engine.start();
      node.ready = true;
      world.driver.note(`${node.boot} is up`);
      return;
    } catch (error) {
      world.driver.note(`${node.boot} cannot start: ${error instanceof Error ? error.message : error}`);
      node.clock.kill();
      await world.driver.pause(100);
    }
  }
};

const assemble = (world: World, node: SimNode): Engine => {
  const { driver, plan } = world;
  node.boots += 1;
  node.boot = `${node.name}-${node.boots}`;
  node.clock = createNodeClock(driver, plan.epochMs);
  const wireTo = (store: 'hot' | 'ledger'): Wire => ({
    driver,
    clock: node.clock,
    profile: () => (world.healed ? faultless : plan[store]),
    name: node.boot,
    counts: world.counts,
    inFlight: world.inFlight,
    life: () => (store === 'hot' ? world.losses.length : 0),
    copiesLife: () =>
      store === 'hot' ? world.losses.length + (world.counts.get('older shard emptied') ?? 0) : 0,
    bug: (error) => violate(world, 'bug', `a store threw ${error instanceof Error ? error.stack : error}`),
  });
  let ids = 0;
  const engine = createEngine({
    hot: hotOverWire(wireTo('hot'), world.store),
    ledger: ledgerOverWire(wireTo('ledger'), world.sql),
    clock: node.clock,
    meters: metersOf(world),
    producer: node.boot,
    rules,
    visitorSecret: new Uint8Array(32),
    newId: () => `${node.boot}.${++ids}`,
    flushIntervalMs: 300,
    actorsMax: plan.actorsMax,
    shared: true,
  });
  node.engine = engine;
  return engine;
};

/** Stops the node in the middle of its work. */
export const crash = (world: World, node: SimNode): void => {
  world.driver.note(`${node.boot} crashes`);
  count(world, 'crash');
  node.clock.kill();
  node.engine = null;
  node.ready = false;
};

/** Takes a snapshot of the hot store. */
export const snapshotHot = (
  world: World,
): { readonly atMs: number; readonly shards: HotModel['shards'] } => ({
  atMs: world.driver.nowMs(),
  shards: structuredClone(world.hot.shards),
});

/** Restores the hot store from a snapshot. */
export const restoreHot = (world: World, snapshot: ReturnType<typeof snapshotHot>): void => {
  world.losses.push({
    fromMs: snapshot.atMs,
    atMs: world.driver.nowMs(),
    emptied: false,
    floor: floorOf(world),
  });
  count(world, 'hot store rolled back');
  world.driver.note(`the hot store falls back to ${snapshot.atMs}`);
  for (const [index, shard] of structuredClone(snapshot.shards).entries())
    Object.assign(world.hot.shards[index] as object, shard);
};

/** Empties the hot store. */
export const emptyHot = (world: World): void => {
  const fresh = createHotModel({ clock: () => 0 });
  world.losses.push({ fromMs: 0, atMs: world.driver.nowMs(), emptied: true, floor: floorOf(world) });
  count(world, 'hot store emptied');
  world.driver.note('the hot store is emptied');
  for (const [index, shard] of fresh.shards.entries())
    Object.assign(world.hot.shards[index] as object, shard);
};

const floorOf = (world: World): Loss['floor'] =>
  new Map([...world.ledger.totals].map(([incarnation, row]) => [incarnation, row.totals.clicks]));
