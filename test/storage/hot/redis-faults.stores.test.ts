/**
 * The Redis hot store when its server fails: killed, stopped, emptied, full, read-only, without its library.
 * Runs a private real server; every test states what is guaranteed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { HotStore } from '../../../engine/ports.ts';
import { dropLibraries, listVersions, readLibrary } from '../../../storage/hot/redis/library.ts';
import { openRedisStore } from '../../../storage/hot/redis/store.ts';
import { toTag } from '../../../storage/hot/redis/tags.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { openCutProxy } from '../../support/cut-proxy.ts';
import {
  botsIn,
  clicksOf,
  createLoad,
  initOf,
  publishAll,
  rejection,
  rules,
  sendUntilKnown,
} from '../../support/redis-load.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

const test = suite('redis faults');

const bots = botsIn(8);
const [bot] = bots as [(typeof bots)[number]];
const clicks = (sequence: number) => [
  {
    shard: bot.shard,
    producer: 'p',
    sequence,
    items: [initOf(bot), { kind: 'click', target: bot, visitor: String(sequence) } as const],
  },
];

interface World {
  readonly server: RedisServer;
  readonly store: HotStore;
  readonly redis: Redis;
}

let server: RedisServer | undefined;

/** An emptied server that syncs every write, a published store on it, and a connection to cause faults. */
const inWorld = async (use: (world: World) => Promise<void>): Promise<void> => {
  server ??= await startRedis();
  const redis = new Redis(server.url);
  redis.on('error', () => undefined);
  await redis.flushall();
  const store = await openRedisStore({ urls: [server.url] });
  try {
    await publishAll(store);
    await use({ server, store, redis });
  } finally {
    await store.close();
    redis.disconnect();
  }
};

for (const rounds of [1, 25, 60]) {
  test(`killed -9 after ${rounds} rounds: acknowledged changes survive, and every click counts once`, () =>
    inWorld(async ({ server: victim, store }) => {
      const load = createLoad(store, bots);
      for (let round = 0; round < rounds; round++) await load.round();
      const running = load.round();
      await victim.kill();
      await victim.start();
      await running;
      await load.round();

      const wanted = bots.map(() => [load.acknowledged, load.acknowledged]);
      assert.equal(await clicksOf(store, bots), wanted);
    }));
}

test('a library flushed in the middle is loaded again, and calls succeed', () =>
  inWorld(async ({ store, redis }) => {
    const load = createLoad(store, bots);
    for (let round = 0; round < 20; round++) {
      const running = load.round();
      if (round % 5 === 4) await redis.function('FLUSH');
      await running;
    }

    assert.equal(
      await clicksOf(store, bots),
      bots.map(() => [400, 400]),
    );
    assert.is(load.met.size, 0);
  }));

test('an emptied store counts nothing and reports uninitialised', () =>
  inWorld(async ({ store, redis }) => {
    await store.commit(clicks(1), rules);
    await redis.flushall();
    const [reply] = await store.commit(clicks(2), rules);

    assert.equal([reply?.outcome, reply?.generation, reply?.lastSequence], ['uninitialised', 0, 0]);
    assert.is(await redis.dbsize(), 0, 'nothing was written');
    assert.equal(new Set(await store.readGenerations()), new Set([0]));
  }));

test('a full store refuses with nothing done, and the number may be used again', () =>
  inWorld(async ({ store, redis }) => {
    await store.commit(clicks(1), rules);
    await redis.config('SET', 'maxmemory', '1mb');
    const failure = await rejection(store.commit(clicks(2), rules));
    const meanwhile = await clicksOf(store, [bot]);
    const versions = (await store.readVersions([bot.shard])).map(({ version }) => version);
    await redis.config('SET', 'maxmemory', '0');
    const [reply] = await store.commit(clicks(2), rules);

    assert.equal([failure.outcome, failure.reason], ['not_applied', 'full']);
    assert.equal([meanwhile, versions], [[[1, 1]], [1]], 'reads go on, and show nothing new');
    assert.equal([reply?.outcome, reply?.states[0]?.read()?.clicks], ['applied', 2]);
  }));

/** A server's state in which it refuses writes: how to bring it about, and how to end it. */
const refusals: Record<string, readonly [make: string[], end: string[], reason: string]> = {
  NOREPLICAS: [
    ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
    ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
    'busy',
  ],
  READONLY: [['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE'], 'busy'],
};
for (const [word, [make, end, reason]] of Object.entries(refusals)) {
  test(`${word} is a definite refusal`, () =>
    inWorld(async ({ store, redis }) => {
      await store.commit(clicks(1), rules);
      await redis.call(...(make as [string, ...string[]]));
      const failure = await rejection(store.commit(clicks(2), rules));
      await redis.call(...(end as [string, ...string[]]));
      // After READONLY it connects again.
      const [reply] = await sendUntilKnown(store, clicks(2), new Map());

      assert.equal([failure.outcome, failure.reason], ['not_applied', reason]);
      assert.match(failure.message, word);
      assert.is(reply?.outcome, 'applied');
    }));
}

test('a primary that became a replica is left for the one that its name leads to by now', () =>
  inWorld(async ({ server: former, redis }) => {
    const next = await startRedis({ settings: [`replicaof 127.0.0.1 ${former.port}`] });
    const proxy = await openCutProxy(former.port);
    const store = await openRedisStore({ urls: [`redis://127.0.0.1:${proxy.port}`] });
    const promoted = new Redis(next.url);
    try {
      await store.commit(clicks(1), rules);
      await redis.wait(1, 0);
      await promoted.replicaof('NO', 'ONE');
      await redis.replicaof('127.0.0.1', next.port);
      proxy.rename(next.port);
      const [reply] = await sendUntilKnown(store, clicks(2), new Map());

      assert.is(reply?.outcome, 'applied');
      assert.ok((await promoted.dbsize()) > 0);
    } finally {
      await store.close();
      await redis.replicaof('NO', 'ONE');
      promoted.disconnect();
      await Promise.all([proxy.close(), next.dispose()]);
    }
  }));

test('a server busy with a script refuses; afterwards the number may be used again', () =>
  inWorld(async ({ store, redis }) => {
    await redis.config('SET', 'busy-reply-threshold', '1');
    const busy = redis.eval('while true do end', 0).catch(() => undefined);
    const killer = new Redis((server as RedisServer).url, { enableReadyCheck: false });
    const isBusy = () =>
      killer.ping().then(
        () => false,
        () => true,
      );
    while (!(await isBusy())) await pause(5);
    const failure = await rejection(store.commit(clicks(1), rules));
    await killer.script('KILL');
    killer.disconnect();
    await busy;
    await redis.config('SET', 'busy-reply-threshold', '5000');

    assert.equal([failure.outcome, failure.reason], ['not_applied', 'busy']);
    assert.is((await store.commit(clicks(1), rules))[0]?.outcome, 'applied');
  }));

test('a server that requires a password is a definite refusal', () =>
  inWorld(async ({ server: { url }, redis }) => {
    await redis.config('SET', 'requirepass', 'secret');
    const failure = await rejection(openRedisStore({ urls: [url] }));
    const named = url.replace('//', '//:secret@');
    const store = await openRedisStore({ urls: [named] });
    await store.close();
    await redis.config('SET', 'requirepass', '');

    assert.equal([failure.outcome, failure.reason], ['not_applied', 'busy']);
  }));

test('a password that is changed under way is named once the connection was lost', () =>
  inWorld(async ({ store, redis }) => {
    await redis.config('SET', 'requirepass', 'secret');
    await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const notes = (): string => store.pulse?.listSilent().join() ?? '';
    await until('the note', () =>
      /has refused everything for \d+ s: it requires another password$/.test(notes()),
    );
    await redis.config('SET', 'requirepass', '');
    await until('no note', () => notes() === '');
  }));

test('a silent server leaves the outcome unknown, and the resent batch counts once', () =>
  inWorld(async ({ server: victim }) => {
    const store = await openRedisStore({ urls: [victim.url], silenceMaxMs: 2_000 });
    await store.commit(clicks(1), rules);
    victim.signal('SIGSTOP');
    const failure = await rejection(store.commit(clicks(2), rules));
    victim.signal('SIGCONT');
    const replies = await sendUntilKnown(store, clicks(2), new Map());

    assert.equal([failure.outcome, failure.reason], ['unknown', 'unreachable']);
    assertIncludes(['applied', 'duplicate'], replies[0]?.outcome ?? '');
    assert.equal(await clicksOf(store, [bot]), [[2, 2]]);
    await store.close();
  }));

test('a foreign value under one of our keys is not treated as a refusal', () =>
  inWorld(async ({ store, redis }) => {
    await redis.set(`{s${toTag(bot.shard)}}:d`, 'foreign');
    const failure = await rejection(store.commit(clicks(1), rules));

    assert.equal([failure.outcome, failure.reason], ['unknown', 'busy']);
    assert.match(failure.message, /HALFWRITTEN/);
  }));

test('library versions coexist; unused ones are dropped', () =>
  inWorld(async ({ redis, store }) => {
    const { version, code } = readLibrary();
    const old = '0123456789ab';
    await redis.function('LOAD', code.replaceAll(version, old));
    assert.equal([...(await listVersions(redis))].sort(), [old, version].sort());

    assert.equal(await dropLibraries(redis, new Set([version])), [old]);
    assert.equal(await listVersions(redis), [version]);
    assert.is((await store.commit(clicks(1), rules))[0]?.outcome, 'applied');
  }));

test('an appendfsync weaker than always causes a warning', async () => {
  const weak = await startRedis({ settings: ['appendfsync everysec'] });
  try {
    const store = await openRedisStore({ urls: [weak.url] });
    assert.match(store.durability.describe(), /about a second/);
    await store.close();
  } finally {
    await weak.dispose();
  }
});

test('an address without a listener is reported at once', async () => {
  const failure = await rejection(openRedisStore({ urls: ['redis://127.0.0.1:1'] }));

  assert.is(failure.reason, 'unreachable');
});

test.after(() => server?.dispose());

test.run();
