/**
 * What an operator decides at one node, seen at the other. On one real Redis and one real Postgres.
 *
 * Without messages and polled shards each of these would be seen late: a cached session is kept for a minute,
 * and facts as long as an actor lives.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../support/directory.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { type Fleet, openFleet } from './fleet.ts';

const test = suite('an operator of two nodes');
/** As the fleet's settings have it. */
const operatorToken = 'operator-of-this-test-operator-of-this-test';
let redis: RedisServer;
let fleet: Fleet;
const postgres = await startPostgres();
test.before(async () => {
  redis = await startRedis();
  fleet = await openFleet({ redis, postgres, name: `operator_${Date.now()}`, nodes: 2, seed: 2 });
});
test.after(async () => {
  await fleet.close();
  await redis.dispose();
  await postgres.close();
});

/** A second is promised, but not by a machine that is busy; no cache forgets by itself so soon. */
const soonMs = 8_000;

const soon = async (what: string, look: () => Promise<boolean>): Promise<void> => {
  const endMs = performance.now() + soonMs;
  while (!(await look())) {
    assert.ok(performance.now() < endMs, what);
    await sleep(20);
  }
};

/** At the first node's private listener. */
const operate = async (words: string, body?: unknown): Promise<void> => {
  const [method = '', path = ''] = words.split(' ');
  const response = await fetch(`${fleet.nodes[0]?.adminUrl}${path}`, {
    method,
    headers: { authorization: `Operator ${operatorToken}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  assert.is(response.status, 200, await response.text());
};
const ask = async (node: number, words: string, token: string): Promise<number> => {
  const [method = '', path = ''] = words.split(' ');
  const response = await fetch(`${fleet.nodes[node]?.url}${path}`, {
    method,
    headers: { authorization: token },
  });
  await response.arrayBuffer();
  return response.status;
};

test('a ban at one node bites at the other, and so does its end', async () => {
  const user = fleet.directory.users[3] ?? '';
  const look = (node: number) => ask(node, `GET /users/${user}/reminders`, tokenOf('user', user));
  for (const node of [0, 1, 1]) assert.is(await look(node), 200);

  await operate(`PUT /users/${user}/ban`);
  assert.is(await look(0), 403, 'at once where it was asked for');
  await soon('banned at the other node', async () => (await look(1)) === 403);
  await operate(`DELETE /users/${user}/ban`);
  await soon('free at the other node', async () => (await look(1)) === 200);
});

test('a bot denied at one node takes no votes at the other, an approved one does', async () => {
  const bot = fleet.directory.bots[3] ?? '';
  const [first = '', ...others] = fleet.directory.users.slice(5);
  const vote = (node: number, user: string) =>
    ask(node, `PUT /users/${user}/bots/${bot}/votes?upvote=true`, tokenOf('user', user));
  assert.is(await vote(1, first), 204);

  await operate(`POST /bots/${bot}/deny`, {});
  // Who has voted already is asked again: while the node does not know yet, he only hears of his wait.
  await soon('denied at the other node', async () => (await vote(1, first)) === 409);
  await operate(`POST /bots/${bot}/approve`, {});
  await soon('votable at the other node', async () => (await vote(1, others[0] ?? '')) === 204);
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
  await soon('its token is dead', async () => (await post()) === 401);
  await soon('it is not shown', async () => (await read(1)) === 404);
});

test.run();
