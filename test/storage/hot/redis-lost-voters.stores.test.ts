/**
 * The last votes of a listing are deleted in Redis: upkeep and engine bring them back from SQL, so that its
 * voters wait. A private real server; SQL is the model.
 */
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createEngine } from '../../../engine/create.ts';
import { systemClock } from '../../../ops/clock.ts';
import { openRedisStore } from '../../../storage/hot/redis/store.ts';
import { createLedgerModel } from '../../model/ledger-model.ts';
import { silentMeters } from '../../support/engine-meters.ts';
import { botsIn, rules } from '../../support/redis-load.ts';
import { startRedis } from '../../support/redis-server.ts';

const test = suite('lost voters of redis');
const server = await startRedis();
const redis = new Redis(server.url);
const hot = await openRedisStore({ urls: [server.url] });
const ledger = createLedgerModel();
const bots = botsIn(2);
for (const { kind, id } of bots) ledger.list(kind, id, { listed: true, revision: 1 });
let ids = 0;
const engine = createEngine({
  hot,
  ledger: ledger.port,
  clock: systemClock,
  meters: silentMeters,
  producer: 'one-11111',
  rules,
  visitorSecret: new Uint8Array(32),
  newId: () => `vote-${++ids}`,
  flushIntervalMs: 100,
  actorsMax: 100,
});
await engine.start();
test.after(async () => {
  await engine.drain(performance.now() + 2_000);
  await hot.close();
  redis.disconnect();
  await server.dispose();
});

test('voters wait again after upkeep, those in SQL and those not yet there', async () => {
  const vote = async (user: string) => {
    const outcomes = [];
    for (const { kind, id } of bots)
      outcomes.push((await engine.vote({ kind, id, user, upvote: true })).kind);
    return outcomes;
  };
  assert.equal(await vote('1'), ['voted', 'voted']);
  for (const { kind, id } of bots) await engine.waitForFlush(kind, id);
  assert.equal(await vote('2'), ['voted', 'voted']);
  await redis.del(await redis.keys('*:v:*'));
  assert.equal(await vote('3'), ['voted', 'voted']);

  const lost = await hot.sweep(Date.now());
  assert.equal(lost.map(({ id }) => id).sort(), bots.map(({ id }) => id).sort());
  for (const ref of lost) await engine.restoreVoters(ref);

  for (const user of ['1', '2', '3']) assert.equal(await vote(user), ['refused', 'refused'], user);
});

test.run();
