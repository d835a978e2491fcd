/**
 * Two and three nodes with random routing on one Redis and one Postgres: each acknowledged write is
 * stored once, and is soon visible at every node (I1–I13). Time limit: 240 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nowMs } from '../../bench/prove/client-log.ts';
import { buildStatsBody, findPostShown } from '../../bench/prove/post-body.ts';
import { seed } from '../faults/harness/fault-case.ts';
import { printFigures } from '../faults/harness/figures.ts';
import { onServers } from '../faults/harness/on-servers.ts';
import { type Life, outsider } from '../faults/harness/stack.ts';
import { acknowledged, underLoad } from '../faults/harness/waits.ts';
import { tokenOf } from '../support/directory.ts';
import { until } from '../support/until.ts';

const test = suite('several nodes');

/** Posts for the bot outside of the log. Resolves to the status. */
const post = async ({ node }: Life, id: number): Promise<number> => {
  const headers = { 'Bot-Auth': tokenOf('bot', outsider), 'Content-Type': 'application/json' };
  const reply = await fetch(`${node.url}/bots/stats`, { method: 'POST', headers, body: buildStatsBody(id) });
  return reply.status;
};
const readShown = async ({ node }: Life): Promise<number | null> =>
  findPostShown(await (await fetch(`${node.url}/bots/${outsider}`)).text());

test('two nodes under load: nothing is lost, doubled, mixed up or undone', () =>
  onServers({ seed }, async ({ stack }) => {
    await underLoad(stack, 16, () => acknowledged(stack.log, 400));

    printFigures('two nodes, random routing', { ...(await stack.judge({ neverFalls: true })), seed });
  }));

test('a third node joins under load and one leaves: nothing is lost, everything is flushed', () =>
  onServers({ seed }, async ({ stack }) => {
    const [first] = stack.alive() as [Life];
    await underLoad(stack, 12, async () => {
      await acknowledged(stack.log, 150);
      await stack.open();
      await acknowledged(stack.log, 150);
      first.alive = false;
      assert.is((await first.node.stop()).code, 0);
      stack.log.endedMs[first.life] = nowMs();
      await acknowledged(stack.log, 150);
    });
    await stack.judge({ neverFalls: true });

    assert.is(stack.log.unanswered, 0, 'the node that left answered every request');
  }));

test('a write acknowledged by one node is soon visible at the others', () =>
  onServers({ seed, nodes: 3 }, async ({ stack }) => {
    const [writer, ...readers] = stack.alive() as [Life, ...Life[]];
    for (const life of stack.alive()) await readShown(life);
    let slowestMsMax = 0;
    for (let id = 1_000; id < 1_008; id++) {
      assert.is(await post(writer, id), 200);
      const ackedMs = performance.now();
      assert.is(await readShown(writer), id, 'at once where it was acknowledged');
      for (const life of readers) {
        await until('it is shown elsewhere', async () => (await readShown(life)) === id, 10_000);
      }
      slowestMsMax = Math.max(slowestMsMax, performance.now() - ackedMs);
    }
    printFigures('visible at every other node', { slowestMsMax });
  }));

test('while Postgres is away posts count, requests that need it fail at once, flushing resumes', () =>
  onServers({ seed }, async ({ stack, postgres }) => {
    const [first, second] = stack.alive() as [Life, Life];
    const unseen = async () => (await fetch(`${second.node.url}/bots/${stack.directory.bots[1]}`)).status;
    assert.is(await post(first, 1), 200);
    await postgres.stop('fast');
    try {
      const readiness = async () => (await fetch(`${second.node.adminUrl}/readyz`)).text();
      await until('it is noticed', async () => (await readiness()).includes('Postgres is away'));
      assert.is(await post(first, 2), 200);
      const startedMs = performance.now();
      for (let count = 0; count < 20; count++) assert.is(await unseen(), 503);
      assert.ok((performance.now() - startedMs) / 20 < 500, 'refused at once');
    } finally {
      await postgres.start();
    }
    await until('it is found', async () => (await unseen()) === 200);
    // Fails unless all is flushed.
    await stack.judge();
  }));

test.run();
