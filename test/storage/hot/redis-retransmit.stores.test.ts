/**
 * A Redis loses its newest writes, by a crash or a failover: two engines resend what they had acknowledged.
 * The risk may begin under way: a replica is attached, or `appendfsync` changed. Real servers; SQL is the
 * model.
 */
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createEngine } from '../../../engine/create.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { Batch, BatchReply, Item } from '../../../engine/entity/items.ts';
import { DomainError, StorageError } from '../../../engine/errors.ts';
import { limits } from '../../../engine/limits.ts';
import type { EngineMeters, HotStore } from '../../../engine/ports.ts';
import { systemClock } from '../../../ops/clock.ts';
import { openRedisStore, type RedisHotStore } from '../../../storage/hot/redis/store.ts';
import { createLedgerModel, type LedgerModel } from '../../model/ledger-model.ts';
import { type CutProxy, openCutProxy } from '../../support/cut-proxy.ts';
import { botsIn, initOf, publishAll, rules as weekRules } from '../../support/redis-load.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

const test = suite('redis ring');

const { standard } = weekRules.windows;
const rules = { ...weekRules, windows: { standard, premium: standard, weekend: standard } };
const bots = botsIn(6);
const patienceMs = 40_000;

interface Node {
  readonly store: RedisHotStore;
  readonly engine: Engine;
  readonly counts: Map<string, number>;
}
interface World {
  readonly server: RedisServer;
  /** Between the nodes and the server. */
  readonly front: CutProxy;
  readonly ledger: LedgerModel;
  readonly nodes: readonly [Node, Node];
}

const metersInto = (counts: Map<string, number>): EngineMeters => {
  const count = (what: string, times = 1): void => {
    counts.set(what, (counts.get(what) ?? 0) + times);
  };
  const silent = (): void => {};
  return {
    recordCommit: silent,
    recordCommitFailure: silent,
    recordPending: silent,
    recordActors: silent,
    recordFlush: silent,
    recordFlushFailure: silent,
    recordBacklog: silent,
    recordDeadLetters: silent,
    recordLoads: () => {},
    recordPartsSwitch: () => {},
    recordStaleParts: () => {},
    recordVersionPoll: silent,
    recordRetransmitBytes: silent,
    recordContinuityLoss: (reason) => count(reason),
    recordResends: (items) => count('resent', items),
    recordResendOutcome: (how) => count(how),
  };
};

const startNode = async (world: Pick<World, 'front' | 'ledger'>, name: string): Promise<Node> => {
  const store = await openRedisStore({ urls: [`redis://127.0.0.1:${world.front.port}`] });
  const counts = new Map<string, number>();
  let ids = 0;
  const engine = createEngine({
    hot: store,
    ledger: world.ledger.port,
    clock: systemClock,
    meters: metersInto(counts),
    producer: name,
    rules,
    visitorSecret: new Uint8Array(32),
    newId: () => `${name}.${++ids}`,
    flushIntervalMs: 200,
    actorsMax: 1_000,
    shared: true,
  });
  await engine.start();
  return { store, engine, counts };
};

const inWorld = async (appendfsync: string, use: (world: World) => Promise<void>): Promise<void> => {
  const server = await startRedis({ settings: [`appendfsync ${appendfsync}`] });
  const front = await openCutProxy(server.port);
  const ledger = createLedgerModel();
  for (const { kind, id } of bots) ledger.list(kind, id, { listed: true, revision: 1 });
  const one = await startNode({ front, ledger }, 'one-11111');
  const two = await startNode({ front, ledger }, 'two-22222');
  try {
    await use({ server, front, ledger, nodes: [one, two] });
  } finally {
    for (const { engine, store } of [one, two]) {
      await engine.drain(performance.now() + 2_000);
      await store.close();
    }
    await front.close();
    await server.dispose();
  }
};

/** The newest of the files that Redis appends to, and its length. */
const tailOf = async ({ server }: World): Promise<{ path: string; bytes: number }> => {
  const folder = join(server.folder, 'appendonlydir');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.incr.aof')).sort();
  const path = join(folder, names.at(-1) as string);
  return { path, bytes: (await stat(path)).size };
};

const cutTo = async (path: string, bytes: number): Promise<void> => {
  const file = await open(path, 'r+');
  await file.truncate(bytes);
  await file.close();
};

interface Tally {
  acknowledged: number;
  unknown: number;
}

/** Every user votes once on every bot, through either node. */
const voteAs = async ({ nodes }: World, users: readonly string[]): Promise<Tally> => {
  const tally: Tally = { acknowledged: 0, unknown: 0 };
  const cast = async (user: string, number: number): Promise<void> => {
    for (const [index, { kind, id }] of bots.entries()) {
      const { engine } = nodes[(number + index) % 2] as Node;
      try {
        const outcome = await engine.vote({ kind, id, user, upvote: true });
        assert.is(outcome.kind, 'voted');
        tally.acknowledged += 1;
      } catch (error) {
        const isRefusal = error instanceof DomainError || error instanceof StorageError;
        if (!isRefusal) throw error;
        const outcome = error instanceof StorageError ? error.outcome : error.context.outcome;
        if (outcome === 'unknown') tally.unknown += 1;
      }
    }
  };
  await Promise.all(users.map(cast));
  return tally;
};

const sumOfTallies = (tallies: readonly Tally[]): Tally => ({
  acknowledged: tallies.reduce((sum, tally) => sum + tally.acknowledged, 0),
  unknown: tallies.reduce((sum, tally) => sum + tally.unknown, 0),
});

const usersFrom = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `user-${first + index}`);

const votesIn = async (store: HotStore): Promise<number> => {
  const replies = await store.load(bots.map(({ kind, id }) => ({ kind, id })));
  return replies.reduce(
    (sum, reply) => sum + (reply.outcome === 'found' ? reply.state.upvotes : Number.NaN),
    0,
  );
};

const eventually = (what: string, holds: () => Promise<boolean>): Promise<void> =>
  until(what, holds, patienceMs);

/** Votes in the store and rows in SQL: all acknowledged votes, and only requested ones. */
const assertHealed = async ({ nodes, ledger }: World, tally: Tally): Promise<void> => {
  const [{ store }] = nodes;
  await eventually('every confirmed vote is in the store', async () => {
    return (await votesIn(store)) >= tally.acknowledged;
  });
  await eventually('store and SQL agree', async () => {
    const { entities, votes } = await store.countBacklog();
    return entities + votes === 0 && ledger.votes.size === (await votesIn(store));
  });
  const all = await votesIn(store);
  assert.ok(all >= tally.acknowledged, `${all} of ${tally.acknowledged} votes`);
  assert.ok(all <= tally.acknowledged + tally.unknown, `${all} of ${tally.acknowledged}`);
};

const sumOf = (world: World, what: string): number =>
  world.nodes.reduce((sum, { counts }) => sum + (counts.get(what) ?? 0), 0);

for (const share of [0.2, 0.5]) {
  test(`idle nodes resend what a crash lost: ${1 - share} of the newest part`, () =>
    inWorld('everysec', async (world) => {
      const first = await voteAs(world, usersFrom(0, 20));
      const { bytes: from } = await tailOf(world);
      const second = await voteAs(world, usersFrom(20, 30));
      const { path, bytes: to } = await tailOf(world);

      await world.server.kill();
      await cutTo(path, Math.floor(from + (to - from) * share));
      await world.server.start();

      await assertHealed(world, sumOfTallies([first, second]));
      assert.ok(sumOf(world, 'resent') > 0, 'nothing was lost');
      assert.is(sumOf(world, 'merged') + sumOf(world, 'deleted'), 0);
    }));
}

test('items lost in a crash under load are resent before new items', () =>
  inWorld('everysec', async (world) => {
    const first = await voteAs(world, usersFrom(0, 20));
    const { bytes: from } = await tailOf(world);
    const second = await voteAs(world, usersFrom(20, 20));
    const running = voteAs(world, usersFrom(40, 40));
    await world.server.kill();
    const { path, bytes: to } = await tailOf(world);
    await cutTo(path, Math.floor((from + to) / 2));
    await world.server.start();
    const third = await running;
    const fourth = await voteAs(world, usersFrom(80, 10));

    await assertHealed(world, sumOfTallies([first, second, third, fourth]));
    assert.ok(sumOf(world, 'resent') > 0, 'nothing was lost');
  }));

/** Runs `use` with a replica that was attached just now, through a proxy that a test can silence. */
const withReplica = async (
  { server }: World,
  use: (replica: RedisServer, between: CutProxy) => Promise<void>,
): Promise<void> => {
  const between = await openCutProxy(server.port);
  const replica = await startRedis({ settings: [`replicaof 127.0.0.1 ${between.port}`] });
  const operator = new Redis(replica.url);
  try {
    await eventually('the replica has a copy', async () =>
      /master_link_status:up/.test(await operator.info('replication')),
    );
    await use(replica, between);
  } finally {
    operator.disconnect();
    await replica.dispose();
    await between.close();
  }
};

const mayLoseTail = ({ nodes }: World): readonly boolean[] =>
  nodes.map(({ store }) => store.pulse.mayLoseTail());

for (const lagMs of [0, limits.retransmitKeepSafeMs + 1_500]) {
  test(`a replica attached later is promoted ${lagMs} ms behind: what it lacks is resent`, () =>
    inWorld('always', async (world) => {
      assert.equal(mayLoseTail(world), [false, false]);
      const first = await voteAs(world, usersFrom(0, 10));
      await withReplica(world, async (replica, between) => {
        between.silence();
        const second = await voteAs(world, usersFrom(10, 10));
        await pause(lagMs);
        if (lagMs > 0) assert.equal(mayLoseTail(world), [true, true]);
        await world.server.kill();
        const operator = new Redis(replica.url);
        await operator.replicaof('NO', 'ONE');
        operator.disconnect();
        world.front.redirect(replica.port);

        await assertHealed(world, sumOfTallies([first, second]));
        assert.ok(sumOf(world, 'resent') > 0, 'nothing was lost');
        assert.is(sumOf(world, 'merged') + sumOf(world, 'deleted'), 0);
      });
    }));
}

test('appendfsync weaker under way is reported, and what a crash then loses is resent', () =>
  inWorld('always', async (world) => {
    const [{ store }] = world.nodes;
    const operator = new Redis(world.server.url);
    const first = await voteAs(world, usersFrom(0, 10));
    await operator.config('SET', 'appendfsync', 'everysec');
    await eventually('both have seen it', async () => mayLoseTail(world).every((seen) => seen));
    assert.match(store.durability.describe(), /about a second/);
    assert.is(store.durability.countWeak(), 1);
    const { bytes } = await tailOf(world);
    const second = await voteAs(world, usersFrom(10, 10));
    await pause(limits.retransmitKeepSafeMs + 1_500);
    operator.disconnect();

    await world.server.kill();
    await cutTo((await tailOf(world)).path, bytes);
    await world.server.start();

    await assertHealed(world, sumOfTallies([first, second]));
    assert.ok(sumOf(world, 'resent') > 0, 'nothing was lost');
    await eventually('the restarted server is safe again', async () => store.durability.countWeak() === 0);
    assert.equal(mayLoseTail(world), [true, true], 'a risk once seen stays');
  }));

const [held, fresh] = [
  { generation: 3, version: 40 },
  { generation: 3, version: 41 },
];
const [bot] = bots as [(typeof bots)[number]];
const { shard } = bot;
const click = (visitor: string): Item => ({ kind: 'click', target: bot, visitor });
const voteOf = (user: string, atMs: number): Item => {
  return { kind: 'vote', target: bot, user, upvote: true, atMs, itags: [`${user}-1`] };
};

/** One producer on a Redis of its own, where the bot was initialised from the row `held`. */
interface Producer {
  readonly store: RedisHotStore;
  /** Sends a new batch; resolves to the reply. */
  send(...items: Item[]): Promise<BatchReply>;
  /** Sends the newest batch again. */
  sendAgain(): Promise<BatchReply>;
}

const asProducer = async (use: (producer: Producer) => Promise<void>): Promise<void> => {
  const server = await startRedis();
  const store = await openRedisStore({ urls: [server.url] });
  let newest: Batch = { shard, producer: 'p', sequence: 0, items: [] };
  const commit = async (batch: Batch): Promise<BatchReply> => {
    newest = batch;
    return (await store.commit([batch], rules))[0] as BatchReply;
  };
  const send = async (...items: Item[]): Promise<BatchReply> => {
    const reply = await commit({ ...newest, sequence: newest.sequence + 1, items });
    assert.is(reply.outcome, 'applied');
    return reply;
  };
  try {
    await publishAll(store, 4);
    await send({ ...initOf(bot), row: held });
    await use({ store, send, sendAgain: () => commit(newest) });
  } finally {
    await store.close();
    await server.dispose();
  }
};

const read = async (reply: Promise<BatchReply>) => (await reply).states[0]?.read();

test('Redis decides about lost items as the engine does', () =>
  asProducer(async ({ store, send, sendAgain }) => {
    const atMs = Date.now();
    const post = (servers: string, postedMs: number): Item => {
      return { kind: 'stats', target: bot, atMs: postedMs, servers };
    };
    const queried = async () => {
      const [reply] = await store.commit([{ shard, producer: 'p', sequence: 0, items: [] }], rules);
      return [reply?.outcome, reply?.lastSequence];
    };
    assert.equal(await queried(), ['duplicate', 1]);
    const sent = send(
      { ...click('1'), lostAt: held },
      { ...click('2'), lostAt: fresh },
      click('3'),
      { ...voteOf('a', atMs), lostAt: held },
      { ...voteOf('b', atMs), lostAt: fresh },
      { kind: 'invite', target: bot, lostAt: { generation: 2, version: 99 } },
      post('5', atMs - 50),
      { ...post('6', atMs - 60), lostAt: fresh },
    );
    const state = await read(sent);

    assert.equal([state?.clicks, state?.upvotes, state?.inviteClicks, state?.servers], [2, 1, 0, '5']);
    assert.is((await store.countBacklog()).votes, 2);
    const { decisions } = await sent;
    assert.equal(
      decisions?.map((decision) => 'contained' in decision),
      [true, false, false, true, false, true, false, true],
    );
    assert.equal((await sendAgain()).decisions, decisions);
    assert.equal(await queried(), ['duplicate', 2]);
    assert.is((await read(send({ ...post('7', atMs - 40), lostAt: fresh })))?.servers, '7');
    assert.is((await read(send({ ...click('4'), lostAt: held })))?.clicks, 2);
    const seen = await read(send(click('1'), click('4'), click('5')));
    assert.equal([seen?.clicks, seen?.uniqueClicks], [5, 3], 'the row has counted 1 and 4');
  }));

test('Redis judges what was lost twice by where it counted in the generation of the row', () =>
  asProducer(async ({ send }) => {
    const atMs = Date.now();
    const [early, late] = [
      { generation: 2, version: 1 },
      { generation: 4, version: 1 },
    ];
    const twice = await read(
      send(
        { ...click('6'), lostAt: { ...early, recounted: [fresh, late] } },
        { ...voteOf('c', atMs), lostAt: { ...early, recounted: [fresh, late] } },
        { ...voteOf('d', atMs), lostAt: { ...early, recounted: [held, late] } },
        { kind: 'invite', target: bot, lostAt: { ...early, recounted: [late] } },
      ),
    );

    assert.equal([twice?.clicks, twice?.upvotes, twice?.inviteClicks], [1, 1, 0]);
  }));

test.run();
