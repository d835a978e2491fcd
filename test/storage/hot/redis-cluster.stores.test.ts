/**
 * The Redis hot store on a Cluster of three primaries and three replicas: conformance, slots on the move,
 * a primary killed under load. The servers are the test's own, on loopback.
 * Time limit: 240 s.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import * as assert from 'uvu/assert';
import type { Batch, CommitRules } from '../../../engine/entity/items.ts';
import { type Shard, shardsTotal } from '../../../engine/ids.ts';
import type { HotStore } from '../../../engine/ports.ts';
import { openRedisStore } from '../../../storage/hot/redis/store.ts';
import { toTag } from '../../../storage/hot/redis/tags.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { type RedisCluster, startRedisCluster } from '../../support/redis-cluster.ts';
import { botsIn, clicksOf, createLoad, publishAll } from '../../support/redis-load.ts';
import { conformance, type OpenedStore } from './conformance.ts';
import { createNewerRecords } from './newer-records.ts';

let cluster: RedisCluster | undefined;
let worlds = 0;

/** On a Cluster one call serves one shard; the suite's calls for all shards are sent concurrently. */
const overCommitQueues = (store: HotStore): HotStore => ({
  ...store,
  async commit(batches: readonly Batch[], rules: CommitRules) {
    const replies = await Promise.all(batches.map((batch) => store.commit([batch], rules)));
    return replies.flat();
  },
});

const open = async (clock: () => number): Promise<OpenedStore> => {
  cluster ??= await startRedisCluster();
  const options = { urls: cluster.urls, prefix: `w${++worlds}:`, clock };
  const openStore = async (): Promise<HotStore> => {
    return overCommitQueues(await openRedisStore(options));
  };
  const opened: OpenedStore = {
    store: await openStore(),
    async reopen() {
      await opened.store.close();
      return openStore();
    },
    newerRecords: createNewerRecords(() => new Cluster([...(cluster?.urls ?? [])]), options.prefix),
    dispose: () => opened.store.close(),
  };
  return opened;
};

const test = conformance('redis cluster', { open, sequences: 40, operationsPerSequence: 30 });

interface World {
  readonly cluster: RedisCluster;
  readonly store: HotStore;
  /** The slot of a shard's keys, and the name of the key with its entities. */
  slotOf(shard: Shard): Promise<{ readonly slot: number; readonly entities: string }>;
}

/** A published store under a prefix of its own. */
const inWorld = async (use: (world: World) => Promise<void>): Promise<void> => {
  cluster ??= await startRedisCluster();
  const prefix = `w${++worlds}:`;
  const store = await openRedisStore({ urls: cluster.urls, prefix, silenceMaxMs: 5_000 });
  const redis = new Redis(cluster.urls[0] ?? '');
  redis.on('error', () => undefined);
  try {
    await publishAll(store);
    await use({
      cluster,
      store,
      async slotOf(shard) {
        const entities = `${prefix}{s${toTag(shard)}}:e`;
        return { slot: Number(await redis.call('CLUSTER', 'KEYSLOT', entities)), entities };
      },
    });
  } finally {
    redis.disconnect();
    await store.close();
  }
};

test('slots that move under load lose nothing and count nothing twice', () =>
  inWorld(async ({ cluster: nodes, store, slotOf }) => {
    const bots = botsIn(shardsTotal);
    const load = createLoad(store, bots, 5);
    await load.round();
    let moving = true;
    const rounds = (async () => {
      while (moving) await load.round();
    })();
    for (const { shard } of bots.slice(0, 8)) {
      const { slot } = await slotOf(shard);
      await nodes.moveSlot(slot, ((await nodes.ownerOf(slot)) + 1) % 3);
    }
    moving = false;
    await rounds;

    assert.equal(
      await clicksOf(store, bots),
      bots.map(() => [load.acknowledged, load.acknowledged]),
    );
    assert.ok(load.acknowledged > 10, 'the load went on meanwhile');
    assert.equal(
      [...load.met.keys()].filter((word) => word.endsWith(' bug')),
      [],
    );
  }));

test('a shard is not answered with half of its keys while its slot moves', () =>
  inWorld(async ({ cluster: nodes, store, slotOf }) => {
    const [bot] = botsIn(1) as [ReturnType<typeof botsIn>[number]];
    const load = createLoad(store, [bot], 5);
    await load.round();
    const { slot, entities } = await slotOf(bot.shard);
    const move = await nodes.startMove(slot, ((await nodes.ownerOf(slot)) + 1) % 3);
    await move.moveKeys(entities);
    let answered = false;
    const running = load.round().then(() => {
      answered = true;
    });
    await pause(50);
    const early = answered;
    await move.moveKeys();
    await move.finish();
    await running;

    assert.not(early, 'the new owner had the entities, but not yet their visitors');
    assert.equal(await clicksOf(store, [bot]), [[10, 10]]);
  }));

test('a commit waits while two servers name each other as the owner of its slot', () =>
  inWorld(async ({ cluster: nodes, store, slotOf }) => {
    const [bot] = botsIn(1) as [ReturnType<typeof botsIn>[number]];
    const load = createLoad(store, [bot], 5);
    await load.round();
    const { slot } = await slotOf(bot.shard);
    const move = await nodes.startMove(slot, ((await nodes.ownerOf(slot)) + 1) % 3);
    await move.moveKeys();
    await move.leave();
    const startedMs = performance.now();
    const running = load.round();
    await pause(200);
    await move.finish();
    await running;

    assert.equal(await clicksOf(store, [bot]), [[10, 10]]);
    const refusals = [...load.met.values()].reduce((sum, count) => sum + count, 0);
    const refusalsMax = Math.floor((performance.now() - startedMs) / 1_000);
    assert.ok(refusals <= refusalsMax, `${refusals} refusals: each comes after more than a second`);
  }));

test('the target of a slot move dies during a call: only the outcome of that call is unknown', () =>
  inWorld(async ({ cluster: nodes, store, slotOf }) => {
    const [bot] = botsIn(1) as [ReturnType<typeof botsIn>[number]];
    const load = createLoad(store, [bot], 5);
    await load.round();
    const { slot } = await slotOf(bot.shard);
    const target = ((await nodes.ownerOf(slot)) + 1) % 3;
    const move = await nodes.startMove(slot, target);
    await move.moveKeys();
    nodes.servers[target]?.signal('SIGSTOP');
    const running = load.round();
    await pause(200);
    await nodes.servers[target]?.kill();
    await nodes.servers[target]?.start();
    await nodes.whole();
    await move.finish();
    await running;

    assert.equal(await clicksOf(store, [bot]), [[10, 10]]);
    assertIncludes([...load.met.keys()], 'unknown unreachable', [...load.met.keys()].join());
  }));

test('after a primary is killed, commits continue on its replica', () =>
  inWorld(async ({ cluster: nodes, store }) => {
    const bots = botsIn(12);
    const load = createLoad(store, bots, 5);
    for (let round = 0; round < 5; round++) await load.round();
    await nodes.replicated();
    await nodes.failOver(1);
    for (let round = 0; round < 5; round++) await load.round();

    assert.equal(
      await clicksOf(store, bots),
      bots.map(() => [load.acknowledged, load.acknowledged]),
    );
  }));

test.after(() => cluster?.dispose());

test.run();
