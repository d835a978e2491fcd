/**
 * The Redis hot store on one server: the conformance suite, and cases that only Redis has.
 * Runs a private real server.
 * Time limit: 240 s.
 */
import { Redis } from 'ioredis';
import { Packr } from 'msgpackr';
import * as assert from 'uvu/assert';
import type { Item, ShardVersion } from '../../../engine/entity/items.ts';
import { type EntityRef, listAllShards, toShard } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { openRedisStore } from '../../../storage/hot/redis/store.ts';
import { toTag } from '../../../storage/hot/redis/tags.ts';
import { initOf } from '../../support/redis-load.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { refOf } from '../../support/refs.ts';
import { isLoop } from '../../support/test-group.ts';
import { conformance, type OpenedStore } from './conformance.ts';
import { rules, startMs } from './generate.ts';
import { createNewerRecords } from './newer-records.ts';

let server: RedisServer | undefined;
let worlds = 0;

/** Every store has its own key prefix. */
const open = async (clock: () => number): Promise<OpenedStore> => {
  server ??= await startRedis({ settings: ['appendfsync no'] });
  const options = { urls: [server.url], prefix: `w${++worlds}:`, clock };
  const opened: OpenedStore = {
    store: await openRedisStore(options),
    async reopen() {
      await opened.store.close();
      return openRedisStore(options);
    },
    newerRecords: createNewerRecords(() => new Redis(server?.url ?? ''), options.prefix),
    dispose: () => opened.store.close(),
  };
  return opened;
};

const sequences = isLoop ? 8 : 40;
const test = conformance('redis', { open, sequences, operationsPerSequence: 120, listsChanges: true });

test('the largest batch goes in one call, and every inner call stays in bounds', async () => {
  const opened = await open(() => startMs);
  const shard = toShard(7);
  const bots: EntityRef[] = [];
  for (let number = 1; bots.length < limits.batchItemsMax; number++) {
    const bot = refOf('bot', String(number), 1);
    if (bot.shard === shard) bots.push(bot);
  }
  const send = (sequence: number, items: readonly Item[]) =>
    opened.store.commit([{ shard, producer: 'p', sequence, items }], rules);
  await opened.store.publish([{ shard, generation: 1 }]);
  await send(1, bots.map(initOf));
  await send(
    2,
    bots.map((target, index) => ({ kind: 'stats', target, atMs: startMs, servers: String(index) })),
  );
  await opened.store.publish([{ shard, generation: 2 }]);
  const [reply] = await send(
    3,
    bots.map((target, index) => {
      const itags = [`${index}-a`, `${index}-b`];
      return { kind: 'vote', target, user: '1', upvote: true, atMs: startMs, itags };
    }),
  );
  const peeked = await opened.store.peek({ entities: 5_000, votes: 5_000 });
  const entities = peeked.entities.map(({ ref, generation, state }) => ({
    ref,
    generation,
    version: state.version,
    flushedVotes: 1,
  }));
  await opened.store.markFlushed({ entities, votes: peeked.votes.map(({ itag }) => ({ itag, shard })) });

  assert.is(new Set(reply?.states).size, bots.length);
  assert.is(reply?.decisions?.filter(({ kind }) => kind === 'voted').length, bots.length);
  assert.is(peeked.entities.length, bots.length);
  assert.equal(await opened.store.countBacklog(), { entities: 0, votes: 0 });
  await opened.dispose();
});

test('where nothing changed, heads cost two commands, and none is read again', async () => {
  const clock = () => startMs;
  const { store } = await open(clock);
  const bot = refOf('bot', '1', 1);
  await store.publish([{ shard: bot.shard, generation: 1 }]);
  await store.commit([{ shard: bot.shard, producer: 'p', sequence: 1, items: [initOf(bot)] }], rules);
  const redis = new Redis(server?.url ?? '');
  const countCommands = async (): Promise<number> =>
    [...(await redis.info('commandstats')).matchAll(/cmdstat_(?!info)\w+:calls=(\d+)/g)].reduce(
      (sum, [, calls]) => sum + Number(calls),
      0,
    );
  const [before] = await store.readVersions(listAllShards());
  const first = await countCommands();
  await store.countBacklog();
  const [after] = await store.readVersions(listAllShards());

  assert.is((await countCommands()) - first, 4);
  assert.equal(after, before);
  redis.disconnect();
  await store.close();
});

test('changes are listed since a version of the same history only, and while they are kept', async () => {
  const { store } = await open(() => startMs);
  const one = refOf('bot', '1', 1);
  const { shard } = one;
  await store.publish([{ shard, generation: 1 }]);
  let sequence = 0;
  const send = async (item: Item): Promise<void> => {
    sequence += 1;
    await store.commit([{ shard, producer: 'p', sequence, items: [item] }], rules);
  };
  const readVersion = async () => ({ shard, ...((await store.readVersions([shard]))[0] as ShardVersion) });
  await send(initOf(one));
  const known = await readVersion();
  const readChanged = async (from: typeof known) => (await store.readChanges([from]))[0]?.changed ?? null;
  assert.equal(await readChanged(known), new Map());
  await send({ kind: 'invite', target: one });
  await send({ kind: 'invite', target: one });

  assert.equal(await readChanged(known), new Map([[one.address, known.version + 2]]));
  assert.is(await readChanged({ ...known, chainHash: known.chainHash + 1 }), null, 'another history');
  assert.is(await readChanged({ ...known, generation: 2 }), null, 'another generation');
  assert.is(await readChanged({ ...known, version: known.version + 9 }), null, 'the store fell back');
  for (let count = 0; count < 1_100; count++) await send({ kind: 'invite', target: one });
  assert.is(await readChanged(known), null, 'the list was cut');
  await store.close();
});

test('where nothing moved no head is read', async () => {
  const { store } = await open(() => startMs);
  const bot = refOf('bot', '1', 1);
  await store.publish([{ shard: bot.shard, generation: 1 }]);
  const readHead = async () => (await store.readVersions(listAllShards()))[bot.shard]?.generation;
  assert.is(await readHead(), 1);
  const redis = new Redis(server?.url ?? '');
  await redis.hset(`w${worlds}:{s${toTag(bot.shard)}}:e`, '!g', '2');
  assert.is(await readHead(), 1);
  await redis.del(`w${worlds}:moved`);

  assert.is(await readHead(), 2);
  redis.disconnect();
  await store.close();
});

test('records with long texts, or of another packer, are read and changed like others', async () => {
  const opened = await open(() => startMs);
  const bot = refOf('bot', '1', 1);
  const redis = new Redis(server?.url ?? '');
  let sequence = 0;
  const send = async (...items: readonly Item[]) => {
    const batch = { shard: bot.shard, producer: 'p', sequence: ++sequence, items };
    const [reply] = await opened.store.commit([batch], rules);
    return reply?.states.at(-1)?.read();
  };
  await opened.store.publish([{ shard: bot.shard, generation: 1 }]);
  const first = [1, 3, 7, true, 5, '18446744073709551557', '2', '3', '', 'online', startMs, 4, 5, startMs];
  const rest = [0, 1, false, 0, 70_000, 3, 2, 1, 0, 0, 0];
  const packr = new Packr({ useRecords: false });
  const row = Buffer.concat([packr.pack(first), packr.pack(rest)]);
  await redis.hset(`w${worlds}:{s${toTag(bot.shard)}}:e`, bot.address, row);
  const [old] = await opened.store.load([{ kind: 'bot', id: bot.id }]);
  const invited = await send({ kind: 'invite', target: bot });
  await redis.hset(`w${worlds}:{s${toTag(bot.shard)}}:e`, bot.address, row);
  const shardList = '1,'.repeat(400);
  const long = await send({ kind: 'stats', target: bot, atMs: startMs, servers: '9', shardList });
  const clicked = await send({ kind: 'click', target: bot, visitor: '5' });
  const short = await send({ kind: 'stats', target: bot, atMs: startMs, shardList: '1' });
  redis.disconnect();

  if (old?.outcome !== 'found') throw new Error(old?.outcome);
  assert.equal([old.state.servers, old.state.clicks, old.state.version], [first[5], 70_000, 7]);
  assert.equal([invited?.servers, invited?.inviteClicks, invited?.clicks], [first[5], 3, 70_000]);
  assert.equal([long?.servers, long?.users, long?.shardList, long?.clicks], ['9', '3', shardList, 70_000]);
  assert.equal([clicked?.shardList, clicked?.clicks, clicked?.uniqueClicks], [shardList, 70_001, 4]);
  assert.equal([short?.servers, short?.shardList, short?.clicks], ['9', '1', 70_001]);
  await opened.dispose();
});

test('a store of another format is refused by its number', async () => {
  const opened = await open(() => startMs);
  const { shard } = refOf('bot', '1', 1);
  await opened.store.publish([{ shard, generation: 1 }]);
  const redis = new Redis(server?.url ?? '');
  const key = `w${worlds}:{s${toTag(shard)}}:e`;
  assert.is(await redis.hget(key, '!f'), '1');
  await redis.hset(key, '!f', '7');
  redis.disconnect();

  const message = await opened.reopen?.().catch((error: Error) => error.message);
  assert.match(String(message), /made by format 7; this program knows 1/);
});

test('decisions are stored as another packer reads them, and read as it stores them', async () => {
  const { store } = await open(() => startMs);
  const bot = refOf('bot', '1', 1);
  const redis = new Redis(server?.url ?? '');
  const key = `w${worlds}:{s${toTag(bot.shard)}}:e`;
  const vote = (user: string): Item => {
    return {
      kind: 'vote',
      target: bot,
      user,
      upvote: true,
      atMs: startMs,
      itags: [`${user}-0`, `${user}-1`],
    };
  };
  const send = async (...items: readonly Item[]) => {
    const [reply] = await store.commit([{ shard: bot.shard, producer: 'p', sequence: 1, items }], rules);
    return reply;
  };
  await store.publish([{ shard: bot.shard, generation: 1 }]);
  const items = [initOf(bot), ...Array.from({ length: 16 }, (_, index) => vote(String(index % 15)))];
  const reply = await send(...items);
  const packr = new Packr({ useRecords: false, int64AsType: 'number' });
  const stored = packr.unpack((await redis.hgetBuffer(key, '!q:p')) as Buffer);
  const again = await send(...items);
  // Whole numbers as small as they are, as `cmsgpack` packs them.
  await redis.hset(key, '!q:p', packr.pack([1, startMs, [0, [1], [3, 77]]]));
  const repacked = await send(...items);
  redis.disconnect();

  const retryAtMs = startMs + rules.windows.standard.waitMs;
  assert.equal(stored, [1, startMs, [0, ...Array.from({ length: 15 }, () => [1]), [0, retryAtMs]]]);
  assert.equal([again?.outcome, again?.decisions], ['duplicate', reply?.decisions]);
  assert.equal(reply?.decisions?.at(-1), { kind: 'refused', reason: 'wait', retryAtMs });
  assert.equal([repacked?.outcome, repacked?.lastSequence], ['duplicate', 1]);
  assert.equal(
    repacked?.decisions?.map(({ kind }) => kind),
    ['applied', 'voted', 'refused'],
  );
  await store.close();
});

test('a table of parts begins without those that an earlier table of its size left in Redis', async () => {
  let nowMs = startMs;
  const opened = await open(() => nowMs);
  const bot = refOf('bot', '1', 1);
  const redis = new Redis(server?.url ?? '');
  let sequence = 0;
  const send = (...items: readonly Item[]) =>
    opened.store.commit([{ shard: bot.shard, producer: 'p', sequence: ++sequence, items }], rules);
  const post = (...ids: readonly number[]): Item => ({
    ...{ kind: 'parts', target: bot, atMs: nowMs, shardCount: 3 },
    parts: ids.map((id) => ({ id, servers: 7 })),
  });
  await opened.store.publish([{ shard: bot.shard, generation: 1 }]);
  await send(initOf(bot), post(0, 1, 2));
  const [key = ''] = await redis.keys(`w${worlds}:*b:*:3`);
  await redis.copy(key, 'left');
  await send({ kind: 'stats', target: bot, atMs: nowMs, servers: '1' });
  await redis.copy('left', key);
  await send(post(1));
  nowMs += rules.parts.switchMs;
  await send({ kind: 'liveness', target: bot });
  const reply = await opened.store.readParts({ id: bot.id, fromId: 0, limit: 9 });
  redis.disconnect();

  assert.equal([reply?.state.servers, [...(reply?.parts.keys() ?? [])]], ['7', [1]]);
  await opened.dispose();
});

test('a generation is raised in steps, and nothing flushed between two of them is clean', async () => {
  const { store } = await open(() => startMs);
  const shard = toShard(7);
  const bots: EntityRef[] = [];
  for (let number = 1; bots.length < 5_000; number++) {
    const bot = refOf('bot', String(number), 1);
    if (bot.shard === shard) bots.push(bot);
  }
  await store.publish([{ shard, generation: 1 }]);
  for (let first = 0, sequence = 1; first < bots.length; first += limits.batchItemsMax, sequence++) {
    const items = bots.slice(first, first + limits.batchItemsMax).map(initOf);
    await store.commit([{ shard, producer: 'p', sequence, items }], rules);
  }
  await store.publish([{ shard, generation: 2 }]);
  const { entities } = await store.peek({ entities: 9_000, votes: 0 });
  const receipt = entities.map(({ ref, generation, state }) => ({
    ref,
    generation,
    version: state.version,
    flushedVotes: 0,
  }));
  const redis = new Redis(server?.url ?? '');
  const countPublishes = async (): Promise<number> =>
    Number(/cmdstat_hscan:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
  const before = await countPublishes();
  const publishing = store.publish([{ shard, generation: 3 }]);
  // Sent before the answer to the first step has arrived.
  const flushing = store.markFlushed({ entities: receipt, votes: [] });
  await Promise.all([publishing, flushing]);

  assert.is(entities.length, bots.length);
  assert.ok((await countPublishes()) - before >= 5, 'all were looked through');
  assert.is((await store.readGenerations())[shard], 3);
  assert.is((await store.countBacklog()).entities, bots.length);
  assert.is((await redis.hget(`w${worlds}:{s${toTag(shard)}}:e`, '!n')) ?? null, null);
  redis.disconnect();
  await store.close();
});

test('after a failover the marking of dirty entities starts from the beginning', async () => {
  const { store } = await open(() => startMs);
  const bot = refOf('bot', '1', 1);
  const { shard } = bot;
  await store.publish([{ shard, generation: 1 }]);
  const items = Array.from({ length: 900 }, (_, index) => refOf('bot', `${index}`, 1))
    .filter((ref) => ref.shard === shard)
    .map(initOf);
  await store.commit([{ shard, producer: 'p', sequence: 1, items }], rules);
  assert.is((await store.countBacklog()).entities, 0);
  const redis = new Redis(server?.url ?? '');
  const packr = new Packr({ useRecords: false });
  // Where another server's hash table ended almost, with a generation that no node published.
  const left = packr.pack([5, 'another', '1']);
  await redis.hset(`w${worlds}:{s${toTag(shard)}}:e`, '!n', left);
  await store.publish([{ shard, generation: 2 }]);

  assert.is((await store.readGenerations())[shard], 5, 'the highest one');
  assert.is((await store.countBacklog()).entities, items.length);
  redis.disconnect();
  await store.close();
});

test.after(() => server?.dispose());

test.run();
