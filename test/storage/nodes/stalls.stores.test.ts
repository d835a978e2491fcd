/**
 * A process that did not run for a while detects the stall before it answers: at the first request waiting in
 * its socket, or at its next heartbeat. The tests block the real event loop and use a real Redis.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { limits } from '../../../engine/limits.ts';
import { beatMs, openPubsub, stallMs } from '../../../storage/nodes/pubsub.ts';
import { startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

const test = suite('stalls');
let stalls = 0;
const restAfterMs = 2_000;

const redis = await startRedis();
const pubsub = openPubsub({ urls: [redis.url], onError: () => {}, restAfterMs });
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

test('heartbeats and polls are more frequent than the stall threshold, so an idle node reports none', () => {
  assert.ok(beatMs * 3 <= stallMs);
  assert.ok(limits.stalenessPollMs < stallMs);
});

test('heartbeats rest while no caller needs them; the next caller waits for the first one', async () => {
  let drops = 0;
  await until('it hears itself', () => pubsub.isConnected());
  const stop = pubsub.subscribe({ onDisconnect: () => void drops++ });
  await pause(restAfterMs + beatMs * 2);

  assert.not(pubsub.isConnected(), 'it rests');
  assert.is(await pubsub.waitUntilConnected(), true);
  assert.ok(pubsub.isConnected());
  assert.is(drops, 0, 'the connection stayed, so nothing was missed');
  stop();
});

test('a message that another node publishes during a rest arrives', async () => {
  const received: string[] = [];
  await until('it hears itself', () => pubsub.isConnected());
  const stop = pubsub.subscribe({
    onMessage: (message) => void (message.kind === 'session' && received.push(message.id)),
  });
  await pause(restAfterMs + beatMs * 2);
  const other = openPubsub({ urls: [redis.url], onError: () => {} });
  await until('the other node is connected', () => other.isConnected());

  await other.publish({ kind: 'session', hash: 'a'.repeat(64), id: '7' });
  await pubsub.waitUntilConnected();

  assert.equal(received, ['7']);
  other.close();
  stop();
});

test('a connection that is lost during a rest drops what depends on messages', async () => {
  let drops = 0;
  await until('it hears itself', () => pubsub.isConnected());
  const stop = pubsub.subscribe({ onDisconnect: () => void drops++ });
  await pause(restAfterMs + beatMs * 2);

  await pubsub.commands.send('CLIENT', ['KILL', 'TYPE', 'pubsub']);

  await until('the loss is noticed', () => drops > 0);
  await until('it hears itself again', () => pubsub.isConnected());
  stop();
});

test('a caller waits only briefly for the first heartbeat after a rest', async () => {
  await pause(restAfterMs + beatMs * 2);
  redis.signal('SIGSTOP');
  try {
    assert.is(await pubsub.waitUntilConnected(), false);
  } finally {
    redis.signal('SIGCONT');
  }
  await until('it hears itself again', () => pubsub.isConnected());
});

test.run();
