/**
 * Two and three nodes with random routing on one Redis and one Postgres: each acknowledged write is
 * stored once, and is soon visible at every node (I1–I13). Time limit: 240 s.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { tally } from '../faults/harness/judge.ts';
import { postShown, statsBody } from '../faults/harness/load.ts';
import { tokenOf } from '../support/directory.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { type Fleet, openFleet, printLine } from './fleet.ts';

const test = suite('several nodes');
const postgres = await startPostgres();
test.after(() => postgres.close());
const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);

const withFleet = async (nodes: number, task: (fleet: Fleet) => Promise<void>): Promise<void> => {
  const redis = await startRedis();
  try {
    const fleet = await openFleet({ redis, postgres, name: `nodes${nodes}_${Date.now()}`, nodes, seed });
    try {
      await task(fleet);
    } finally {
      await fleet.close();
    }
  } catch (error) {
    throw new Error(`seed ${seed}`, { cause: error });
  } finally {
    await redis.dispose();
  }
};

/** Longer than a write takes to become visible at every node. */
const visibleMs = 5_500;

/** Waits at least a second, and until `count` requests are acknowledged in total (at most 30 s). */
const waitForAcknowledged = async (fleet: Fleet, count: number): Promise<void> => {
  const endMs = performance.now() + 30_000;
  await sleep(1_000);
  while (tally(fleet.log).acked < count && performance.now() < endMs) await sleep(50);
};

test('two nodes under load: nothing is lost, doubled, mixed up or undone', () =>
  withFleet(2, async (fleet) => {
    const load = fleet.load(16);
    await waitForAcknowledged(fleet, 400);
    await load.stop();
    await sleep(visibleMs);
    await fleet.lookEverywhere();
    const { acked, votes } = await fleet.judge();

    printLine(`two nodes, random routing | acked ${acked} | votes ${votes} | seed ${seed}`);
    assert.ok(acked > 300, `${acked} acknowledged`);
  }));

test('a third node joins under load and one leaves: nothing is lost, everything is flushed', () =>
  withFleet(2, async (fleet) => {
    const load = fleet.load(12);
    await waitForAcknowledged(fleet, 150);
    await fleet.grow();
    await waitForAcknowledged(fleet, 300);
    await fleet.shrink();
    await waitForAcknowledged(fleet, 450);
    await load.stop();
    await sleep(visibleMs);
    await fleet.lookEverywhere();
    const { acked } = await fleet.judge();

    assert.is(fleet.log.unanswered, 0, 'the node that left answered every request');
    assert.ok(acked > 300, `${acked} acknowledged`);
  }));

test('a write acknowledged by one node is soon visible at the others', () =>
  withFleet(3, async (fleet) => {
    const [writer, ...readers] = fleet.nodes;
    const bot = fleet.directory.bots[0] ?? '';
    const headers = { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' };
    const readShown = async (url: string): Promise<number | null> =>
      postShown(await (await fetch(`${url}/bots/${bot}`)).text());
    for (const { url } of fleet.nodes) await readShown(url);
    let slowestMs = 0;
    for (let id = 1_000; id < 1_008; id++) {
      const reply = await fetch(`${writer?.url}/bots/stats`, {
        method: 'POST',
        headers,
        body: statsBody(id),
      });
      assert.is(reply.status, 200);
      const ackedMs = performance.now();
      assert.is(await readShown(writer?.url ?? ''), id, 'at once where it was waitForAcknowledged');
      for (const { url } of readers) {
        while ((await readShown(url)) !== id) {
          assert.ok(performance.now() - ackedMs < 10_000, 'soon elsewhere');
          await sleep(10);
        }
      }
      slowestMs = Math.max(slowestMs, performance.now() - ackedMs);
    }
    printLine(`visible at every other node | slowest of 8 ${slowestMs.toFixed(0)} ms`);
  }));

test('while Postgres is away posts count, requests that need it fail at once, flushing resumes', () =>
  withFleet(2, async (fleet) => {
    const [first, second] = fleet.nodes;
    const [bot = '', unseen = ''] = fleet.directory.bots;
    const headers = { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' };
    const post = async (id: number): Promise<number> =>
      (await fetch(`${first?.url}/bots/stats`, { method: 'POST', headers, body: statsBody(id) })).status;
    assert.is(await post(1), 200);
    await postgres.stop('fast');
    try {
      const readiness = async () => (await fetch(`${second?.adminUrl}/readyz`)).text();
      while (!(await readiness()).includes('Postgres is away')) await sleep(20);
      assert.is(await post(2), 200);
      const startedMs = performance.now();
      for (let count = 0; count < 20; count++) {
        assert.is((await fetch(`${second?.url}/bots/${unseen}`)).status, 503);
      }
      assert.ok((performance.now() - startedMs) / 20 < 500, 'refused at once');
    } finally {
      await postgres.start();
    }
    while ((await fetch(`${second?.url}/bots/${unseen}`)).status !== 200) await sleep(50);
    await fleet.judge();
  }));

test.run();
