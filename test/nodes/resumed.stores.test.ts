/**
 * A node that was stopped for 5 s (SIGSTOP) and continued, while another node kept running: from its first
 * answer on it shows nothing older than a second (I9), and refuses tokens that were revoked meanwhile (I17).
 * Its first requests are those that waited in its sockets while it was stopped. Time limit: 120 s.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildStatsBody, findPostShown } from '../../bench/prove/post-body.ts';
import { type Answer, createClient } from '../../bench/shared/http-client.ts';
import { onServers } from '../faults/harness/on-servers.ts';
import { operate } from '../faults/harness/operate.ts';
import type { Life, Stack } from '../faults/harness/stack.ts';
import { probe } from '../faults/harness/waits.ts';
import { assertIncludes } from '../support/assert-includes.ts';
import { tokenOf } from '../support/directory.ts';
import { until } from '../support/until.ts';

const test = suite('a node that was stopped');

const stoppedMs = 5_000;
/** A write at one node is visible at others after a second (I9). */
const longerThanStaleMs = 1_200;
/** Longer than a node that polls twice a second can be stale without noticing. */
const watchedMs = 1_500;
const queuedRequests = 12;

interface World {
  readonly stack: Stack;
  readonly busy: Life;
  readonly stopped: Life;
}

const onTwoNodes = (task: (world: World) => Promise<void>): Promise<void> =>
  onServers({ seed: 1 }, async ({ stack }) => {
    const [busy, stopped] = stack.alive() as [Life, Life];
    try {
      await task({ stack, busy, stopped });
    } finally {
      stopped.node.signal('SIGCONT');
    }
  });

/**
 * Stops the second node, runs `meanwhile` at the first, and continues the second with requests in its
 * sockets. Resolves to the answers to these requests.
 */
const whileStopped = async (
  { stopped }: World,
  meanwhile: () => Promise<unknown>,
  send: (client: Stack['client'], request: number) => Promise<Answer>,
): Promise<readonly Answer[]> => {
  const client = createClient(queuedRequests * 2);
  try {
    stopped.node.signal('SIGSTOP');
    const endMs = performance.now() + stoppedMs;
    // Some are sent before `meanwhile`, so that the node reads them first.
    const early = Array.from({ length: queuedRequests }, (_, request) => send(client, request));
    await meanwhile();
    const late = Array.from({ length: queuedRequests }, (_, request) => send(client, request));
    await sleep(Math.max(longerThanStaleMs, endMs - performance.now()));
    stopped.node.signal('SIGCONT');
    return await Promise.all([...early, ...late]);
  } finally {
    client.close();
  }
};

/**
 * Posts all the time to the node for another bot, so that calls to its stores are in flight when it stops:
 * it drops their connections afterwards, and its first calls fail.
 */
const keepBusy = ({ stack, stopped }: World): (() => Promise<void>) => {
  let ended = false;
  const post = async (): Promise<void> => {
    while (!ended) await probe(stack, stopped).catch(() => undefined);
  };
  const posting = Promise.all(Array.from({ length: 6 }, post));
  return async () => {
    ended = true;
    await posting;
  };
};

test('shows nothing older than a second, from its first answer on', () =>
  onTwoNodes(async (world) => {
    const { stack, busy, stopped } = world;
    const { bots } = stack.directory;
    const read = async (bot: string): Promise<Answer> => stack.client.ask(`${stopped.node.url}/bots/${bot}`);
    const postAll = async (value: number): Promise<void> => {
      for (const bot of bots) {
        const headers = { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' };
        const reply = await stack.client.ask(`${busy.node.url}/bots/stats`, {
          method: 'POST',
          headers,
          body: buildStatsBody(value),
        });
        assert.is(reply.status, 200, reply.text);
      }
    };
    await postAll(1);
    for (const bot of bots) {
      await until('the node knows the bot', async () => findPostShown((await read(bot)).text) === 1);
    }
    const stopPosting = keepBusy(world);
    try {
      const queued = await whileStopped(
        world,
        () => postAll(2),
        (client, request) => client.ask(`${stopped.node.url}/bots/${bots[request % bots.length]}`),
      );

      // Every write was acknowledged more than a second before the node continued.
      for (const { text, status } of queued)
        assert.equal([status, findPostShown(text)], [200, 2], 'as queued');
      const endMs = performance.now() + watchedMs;
      for (let count = 0; performance.now() < endMs; count++) {
        const { text, status } = await read(bots[count % bots.length] ?? '');
        assert.equal([status, findPostShown(text)], [200, 2], `read ${count}`);
      }
    } finally {
      stopped.node.signal('SIGCONT');
      await stopPosting();
    }
  }));

test('its pages show edits that were made meanwhile', () =>
  onTwoNodes(async (world) => {
    const { stack, busy, stopped } = world;
    const [bot = ''] = stack.directory.bots;
    const page = async (client = stack.client): Promise<Answer> =>
      client.ask(`${stopped.node.url}/bots/${bot}`);
    assert.is((await page()).status, 200);
    const short = 'This text was written while the other node was stopped, and must be visible at once.';
    const edit = async (): Promise<void> => {
      const reply = await stack.client.ask(`${busy.node.url}/bots/${bot}/settings`, {
        method: 'PATCH',
        headers: { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' },
        body: JSON.stringify({ short }),
      });
      assert.is(reply.status, 204, reply.text);
    };
    const queued = await whileStopped(world, edit, (client) => page(client));

    for (const { text, status } of [...queued, await page()]) {
      assert.is(status, 200, text);
      assertIncludes(text, short, 'not the old text');
    }
  }));

test('refuses tokens that were revoked meanwhile', () =>
  onTwoNodes(async (world) => {
    const { stack, busy, stopped } = world;
    const [user = '', voted = ''] = [stack.directory.users[0], stack.directory.bots[0]];
    const issue = await operate(stack, busy, { method: 'POST', path: `/user/${user}/tokens`, body: {} });
    assert.is(issue.status, 201, issue.text);
    const { session_id, token } = JSON.parse(issue.text) as { session_id: string; token: string };
    const use = (client = stack.client): Promise<Answer> =>
      client.ask(`${stopped.node.url}/users/${user}/bots/${voted}/votes?upvote=true`, {
        method: 'PUT',
        headers: { 'User-Auth': token },
      });
    await until('the token works', async () => (await use()).status === 204);
    for (let times = 0; times < 3; times++) assert.is((await use()).status, 429, 'known, and has to wait');
    const revoke = async (): Promise<void> => {
      const path = `/user/${user}/tokens/${session_id}`;
      const reply = await operate(stack, busy, { method: 'DELETE', path });
      assert.is(reply.status, 200, reply.text);
    };
    const queued = await whileStopped(world, revoke, (client) => use(client));

    for (const { text, status } of [...queued, await use()]) assert.is(status, 401, text);
  }));

test.run();
