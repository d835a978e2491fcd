/**
 * A process that did not run for a while learns of it before it answers anybody: from the first request that
 * lay in its socket, or from its next beat. The event loop is really blocked, the Redis is real.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { beatMs, openPubsub, type Pubsub, stallMs } from '../../../storage/nodes/pubsub.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from './world.ts';

const test = suite('stalls');
let redis: RedisServer;
let pubsub: Pubsub;
let stalls = 0;

test.before(async () => {
  redis = await startRedis();
  pubsub = openPubsub({ urls: [redis.url], onError: () => {} });
  pubsub.subscribe({ stalled: () => void stalls++ });
  await until('it hears itself', () => pubsub.isConnected());
});
test.after(async () => {
  pubsub.close();
  await redis.dispose();
});

/** Nothing of this process runs. */
const block = (milliseconds: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
};

test('the first request after a stall tells of it before it goes on, and only the first', () => {
  pubsub.runs(performance.now());
  stalls = 0;
  block(stallMs + 50);
  pubsub.runs(performance.now());
  assert.is(stalls, 1);
  pubsub.runs(performance.now());
  assert.is(stalls, 1);
});

test('without requests the next beat tells', async () => {
  pubsub.runs(performance.now());
  stalls = 0;
  block(stallMs + 50);
  await until('the beat has told', () => stalls > 0);
  assert.is(stalls, 1);
});

test('beats come more often than a stall lasts, so an idle node has none', () => {
  assert.ok(beatMs * 3 <= stallMs);
});

test.run();
