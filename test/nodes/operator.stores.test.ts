/**
 * Operations at one node take effect at the other. On one real Redis and one real Postgres.
 *
 * Without pub/sub messages and polled shards they would take effect late: a cached session stays for a
 * minute, and facts as long as their actor.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../support/directory.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';
import { openFleet } from './fleet.ts';

const test = suite('an operator of two nodes');
/** The token in the settings of fleet.ts. */
const operatorToken = 'operator-of-this-test-operator-of-this-test';
const postgres = await startPostgres();
const redis = await startRedis();
const fleet = await openFleet({ redis, postgres, name: `operator_${Date.now()}`, nodes: 2, seed: 2 });
test.after(async () => {
  await fleet.close();
  await redis.dispose();
  await postgres.close();
});

/** A second is promised, but a busy machine needs more. Shorter than the lifetime of every cache. */
const soonMs = 8_000;

const waitUntil = (condition: string, holds: () => Promise<boolean>): Promise<void> =>
  until(condition, holds, soonMs);

/** Sends an operation to the first node. `line` is the method and the path. */
const operate = async (line: string, body?: unknown): Promise<void> => {
  const [method = '', path = ''] = line.split(' ');
  const response = await fetch(`${fleet.nodes[0]?.adminUrl}${path}`, {
    method,
    headers: { authorization: `Operator ${operatorToken}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  assert.is(response.status, 200, await response.text());
};
const ask = async (node: number, line: string, token: string): Promise<number> => {
  const [method = '', path = ''] = line.split(' ');
  const response = await fetch(`${fleet.nodes[node]?.url}${path}`, {
    method,
    headers: { authorization: token },
  });
  await response.arrayBuffer();
  return response.status;
};

test('a ban at one node applies at the other, and so does its end', async () => {
  const user = fleet.directory.users[3] ?? '';
  const readStatus = (node: number) => ask(node, `GET /users/${user}/reminders`, tokenOf('user', user));
  for (const node of [0, 1, 1]) assert.is(await readStatus(node), 200);

  await operate(`PUT /users/${user}/ban`);
  assert.is(await readStatus(0), 403, 'at once at the node of the operation');
  await waitUntil('banned at the other node', async () => (await readStatus(1)) === 403);
  await operate(`DELETE /users/${user}/ban`);
  await waitUntil('free at the other node', async () => (await readStatus(1)) === 200);
});

test('each node shows both, with the version and the figures of their heartbeats', async () => {
  const readNodes = async (node: number): Promise<Record<string, unknown>[]> => {
    const response = await fetch(`${fleet.nodes[node]?.adminUrl}/nodes`, {
      headers: { authorization: `Operator ${operatorToken}` },
    });
    return ((await response.json()) as { nodes: Record<string, unknown>[] }).nodes;
  };
  await waitUntil('two nodes at both', async () => {
    const lists = [await readNodes(0), await readNodes(1)];
    return lists.every((nodes) => nodes.length === 2);
  });
  for (const row of await readNodes(1)) {
    assert.equal([String(row.version).slice(0, 5), typeof row.requests_per_s], ['0.1.0', 'number']);
  }
});

test('a bot denied at one node accepts no votes at the other, an approved one does', async () => {
  const bot = fleet.directory.bots[3] ?? '';
  const [first = '', ...others] = fleet.directory.users.slice(5);
  const vote = (node: number, user: string) =>
    ask(node, `PUT /users/${user}/bots/${bot}/votes?upvote=true`, tokenOf('user', user));
  assert.is(await vote(1, first), 204);

  await operate(`POST /bots/${bot}/deny`, {});
  // Uses a user who has voted already: until the node knows of the denial, the user only gets 429.
  await waitUntil('denied at the other node', async () => (await vote(1, first)) === 409);
  await operate(`POST /bots/${bot}/approve`, {});
  await waitUntil('votable at the other node', async () => (await vote(1, others[0] ?? '')) === 204);
});

test('a bot deleted at one node is gone at the other, and its token with it', async () => {
  const bot = fleet.directory.bots[4] ?? '';
  const read = (node: number) => ask(node, `GET /bots/${bot}`, '');
  const post = async (): Promise<number> => {
    const response = await fetch(`${fleet.nodes[1]?.url}/bots/stats`, {
      method: 'POST',
      headers: { authorization: tokenOf('bot', bot) },
      body: '{"servers":1}',
    });
    await response.arrayBuffer();
    return response.status;
  };
  assert.equal([await read(1), await post()], [200, 200]);

  await operate(`DELETE /bots/${bot}`);
  await waitUntil('its token is dead', async () => (await post()) === 401);
  await waitUntil('it is not shown', async () => (await read(1)) === 404);
});

test.run();
