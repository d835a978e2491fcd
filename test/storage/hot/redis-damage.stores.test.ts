/**
 * Damaged records in Redis, whose file has no checksums: they keep nothing else from SQL.
 */
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { reconcileGenerations } from '../../../engine/flush/generations.ts';
import { flushToSql } from '../../../ops/cli/flush.ts';
import { toTag } from '../../../storage/hot/redis/tags.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { openStores } from '../../../storage/open.ts';
import { prepareStores } from '../../../storage/prepare.ts';
import { makeFolder } from '../../support/folder.ts';
import { pluck } from '../../support/pluck.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { botsIn, initOf, rules } from '../../support/redis-load.ts';
import { startRedis } from '../../support/redis-server.ts';
import { refOf } from '../../support/refs.ts';
import { itagOf } from '../ledger/world.ts';

const test = suite('damage in Redis');
const redisServer = await startRedis();
const sqlServer = await startPostgres();
const redis = new Redis(redisServer.url);
test.after(async () => {
  redis.disconnect();
  await Promise.all([redisServer.dispose(), sqlServer.close()]);
});

const [bot] = botsIn(1) as [ReturnType<typeof botsIn>[number]];
const { standard } = rules.windows;
/** One vote for each request, also on weekends. */
const oneVote = { ...rules, windows: { standard, premium: standard, weekend: standard } };
let databases = 0;

/** Stores in which a bot has votes that wait, as many as `damages`, each damaged in one way. */
const openDamaged = async (damages: readonly ((vote: string) => string)[]) => {
  await redis.flushall();
  const databaseUrl = await sqlServer.database(`damage${++databases}`);
  const config = { redisUrl: [redisServer.url], databaseUrl, dataDir: makeFolder('rollcall-damage-') };
  const stores = await openStores(config, { clock: Date.now, onWarning: () => {} });
  await prepareStores(stores);
  await reconcileGenerations(stores.hot, createLedger(stores.sql));
  const votes = damages.map((_, number) => ({
    kind: 'vote' as const,
    target: bot,
    user: `user${number}`,
    upvote: true,
    atMs: Date.now(),
    itags: [itagOf(number)],
  }));
  const items = [initOf(bot), ...votes];
  await stores.hot.commit([{ shard: bot.shard, producer: 'p', sequence: 1, items }], oneVote);
  const [key] = (await redis.keys('*:o')) as [string];
  const packed = await redis.zrangeBuffer(key, '0', '-1');
  for (const [number, damage] of damages.entries()) {
    const vote = packed[number] as Buffer;
    await redis.zrem(key, vote);
    await redis.zadd(key, 0, Buffer.from(damage(vote.toString('latin1')), 'latin1'));
  }
  return stores;
};

const isWhole = (vote: string): string => vote;
/** Flips the lowest bit of the first byte of a part. */
const flip =
  (part: string) =>
  (vote: string): string => {
    const at = vote.indexOf(part);
    return vote.slice(0, at) + String.fromCharCode(vote.charCodeAt(at) ^ 1) + vote.slice(at + 1);
  };
const setHighBit = (vote: string): string => String.fromCharCode(vote.charCodeAt(0) | 0x80) + vote.slice(1);

const damages = [
  isWhole,
  flip('\0b:'),
  flip('b:'),
  flip(':'),
  flip('\0user'),
  (vote: string) => vote.replaceAll('\0', '\x01'),
  (vote: string) => vote.slice(0, itagOf(0).length),
  setHighBit,
  // Two that differ late, such as of a kind that only a newer program knows.
  (vote: string) => `${'later'.repeat(60)}\0${vote}`,
  (vote: string) => `${'later'.repeat(60)}\0${vote}`,
  isWhole,
];

test('votes that cannot be read become dead letters, and the others reach SQL', async () => {
  const stores = await openDamaged(damages);
  const before = await stores.hot.countBacklog();
  const peeked = await stores.hot.peek({ entities: 10, votes: 2 });
  await flushToSql(stores);

  assert.equal([before, peeked.votes.length], [{ entities: 1, votes: damages.length }, 2]);
  assert.equal(await stores.hot.countBacklog(), { entities: 0, votes: 0 });
  const votes = await stores.sql<{ author: string }[]>`select author from votes order by itag`;
  const letters = await stores.sql<{ itag: string }[]>`select body->>'itag' as itag from dead_letters`;
  await stores.close();
  assert.equal([pluck(votes, 'author'), letters.length], [['user0', 'user3', 'user10'], 8]);
  assert.ok(letters.every(({ itag }) => itag.startsWith('unreadable vote: ')));
});

/** Ways to damage a stored listing, and the note about each. */
const slotDamages: readonly (readonly [string, (slot: Buffer) => Buffer, RegExp])[] = [
  [
    'the head of its first number',
    (slot) => Buffer.concat([slot.subarray(0, 1), Buffer.of((slot[1] as number) ^ 1), slot.subarray(2)]),
    /damaged records \(b:sick\).*FLUSHALL/,
  ],
  ['its end', (slot) => slot.subarray(0, 80), /damaged records \(b:sick\).*FLUSHALL/],
  [
    'its form',
    (slot) => Buffer.concat([Buffer.of(0xc0), slot.subarray(1)]),
    /a form that this version does not know \(b:sick\)/,
  ],
];

for (const [what, damage, note] of slotDamages) {
  test(`a listing that cannot be read keeps no other from SQL, and is named once: ${what}`, async () => {
    const stores = await openDamaged([isWhole]);
    const sick = refOf('bot', 'sick', 2);
    const items = [initOf(sick), { kind: 'click' as const, target: sick, visitor: '1' }];
    await stores.hot.commit([{ shard: sick.shard, producer: 'q', sequence: 1, items }], oneVote);
    const key = `{s${toTag(sick.shard)}}:e`;
    const slot = (await redis.hgetBuffer(key, sick.address)) as Buffer;
    await redis.hset(key, sick.address, damage(slot));
    const [before] = await stores.hot.load([sick]);
    const first = stores.listWarnings();
    await flushToSql(stores);
    await flushToSql(stores);
    const loaded = await stores.hot.load([sick, bot]);
    const notes = stores.listWarnings();
    const backlog = await stores.hot.countBacklog();
    await stores.close();

    assert.equal([before?.outcome, ...pluck(loaded, 'outcome')], ['damaged', 'damaged', 'found']);
    assert.equal(backlog, { entities: 1, votes: 0 });
    assert.match(notes.join(), note);
    assert.equal(first, notes);
  });
}

test.run();
