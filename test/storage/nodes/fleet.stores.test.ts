/**
 * What nodes share besides sessions: messages, active nodes, job runs and rate limits. On a real Redis.
 */
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DomainError } from '../../../engine/errors.ts';
import { createLimiter, decideRate, defaultLimits } from '../../../http/limits/limiter.ts';
import { createHeartbeats, heartbeatLifeMs, listFlushers } from '../../../storage/nodes/heartbeats.ts';
import type { NodeMessage } from '../../../storage/nodes/messages.ts';
import { openPubsub } from '../../../storage/nodes/pubsub.ts';
import { createRates } from '../../../storage/nodes/rates.ts';
import { pluck } from '../../support/pluck.ts';
import { startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

const test = suite('fleet signals');

const redis = await startRedis();
const admin = new Redis(redis.url);
admin.on('error', () => {});
const one = openPubsub({ urls: [redis.url], onError: () => {} });
const other = openPubsub({ urls: [redis.url], onError: () => {} });
await until('both hear themselves', () => one.isConnected() && other.isConnected());
test.after(async () => {
  one.close();
  other.close();
  admin.disconnect();
  await redis.dispose();
});

const edited: NodeMessage = { kind: 'profile', entity: 'bot', id: 'b1' };

test('a message reaches every node, also the one that sent it', async () => {
  const received: string[] = [];
  const end = [one, other].map((pubsub, index) =>
    pubsub.subscribe({ onMessage: (message) => received.push(`${index} ${message.kind}`) }),
  );

  await one.publish(edited);

  await until('both heard it', () => received.length === 2);
  assert.equal(received.sort(), ['0 profile', '1 profile']);
  for (const stop of end) stop();
});

test('foreign messages on the channel are ignored', async () => {
  const received: NodeMessage[] = [];
  const stop = other.subscribe({ onMessage: (message) => received.push(message) });

  await admin.publish('rollcall:signals', 'nonsense');
  await admin.publish('rollcall:signals', '{"kind":"of a newer program"}');
  await one.publish(edited);

  await until('the good one came', () => received.length > 0);
  assert.equal(received, [edited]);
  stop();
});

test('a lost connection is reported once, and restored automatically', async () => {
  let losses = 0;
  const stop = one.subscribe({ onDisconnect: () => losses++ });

  await redis.kill();
  await until('it noticed', () => losses > 0);
  assert.not(one.isConnected());
  await redis.start();
  await until('it is back', () => one.isConnected() && other.isConnected());

  assert.is(losses, 1);
  stop();
});

test('active nodes see each other and their versions; stopped or silent nodes are removed', async () => {
  const facts = { library: 'v1', adminUrl: 'http://a', version: '1', figures: {}, reachesSql: true };
  const first = createHeartbeats({ commands: one.commands, name: 'first', readFacts: () => facts });
  const second = createHeartbeats({
    commands: other.commands,
    name: 'second',
    readFacts: () => ({ ...facts, library: 'v2' }),
  });
  await first.sendHeartbeat();

  await second.sendHeartbeat();
  assert.equal(pluck(second.listNodes(), 'name'), ['first', 'second']);
  assert.equal([...second.listVersions()].sort(), ['v1', 'v2']);

  await second.leave();
  assert.equal(pluck(await first.sendHeartbeat(), 'name'), ['first']);

  await admin.zadd('{rollcall:nodes}:seen', Date.now() - heartbeatLifeMs - 1, 'silent');
  await admin.hset('{rollcall:nodes}:facts', 'silent', '{}');
  assert.equal(pluck(await first.sendHeartbeat(), 'name'), ['first']);
  await first.leave();
});

test('a node that does not reach SQL leaves its shards to the others, while one of them does', async () => {
  let reachesSql = true;
  const facts = { library: '', adminUrl: 'http://a', version: '1', figures: {}, reachesSql: true };
  const cutOff = createHeartbeats({
    commands: one.commands,
    name: 'cut off',
    readFacts: () => ({ ...facts, reachesSql }),
  });
  const earlier = createHeartbeats({ commands: other.commands, name: 'earlier', readFacts: () => facts });
  await cutOff.sendHeartbeat();
  assert.equal(listFlushers(await earlier.sendHeartbeat()), ['cut off', 'earlier']);

  reachesSql = false;
  await cutOff.sendHeartbeat();
  assert.equal(listFlushers(await earlier.sendHeartbeat()), ['earlier']);
  await earlier.leave();
  assert.equal(listFlushers(await cutOff.sendHeartbeat()), ['cut off']);
  await cutOff.leave();
});

test('a limit of the fleet decides as the limit of a node does', async () => {
  const policy = { name: 'login', burst: 3, intervalMs: 60_000 };
  const rates = createRates(one.commands, String);
  let tatMs = 0;
  for (let count = 0; count < 5; count++) {
    const answer = await rates.take(policy, 'equal');
    const expected = decideRate(policy, tatMs, 0);
    tatMs = expected.tatMs;

    assert.is(answer.allowed, expected.allowed);
    assert.ok(Math.abs(answer.aheadMs - expected.tatMs) < 30_000, 'both tell how far ahead it is');
  }
});

test('two nodes together allow as much as one', async () => {
  const limiters = [one, other].map(({ commands }) =>
    createLimiter(defaultLimits, createRates(commands, String)),
  );
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      try {
        return await limiters[index % 2]?.takeShared('login', 'c1', Date.now());
      } catch (error) {
        assert.instance(error, DomainError);
        assert.is((error as DomainError).code, 'rate_limited');
        assert.ok((error as DomainError).retryAfterSeconds > 0);
        return '';
      }
    }),
  );

  assert.is(outcomes.filter(Boolean).length, defaultLimits.login.burst);
});

test('a slot becomes free again after its interval', async () => {
  const rates = createRates(one.commands, String);
  const policy = { name: 'login', burst: 1, intervalMs: 3_000 };
  assert.ok((await rates.take(policy, 'c2')).allowed);
  assert.not((await rates.take(policy, 'c2')).allowed);

  await until('it is free', async () => (await rates.take(policy, 'c2')).allowed);
});

test('a clock that was set back delays a client by one burst at most', async () => {
  const policy = { name: 'login', burst: 3, intervalMs: 60_000 };
  const hourAheadMicros = (Date.now() + 3_600_000) * 1_000;
  await one.commands.send('SET', ['rollcall:rate:login:back', hourAheadMicros]);

  const answer = await createRates(one.commands, String).take(policy, 'back');

  assert.equal(answer, { allowed: false, aheadMs: policy.burst * policy.intervalMs });
});

test('while Redis is unavailable every node limits by itself', async () => {
  const limiter = createLimiter(defaultLimits, createRates(one.commands, String));
  await redis.kill();

  const nowMs = Date.now();
  for (let count = 0; count < defaultLimits.login.burst; count++) {
    assert.match(await limiter.takeShared('login', 'c3', nowMs), /RateLimit/);
  }
  await until('it refuses', async () => {
    try {
      await limiter.takeShared('login', 'c3', nowMs);
      return false;
    } catch (error) {
      return error instanceof DomainError && error.code === 'rate_limited';
    }
  });
  await redis.start();
});

test.run();
