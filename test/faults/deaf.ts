/**
 * Postgres unavailable while the nodes receive no signals from each other: tokens in use keep working by
 * their copies in Redis, and a revoked one does not.
 *
 * Only the listening connections are cut, again and again; counting and commands go on. Used by
 * postgres-away.fault.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import * as assert from 'uvu/assert';
import { tokenOf } from '../support/directory.ts';
import type { Fault, World } from './postgres-away.ts';
import { acknowledged, type Life, outsider, probe, until, untilAll } from './stack.ts';

/** Cuts the listening connections of all nodes for so long. */
const deafFor = async (redisUrl: string, milliseconds: number): Promise<void> => {
  const admin = new Redis(redisUrl);
  const endMs = performance.now() + milliseconds;
  try {
    while (performance.now() < endMs) {
      await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await sleep(20);
    }
  } finally {
    admin.disconnect();
  }
};

const ask = async ({ stack }: World, { node }: Life, token: string): Promise<number> => {
  const headers = { 'Bot-Auth': token, 'Content-Type': 'application/json' };
  const { status } = await stack.client.ask(`${node.url}/bots/stats`, {
    method: 'POST',
    headers,
    body: '{"servers":2}',
  });
  return status;
};

/** A token of the outsider that every node knew, and that was revoked at one of them. */
const revokedToken = async (world: World): Promise<string> => {
  const { stack } = world;
  const { node } = stack.alive()[0] as Life;
  const headers = { 'Bot-Auth': tokenOf('bot', outsider), 'Content-Type': 'application/json' };
  const sessions = `${node.url}/bot/${outsider}/sessions`;
  const body = JSON.stringify({ name: 'short', type: 'api', expiry: 3_600, perm_limits: [] });
  const minted = await stack.client.ask(sessions, { method: 'POST', headers, body });
  assert.is(minted.status, 201, minted.text);
  const { token, session_id } = JSON.parse(minted.text) as { token: string; session_id: string };
  for (const life of stack.alive()) assert.is(await ask(world, life, token), 200);
  const revoked = await stack.client.ask(`${sessions}/${session_id}`, { method: 'DELETE', headers });
  assert.is(revoked.status, 200, revoked.text);
  for (const life of stack.alive()) {
    await until('it is dead', async () => (await ask(world, life, token)) === 401);
  }
  return token;
};

/** Away for so long, then deaf for 2 s, then away a little longer. */
export const awayAndDeaf =
  (milliseconds: number): Fault =>
  async (world) => {
    const { server, stack, redisUrl } = world;
    const revoked = await revokedToken(world);
    await untilAll(stack, 200);
    await server.stop('fast');
    try {
      await sleep(milliseconds);
      const known = await Promise.all(stack.alive().map((life) => probe(stack, life)));
      assert.equal(
        known.map(({ status }) => status),
        known.map(() => 200),
      );
      await deafFor(redisUrl, 2_000);
      await untilAll(stack, 200);
      for (const life of stack.alive()) {
        const status = await ask(world, life, revoked);
        assert.ok(status === 401 || status === 503, `a revoked token: ${status}`);
      }
      await acknowledged(stack.log, 100);
    } finally {
      await server.start();
    }
  };
