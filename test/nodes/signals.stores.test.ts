/**
 * The pub/sub messages between two nodes: a revoked token, an edit, a deleted bot. On one real Redis and one
 * real Postgres.
 *
 * Without the messages each of these would take effect late: a cached session stays for a minute, a profile
 * for ten seconds.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../support/directory.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';
import { openFleet } from './fleet.ts';

const test = suite('messages between nodes');
const postgres = await startPostgres();
const redis = await startRedis();
const fleet = await openFleet({ redis, postgres, name: `signals_${Date.now()}`, nodes: 2, seed: 1 });
test.after(async () => {
  await fleet.close();
  await redis.dispose();
  await postgres.close();
});

/** A second is promised, but a busy machine needs more. Shorter than the lifetime of every cache. */
const soonMs = 6_000;

const waitUntil = (condition: string, holds: () => Promise<boolean>): Promise<void> =>
  until(condition, holds, soonMs);

interface RequestOptions {
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

const ask = (node: number, line: string, { headers = {}, body }: RequestOptions = {}): Promise<Response> => {
  const [method = '', path = ''] = line.split(' ');
  return fetch(`${fleet.nodes[node]?.url}${path}`, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
};

const owner = () => ({ 'User-Auth': tokenOf('user', fleet.directory.users[0] ?? '') });
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
  const bot = fleet.directory.bots[0] ?? '';
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
  const bot = fleet.directory.bots[1] ?? '';
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

test('a bot deleted at one node is gone at the other, and its token with it', async () => {
  const bot = fleet.directory.bots[2] ?? '';
  const token = tokenOf('bot', bot);
  assert.is(await postAt(1, token), 200);
  const removed = await ask(0, `DELETE /bots/${bot}`, { headers: owner() });
  assert.is(removed.status, 204, await removed.text());

  await waitUntil('its token is dead', async () => (await postAt(1, token)) === 401);
  await waitUntil('it is not shown', async () => (await ask(1, `GET /bots/${bot}`)).status === 404);
});

test.run();
