/**
 * Postgres unavailable while the nodes receive no signals from each other: tokens in use keep working by
 * their copies in Redis, and a revoked one does not.
 *
 * Only the listening connections are cut, again and again; counting and commands go on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { assertIncludes } from '../../support/assert-includes.ts';
import { tokenOf } from '../../support/directory.ts';
import { pluck } from '../../support/pluck.ts';
import { until } from '../../support/until.ts';
import type { ServersWorld as World } from '../harness/on-servers.ts';
import { type Life, outsider } from '../harness/stack.ts';
import { acknowledged, probe, untilAll } from '../harness/waits.ts';
import type { Fault } from './postgres-away.ts';

/** Cuts the listening connections of all nodes for so long. */
const withoutSignals = async ({ admin }: World, milliseconds: number): Promise<void> => {
  const endMs = performance.now() + milliseconds;
  while (performance.now() < endMs) {
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await sleep(20);
  }
};

const post = async ({ stack }: World, { node }: Life, token: string): Promise<number> => {
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
  const issued = await stack.client.ask(sessions, { method: 'POST', headers, body });
  assert.is(issued.status, 201, issued.text);
  const { token, session_id } = JSON.parse(issued.text) as { token: string; session_id: string };
  for (const life of stack.alive()) assert.is(await post(world, life, token), 200);
  const revoked = await stack.client.ask(`${sessions}/${session_id}`, { method: 'DELETE', headers });
  assert.is(revoked.status, 200, revoked.text);
  for (const life of stack.alive()) {
    await until('it is refused', async () => (await post(world, life, token)) === 401);
  }
  return token;
};

/** Away for so long, then without signals for 2 s, then away a little longer. */
export const awayWithoutSignals =
  (milliseconds: number): Fault =>
  async (world) => {
    const { postgres, stack } = world;
    const revoked = await revokedToken(world);
    await untilAll(stack, 200);
    await postgres.stop('fast');
    try {
      await sleep(milliseconds);
      const known = await Promise.all(stack.alive().map((life) => probe(stack, life)));
      assert.equal(
        pluck(known, 'status'),
        known.map(() => 200),
      );
      await withoutSignals(world, 2_000);
      await untilAll(stack, 200);
      for (const life of stack.alive()) {
        const status = await post(world, life, revoked);
        assertIncludes([401, 503], status, `a revoked token: ${status}`);
      }
      await acknowledged(stack.log, 100);
    } finally {
      await postgres.start();
    }
  };
