/**
 * A process that did not run for a while detects the stall before it answers: at the first request waiting in
 * its socket, or at its next heartbeat. The tests block the real event loop and use a real Redis.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { beatMs, openPubsub, stallMs } from '../../../storage/nodes/pubsub.ts';
import { startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

const test = suite('stalls');
let stalls = 0;

const redis = await startRedis();
const pubsub = openPubsub({ urls: [redis.url], onError: () => {} });
pubsub.subscribe({ stalled: () => void stalls++ });
await until('it hears itself', () => pubsub.isConnected());
test.after(async () => {
  pubsub.close();
  await redis.dispose();
});

/** Blocks the event loop. */
const block = (milliseconds: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
};

test('the first request after a stall, and only it, reports the stall before it continues', () => {
  pubsub.runs(performance.now());
  stalls = 0;
  block(stallMs + 50);
  pubsub.runs(performance.now());
  assert.is(stalls, 1);
  pubsub.runs(performance.now());
  assert.is(stalls, 1);
});

test('without requests the next heartbeat reports the stall', async () => {
  pubsub.runs(performance.now());
  stalls = 0;
  block(stallMs + 50);
  await until('the beat has told', () => stalls > 0);
  assert.is(stalls, 1);
});

test('heartbeats are more frequent than the stall threshold, so an idle node reports none', () => {
  assert.ok(beatMs * 3 <= stallMs);
});

test.run();
