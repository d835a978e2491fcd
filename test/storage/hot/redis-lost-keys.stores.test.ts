/**
 * A key that an operator deletes in Redis, each kind alone, while clients go on: what can be rebuilt is, by
 * records, and what cannot is named. Runs a private real server.
 */
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Item, VoteItem } from '../../../engine/entity/items.ts';
import { openRedisStore, type RedisHotStore } from '../../../storage/hot/redis/store.ts';
import { toTag } from '../../../storage/hot/redis/tags.ts';
import { assertNoNote, assertNote } from '../../support/notes.ts';
import { botsIn, clicksOf, initOf, publishAll, rules } from '../../support/redis-load.ts';
import { startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

const test = suite('deleted keys of redis');
const server = await startRedis();
const redis = new Redis(server.url);
test.after(async () => {
  redis.disconnect();
  await server.dispose();
});

const bots = botsIn(3);
const [bot] = bots as [(typeof bots)[number]];
const keyOf = (letter: string, { shard } = bot): string => `{s${toTag(shard)}}:${letter}`;
const limit = { entities: 1_000, votes: 1_000 };

const voteBy = (user: string): VoteItem => ({
  ...{ kind: 'vote', target: bot, user, upvote: true, atMs: Date.now() },
  itags: [`itag-${user}`, `itag-${user}-2`],
});
const parts = (shardCount: number, ...posted: readonly { id: number; servers: number }[]): Item => ({
  ...{ kind: 'parts', target: bot, atMs: Date.now(), shardCount, parts: posted },
});

interface World {
  readonly store: RedisHotStore;
  send(...items: readonly Item[]): Promise<void>;
  /** A click on each bot: what clients do all the time. */
  load(): Promise<void>;
  flush(): Promise<void>;
}

const inWorld = async (use: (world: World) => Promise<void>): Promise<void> => {
  await redis.flushall();
  const store = await openRedisStore({ urls: [server.url] });
  let sequence = 0;
  const sendTo = async (target: typeof bot, items: readonly Item[]): Promise<void> => {
    sequence += 1;
    const batch = { shard: target.shard, producer: `p${sequence}`, sequence: 1, items };
    const [reply] = await store.commit([batch], rules);
    assert.is(reply?.outcome, 'applied');
  };
  try {
    await publishAll(store);
    for (const target of bots) await sendTo(target, [initOf(target)]);
    await store.sweep(Date.now());
    await use({
      store,
      send: (...items) => sendTo(bot, items),
      load: async () => {
        for (const target of bots)
          await sendTo(target, [{ kind: 'click', target, visitor: String(sequence) }]);
      },
      flush: async () => {
        const { entities, votes } = await store.peek(limit);
        await store.markFlushed({
          entities: entities.map(({ ref, generation, state }) => ({
            ...{ ref, generation, version: state.version, flushedVotes: state.upvotes - state.downvotes },
          })),
          votes: votes.map(({ itag, ref }) => ({ itag, shard: ref.shard })),
        });
      },
    });
  } finally {
    await store.close();
  }
};

test('what is dirty is queued again after its index was deleted or has expired', () =>
  inWorld(async ({ store, load, flush }) => {
    for (const remove of [() => redis.del(keyOf('d')), () => redis.pexpire(keyOf('d'), 0)]) {
      await load();
      await remove();
      await load();
      await store.sweep(Date.now());
      const { entities } = await store.peek(limit);

      assert.equal(entities.map(({ ref }) => ref.id).sort(), bots.map(({ id }) => id).sort());
      await flush();
      assert.equal((await store.peek(limit)).entities, []);
    }
    assert.is(store.mended.dirty, 2);
  }));

test('parts are judged when their index was deleted, and dropped when their table was', () =>
  inWorld(async ({ store, send }) => {
    await send(parts(2, { id: 0, servers: 5 }, { id: 1, servers: 6 }));
    await redis.del(keyOf('t'));
    await store.sweep(Date.now());
    assert.is(await redis.zcard(keyOf('t')), 1);

    const [table = ''] = await redis.keys(keyOf('b:*'));
    await redis.del(table);
    await store.sweep(Date.now());
    await send(parts(2, { id: 0, servers: 5 }, { id: 1, servers: 7 }));
    const reply = await store.readParts({ id: bot.id, fromId: 0, limit: 9 });

    assert.is(reply?.state.servers, '12');
    assert.equal([store.mended.due, store.mended.parts], [1, 1]);
  }));

test('producers are listed again', () =>
  inWorld(async ({ store, load }) => {
    await load();
    const before = (await redis.smembers(keyOf('p'))).sort();
    await redis.del(keyOf('p'));
    await store.sweep(Date.now());

    assert.equal((await redis.smembers(keyOf('p'))).sort(), before);
    assert.is(store.mended.producers, before.length);
  }));

test('accepted votes that were deleted before SQL had them are named until somebody has read it', () =>
  inWorld(async ({ store, send, load, flush }) => {
    await send(voteBy('1'), voteBy('2'));
    await flush();
    await send(voteBy('3'), voteBy('4'), voteBy('5'));
    await store.sweep(Date.now());
    assertNoNote('redis_keys_lost', store.listDamage());
    const waiting = await redis.zcard(keyOf('o'));
    await redis.del(keyOf('o'));
    await send(voteBy('6'));
    await load();
    await store.sweep(Date.now());

    assertNote('redis_keys_lost', store.listDamage());
    assert.is(store.mended.votes, waiting);
    await flush();
    await store.sweep(Date.now());
    assert.is(store.mended.votes, waiting);
    const [, key = '', field = ''] = /redis-cli HDEL '(.*?)' '(.*?)'/.exec(store.listDamage().join()) ?? [];
    await redis.hdel(key, field);
    await store.sweep(Date.now());
    assertNoNote('redis_keys_lost', store.listDamage());
  }));

test('visitors that were deleted are named until somebody has read it, also while others come', () =>
  inWorld(async ({ store, load }) => {
    await load();
    await store.sweep(Date.now());
    assertNoNote('redis_keys_lost', store.listDamage());
    const [visitors = ''] = await redis.keys(keyOf('u:*'));
    for (const remove of [
      () => redis.del(visitors),
      () => redis.rename(visitors, 'elsewhere'),
      () =>
        redis
          .pexpire(visitors, 1)
          .then(() => until('it expires', async () => !(await redis.exists(visitors)))),
    ]) {
      const before = store.mended.visitors;
      await remove();
      await load();
      await store.sweep(Date.now());
      await store.sweep(Date.now());
      assert.is(store.mended.visitors, before + 1);
      assertNote('redis_keys_lost', store.listDamage());
      const [, key = '', fields = ''] = /redis-cli HDEL '(.*?)' (.*)$/.exec(store.listDamage().join()) ?? [];
      await redis.hdel(key, ...fields.replaceAll("'", '').split(' '));
      await store.sweep(Date.now());
      assertNoNote('redis_keys_lost', store.listDamage());
    }
  }));

test('last votes that were deleted are named once, and come back from SQL without another change', () =>
  inWorld(async ({ store, send }) => {
    const [first, second] = [voteBy('1'), voteBy('2')];
    await send(first, second);
    assert.equal(await store.sweep(Date.now()), []);
    const [votes = ''] = await redis.keys(keyOf('v:*'));
    const kept = await redis.hgetallBuffer(votes);
    for (const meanwhile of [[], [voteBy('3')]]) {
      await redis.del(votes);
      await send(...meanwhile);
      assert.equal(await store.sweep(Date.now()), [bot]);
      assert.equal(await store.sweep(Date.now()), []);

      const cast = [first, second].map(({ user, atMs }) => ({ user, atMs }));
      await send({ kind: 'remember', target: bot, readUnder: 1, cast, pinned: [] });
      const now = await redis.hgetallBuffer(votes);
      assert.equal([now['1'], now['2']], [kept['1'], kept['2']]);
      assert.is(Object.keys(now).length, 2 + meanwhile.length);
      assert.equal(await store.sweep(Date.now()), []);
    }
    assert.is(store.mended.voters, 2);
  }));

test('a vote that was released stays so when last votes come back', () =>
  inWorld(async ({ store, send }) => {
    const vote = voteBy('1');
    const release = [{ user: '1', atMs: vote.atMs }];
    const voided = { upvotes: -2, downvotes: 0, releaseBeforeMs: 0, release, pinned: [] };
    await send(vote);
    await send({ ...{ kind: 'adjust', target: bot, sequence: 1 }, ...voided });
    const [votes = ''] = await redis.keys(keyOf('v:*'));
    const kept = await redis.hgetallBuffer(votes);
    await send({ kind: 'remember', target: bot, readUnder: 1, cast: release, pinned: [] });
    assert.equal(await redis.hgetallBuffer(votes), kept);
    assert.equal(await store.sweep(Date.now()), []);
  }));

test('what is deleted, listed again or moved between rounds is no loss', () =>
  inWorld(async ({ store, send, load }) => {
    await send(voteBy('1'));
    await load();
    await send({ kind: 'forget', target: bot });
    const again = { ...bot, incarnation: (Number(bot.incarnation) + 100) as typeof bot.incarnation };
    await send(initOf(again));
    assert.equal(await store.sweep(Date.now()), []);
    await redis.del(keyOf('w'));
    assert.equal(await store.sweep(Date.now()), []);
    assert.equal([store.mended.visitors, store.mended.voters], [0, 0]);
  }));

test('without the list of changes and the mark of moves readers learn all the same', () =>
  inWorld(async ({ store, load }) => {
    await load();
    const [known] = await store.readVersions([bot.shard]);
    await redis.del(keyOf('c'), 'moved');
    await load();
    const [changes] = await store.readChanges([
      { shard: bot.shard, ...(known as NonNullable<typeof known>) },
    ]);

    assert.is(changes?.changed, null);
    assert.is(changes?.now.version, (known?.version ?? 0) + 1);
    assert.equal(await clicksOf(store, [bot]), [[2, 2]]);
  }));

test('without its records a shard has no generation, and takes nothing', () =>
  inWorld(async ({ store }) => {
    await redis.del(keyOf('e'));
    await store.sweep(Date.now());
    const batch = { shard: bot.shard, producer: 'q', sequence: 1, items: [initOf(bot)] };

    assert.is((await store.commit([batch], rules))[0]?.outcome, 'uninitialised');
    assert.is((await store.readGenerations())[bot.shard], 0);
  }));

test('a swapped database is another history, which no upkeep mends', () =>
  inWorld(async ({ store, load }) => {
    await redis.swapdb(0, 1);
    await store.sweep(Date.now());
    const batch = { shard: bot.shard, producer: 'q', sequence: 1, items: [initOf(bot)] };
    assert.is((await store.commit([batch], rules))[0]?.outcome, 'uninitialised');
    await redis.swapdb(0, 1);

    await redis.copy(keyOf('e'), keyOf('old'));
    await load();
    const [newest] = await store.readVersions([bot.shard]);
    await redis.rename(keyOf('old'), keyOf('e'));
    await store.sweep(Date.now());
    const [older] = await store.readVersions([bot.shard]);

    assert.ok((older?.version ?? 0) < (newest?.version ?? 0));
    assert.is.not(older?.chainHash, newest?.chainHash);
    assert.is(store.mended.dirty, 0);
  }));

test.run();
