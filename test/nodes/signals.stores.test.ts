/**
 * The pub/sub messages between two nodes: what a client or an operator changes at one takes effect at the
 * other. On one real Redis and one real Postgres.
 *
 * Without the messages each of these would take effect late: a cached session stays for a minute, a profile
 * for ten seconds, and facts as long as their actor.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Operation, operate as send } from '../faults/harness/operate.ts';
import { type Life, openStack } from '../faults/harness/stack.ts';
import { tokenOf } from '../support/directory.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';

const test = suite('messages between nodes');
const postgres = await startPostgres();
const redis = await startRedis();
const databaseUrl = await postgres.database('signals');
const stack = await openStack({ redisUrls: [redis.url], databaseUrl, nodes: 2, seed: 1 });
test.after(async () => {
  await stack.close();
  await redis.dispose();
  await postgres.close();
});

/** A second is promised, but a busy machine needs more. Shorter than the lifetime of every cache. */
const promptMs = 8_000;

const waitUntil = (condition: string, holds: () => Promise<boolean>): Promise<void> =>
  until(condition, holds, promptMs);

interface RequestOptions {
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

const ask = (node: number, line: string, { headers = {}, body }: RequestOptions = {}): Promise<Response> => {
  const [method = '', path = ''] = line.split(' ');
  return fetch(`${stack.lives[node]?.node.url}${path}`, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
};

/** Sends an operation to a node, the first one by default. Resolves to its reply. */
const operate = async (operation: Operation, node = 0): Promise<string> => {
  const { status, text } = await send(stack, stack.lives[node] as Life, operation);
  assert.is(status, 200, text);
  return text;
};
const owner = () => ({ 'User-Auth': tokenOf('user', stack.directory.users[0] ?? '') });
const postAt = async (node: number, token: string): Promise<number> =>
  (await ask(node, 'POST /bots/stats', { headers: { 'Bot-Auth': token }, body: { servers: 1 } })).status;

/** Creates a token of the bot at the first node, and uses it at both. */
const mint = async (bot: string): Promise<{ id: string; token: string }> => {
  const reply = await ask(0, `POST /bot/${bot}/sessions`, {
    headers: owner(),
    body: { name: 'other', type: 'api', expiry: 3_600, perm_limits: [] },
  });
  assert.is(reply.status, 201, await reply.clone().text());
  const session = (await reply.json()) as { session_id: string; token: string };
  for (const node of [1, 0, 1]) assert.is(await postAt(node, session.token), 200);
  return { id: session.session_id, token: session.token };
};

test('a token revoked at one node becomes invalid at the other, and stays so', async () => {
  const bot = stack.directory.bots[0] ?? '';
  for (let round = 0; round < 3; round++) {
    const { id, token } = await mint(bot);
    const revoked = await ask(0, `DELETE /bot/${bot}/sessions/${id}`, { headers: owner() });
    assert.is(revoked.status, 200);

    assert.is(await postAt(0, token), 401, 'at once where it was revoked');
    await waitUntil('invalid at the other node', async () => (await postAt(1, token)) === 401);
    for (let count = 0; count < 5; count++) assert.is(await postAt(1, token), 401);
  }
});

test('an edit at one node is visible at the other', async () => {
  const bot = stack.directory.bots[1] ?? '';
  const readPrefix = async (node: number): Promise<unknown> =>
    ((await (await ask(node, `GET /bots/${bot}`)).json()) as { prefix: string }).prefix;
  for (const prefix of ['a!', 'b!', 'c!']) {
    await readPrefix(1);
    const edited = await ask(0, `PATCH /bots/${bot}/settings`, { headers: owner(), body: { prefix } });
    assert.is(edited.status, 204, await edited.text());

    assert.is(await readPrefix(0), prefix, 'at once where it was edited');
    await waitUntil('visible at the other node', async () => (await readPrefix(1)) === prefix);
  }
});

const deletions: Record<string, (bot: string) => Promise<unknown>> = {
  'its owner': async (bot) => {
    const removed = await ask(0, `DELETE /bots/${bot}`, { headers: owner() });
    assert.is(removed.status, 204, await removed.text());
  },
  'an operator': (bot) => operate({ method: 'DELETE', path: `/bots/${bot}` }),
};
for (const [index, [who, remove]] of Object.entries(deletions).entries()) {
  test(`a bot that ${who} deletes at one node is gone at the other, and its token with it`, async () => {
    const bot = stack.directory.bots[2 + index] ?? '';
    const token = tokenOf('bot', bot);
    const read = async () => (await ask(1, `GET /bots/${bot}`)).status;
    assert.equal([await read(), await postAt(1, token)], [200, 200]);
    await remove(bot);

    await waitUntil('its token is dead', async () => (await postAt(1, token)) === 401);
    await waitUntil('it is not shown', async () => (await read()) === 404);
  });
}

test('a ban at one node applies at the other, and so does its end', async () => {
  const user = stack.directory.users[3] ?? '';
  const headers = { 'User-Auth': tokenOf('user', user) };
  const readStatus = async (node: number) =>
    (await ask(node, `GET /users/${user}/reminders`, { headers })).status;
  for (const node of [0, 1, 1]) assert.is(await readStatus(node), 200);

  await operate({ method: 'PUT', path: `/users/${user}/ban` });
  assert.is(await readStatus(0), 403, 'at once at the node of the operation');
  await waitUntil('banned at the other node', async () => (await readStatus(1)) === 403);
  await operate({ method: 'DELETE', path: `/users/${user}/ban` });
  await waitUntil('free at the other node', async () => (await readStatus(1)) === 200);
});

test('a bot denied at one node accepts no votes at the other, an approved one does', async () => {
  const bot = stack.directory.bots[5] ?? '';
  const [first = '', second = ''] = stack.directory.users.slice(5);
  const vote = async (user: string) => {
    const headers = { 'User-Auth': tokenOf('user', user) };
    return (await ask(1, `PUT /users/${user}/bots/${bot}/votes?upvote=true`, { headers })).status;
  };
  assert.is(await vote(first), 204);

  await operate({ method: 'POST', path: `/bots/${bot}/deny`, body: { note: 'No.' } });
  // Uses a user who has voted already: until the node knows of the denial, the user only gets 429.
  await waitUntil('denied at the other node', async () => (await vote(first)) === 409);
  await operate({ method: 'POST', path: `/bots/${bot}/approve`, body: {} });
  await waitUntil('votable at the other node', async () => (await vote(second)) === 204);
});

test('each node shows both, with the version and the figures of their heartbeats', async () => {
  const readNodes = async (node: number): Promise<Record<string, unknown>[]> =>
    JSON.parse(await operate({ method: 'GET', path: '/nodes' }, node)).nodes;
  await waitUntil('two nodes at both', async () => {
    const lists = [await readNodes(0), await readNodes(1)];
    return lists.every((nodes) => nodes.length === 2);
  });
  for (const row of await readNodes(1)) {
    assert.equal([String(row.version).slice(0, 5), typeof row.requests_per_s], ['0.1.0', 'number']);
  }
});

test.run();
