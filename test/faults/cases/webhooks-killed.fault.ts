/**
 * kill -9 of nodes under votes on listings with webhooks: between a flush and its requests, between an answer
 * and its record, at any instant. Each vote has one delivery per endpoint and reaches the receiver at least
 * once, always with the same id and the same body. Time limit: 1200 s.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { until } from '../../support/until.ts';
import type { WebhookReceivers } from '../../support/webhook-receivers.ts';
import { faultCase } from '../harness/fault-case.ts';
import type { Life, Stack } from '../harness/stack.ts';
import { acknowledged, underLoad, voteForOutsider } from '../harness/waits.ts';
import { countPending, recoveryMsMax, withReceivers } from './webhooks-servers.ts';

const test = suite('kill -9 of nodes that send webhooks');
/** The program with named points at which it dies. */
const program = fileURLToPath(new URL('../harness/crash-main.ts', import.meta.url));
const killNodes = async (stack: Stack, kills: number): Promise<void> => {
  for (let round = 0; round < kills; round++) {
    await acknowledged(stack.log, 60 + stack.random.below(120));
    await stack.kill(stack.random.pick(stack.alive()) as Life);
    await stack.open();
  }
  await acknowledged(stack.log, 60);
};

faultCase(test, {
  title: 'every vote reaches every receiver at least once, with one id and one body; one is dead throughout',
  name: 'kill -9 of nodes that send webhooks',
  counts: { faults: 5 },
  run: async ({ seed, count }) => ({
    ...(await withReceivers({ seed, nodes: 2 }, ({ stack }) =>
      underLoad(stack, 8, () => killNodes(stack, count)),
    )),
    rounds: count,
  }),
});

/** The node dies when the flush of its first vote is committed, before it sends anything. */
const dieAfterFlush = async (stack: Stack, receivers: WebhookReceivers): Promise<void> => {
  const victim = await stack.open({ program, settings: { CRASH_AT: 'after-ledger.flush:1' } });
  assert.is((await voteForOutsider(stack, victim, { user: stack.directory.users[0] as string })).status, 204);
  await victim.node.exited;
  await stack.kill(victim);
  assert.is(await countPending(stack), 1);
  assert.is(receivers.received.length, 0);
};

/** The next node stops while its request is at the receiver, and dies when the answer is on its way. */
const dieAfterAnswer = async (stack: Stack, receivers: WebhookReceivers): Promise<void> => {
  const opening = stack.open();
  receivers.beforeAnswer(async () => (await opening).node.signal('SIGSTOP'));
  await until('a request is answered', () => receivers.answered() === 1, recoveryMsMax);
  receivers.beforeAnswer(() => undefined);
  await stack.kill(await opening);
  assert.is(await countPending(stack), 1, 'the answer is not recorded');
};

faultCase(test, {
  title: 'a vote whose node dies before its request, and again between answer and record, keeps its id',
  name: 'kill -9 around the request of a webhook',
  once: true,
  run: async ({ seed }) => {
    let secondsMax = Number.POSITIVE_INFINITY;
    const figures = await withReceivers({ seed, nodes: 0 }, async ({ stack }, receivers) => {
      await dieAfterFlush(stack, receivers);
      await dieAfterAnswer(stack, receivers);
      await stack.open();
      const fromMs = performance.now();
      await until('it is sent again', async () => (await countPending(stack)) === 0, recoveryMsMax);
      secondsMax = (performance.now() - fromMs) / 1_000;
    });
    assert.equal([figures.events, figures.repeats], [1, 1]);
    assert.ok(secondsMax <= 15, `${secondsMax} s after the start of the next node`);
    return { ...figures, secondsMax, rounds: 2 };
  },
});

/** Answers take a while, so a node dies with requests under way. */
const answerMs = 400;

/** Nodes die one after the other while they send; the fourth has votes left that no one has begun. */
const dieWhileSending = async (stack: Stack, receivers: WebhookReceivers, deaths: number): Promise<void> => {
  receivers.beforeAnswer(() => sleep(answerMs));
  for (let death = 0; death < deaths; death++) {
    const before = receivers.received.length;
    const victim = await stack.open();
    if (death === 0) {
      for (const user of stack.directory.users)
        assert.is((await voteForOutsider(stack, victim, { user })).status, 204);
    }
    await until('requests are under way', () => receivers.received.length > before, recoveryMsMax);
    await stack.kill(victim);
  }
};

faultCase(test, {
  title: 'nodes that die one after the other while they send delay what was under way, and nothing else',
  name: 'deaths in a row of nodes that send a webhook',
  once: true,
  run: async ({ seed }) => {
    const deaths = 4;
    let secondsMax = Number.POSITIVE_INFINITY;
    const figures = await withReceivers({ seed, nodes: 0 }, async ({ stack }, receivers) => {
      await dieWhileSending(stack, receivers, deaths);
      await stack.open();
      const fromMs = performance.now();
      await until('all is delivered', async () => (await countPending(stack)) === 0, recoveryMsMax);
      secondsMax = (performance.now() - fromMs) / 1_000;
      const [row] = await stack.stores.sql<{ failures: number; since: number }[]>`
        select max(failures) as failures, max(failing_since_ms) as since from webhook_endpoints
        where url not like '%/silent/%'`;
      assert.equal([row?.failures, row?.since], [0, 0]);
    });
    // The oldest wait for the end of the lease; what was under way at the last death goes alone after that.
    assert.ok(secondsMax <= 15 + (8 * deaths * answerMs) / 1_000, `${secondsMax} s`);
    return { ...figures, secondsMax, rounds: deaths };
  },
});

faultCase(test, {
  title: 'a node that stands still while an answer arrives says nothing of the receiver',
  name: 'a node that stops while it sends a webhook',
  once: true,
  run: ({ seed }) =>
    withReceivers({ seed, nodes: 1 }, async ({ stack }, receivers) => {
      const [life] = stack.alive() as [Life];
      receivers.beforeAnswer(() => life.node.signal('SIGSTOP'));
      const [user = ''] = stack.directory.users;
      assert.is((await voteForOutsider(stack, life, { user })).status, 204);
      await until('the answer is on its way', () => receivers.answered() === 1, recoveryMsMax);
      receivers.beforeAnswer(() => undefined);
      await sleep(5_000);
      life.node.signal('SIGCONT');
      await until('it is delivered', async () => (await countPending(stack)) === 0, recoveryMsMax);
      const [row] = await stack.stores.sql<{ attempts: readonly { error: string }[] }[]>`
        select attempts from webhook_deliveries where state = 1`;
      assert.equal(
        row?.attempts.map(({ error }) => error),
        [''],
      );
    }),
});

test.run();
