/**
 * Sessions of several nodes on a real Redis: a revoke reaches every node within a second and no fault undoes
 * it (I17).
 * Time limit: 240 s.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { assertExcludes, assertIncludes } from '../../support/assert-includes.ts';
import { until } from '../../support/until.ts';
import { newSession } from '../catalogue/directory.ts';
import { awaitTrust, type Minted, mintKnown, openPair, target } from './world.ts';

const test = suite('sessions of several nodes');
const gate: { pass: Promise<void>; reached: () => void; sqlAway: boolean } = {
  pass: Promise.resolve(),
  reached: () => {},
  sqlAway: false,
};

const afterSql = async (): Promise<void> => {
  gate.reached();
  await gate.pass;
};
const sqlFails = () => gate.sqlAway;
const { directory, redis, admin, one, other, close } = await openPair({ other: { afterSql, sqlFails } });
test.after(() => close());

const trusted = () => awaitTrust({ one, other });
const known = () => mintKnown({ one, other });

/** Resolves when the other node refuses the token. One second is promised; busy machines take longer. */
const dies = (minted: Minted): Promise<void> =>
  until('the token is dead', async () => (await other.find(minted)) === null);

test('a session minted on one node is found on the other without SQL, then cached', async () => {
  const minted = await one.mint();
  const before = other.countLookUps();

  const found = await other.find(minted);

  assert.is(found?.sessionId, minted.id);
  // The node's first use of a cache waits for its first reading of the notices.
  assert.is(await other.find(minted), found);
  assert.is(other.countLookUps(), before);
  assert.not(other.cache.find(minted.token) instanceof Promise);
});

test('a token unknown to Redis is read in SQL once; one unknown to SQL leaves nothing', async () => {
  await trusted();
  const minted = await one.mint();
  await admin.del(`rollcall:session:${minted.hash}`);
  const unknown = await one.mint();
  await one.revoke(unknown);
  await admin.del(`rollcall:session:${unknown.hash}`);
  const before = other.countLookUps();

  assert.is((await other.find(minted))?.sessionId, minted.id);
  assert.is(other.countLookUps(), before + 1);
  await other.find(minted);
  assert.not(other.cache.find(minted.token) instanceof Promise);
  assert.is(await other.find(unknown), null);
  assert.is(other.countLookUps(), before + 2);
  assert.is(await admin.get(`rollcall:session:${unknown.hash}`), null);
});

test('Redis stores no secret of a session', async () => {
  const minted = await one.mint();

  const text = (await admin.get(`rollcall:session:${minted.hash}`)) ?? '';

  assertIncludes(text, minted.id);
  assertExcludes(text, minted.token.slice(-49));
});

test('a session minted with an idempotency key is copied to Redis, by a repeat it is not', async () => {
  const session = newSession({ target });
  const once = { scope: randomBytes(32), caller: 'user robin', fingerprint: randomBytes(32) };
  const key = `rollcall:session:${session.tokenHash.toString('hex')}`;

  await one.sessions.insert(session, { apiSessionsMax: 10_000, once });
  assertIncludes((await admin.get(key)) ?? '', session.id);
  await admin.del(key);
  await one.sessions.insert(session, { apiSessionsMax: 10_000, once });

  assert.is(await admin.get(key), null);
});

test('a revoke reaches the other node', async () => {
  for (let round = 0; round < 10; round++) {
    const minted = await known();

    assert.ok(await one.revoke(minted));

    await dies(minted);
  }
});

for (const rule of ['resetchannels', '-publish'])
  test(`a revoke and a change end a session while Redis says NOPERM (${rule})`, async () => {
    const [revoked, changed] = [await known(), await known()];
    await admin.call('ACL', 'SETUSER', 'default', rule);
    try {
      assert.ok(await one.revoke(revoked));
      await dies(revoked);
      const end = () => directory.sql`delete from sessions where id = ${changed.id}`;
      await one.sessions.changeSessions({ target }, end);
      await dies(changed);
    } finally {
      await admin.call('ACL', 'SETUSER', 'default', 'allchannels', '+@all');
    }
  });

test('a revoke takes effect on a node whose connection was cut', async () => {
  const minted = await known();
  for (const proxy of other.proxies) proxy.cut();

  await one.revoke(minted);

  await dies(minted);
});

test('a revoke takes effect on a node whose connection became silent', async () => {
  const minted = await known();
  for (const proxy of other.proxies) proxy.silence();

  await one.revoke(minted);

  await dies(minted);
  for (const proxy of other.proxies) proxy.restore();
});

test('a node that lost its connection drops its cache, reads SQL, and recovers by itself', async () => {
  const minted = await known();
  for (const proxy of other.proxies) proxy.silence();
  await until('it noticed', () => !other.signals.isConnected());

  assert.instance(other.cache.find(minted.token), Promise);
  assert.is((await other.find(minted))?.sessionId, minted.id);
  assert.instance(other.cache.find(minted.token), Promise, 'it is not kept');

  for (const proxy of other.proxies) proxy.restore();
  await known();
});

test('fills, revokes and an emptied Redis in any order never restore a revoked token', async () => {
  const seed = Number(process.env.SEED ?? randomInt(1 << 30));
  let state = seed;
  const chance = (upTo: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * upTo);
  };
  for (let round = 0; round < 25; round++) {
    await trusted();
    const minted = await one.mint();
    if (chance(2) === 0) await admin.del(`rollcall:session:${minted.hash}`);
    const delays = Array.from({ length: 6 }, () => chance(12));
    gate.pass = pause(chance(10)) as Promise<void>;
    const work = delays.map(async (ms, index) => {
      await pause(ms);
      if (index === 0) return one.revoke(minted);
      if (index === 1 && chance(2) === 0) return admin.flushall();
      return (index % 2 ? one : other).find(minted);
    });
    await Promise.all(work);
    gate.pass = Promise.resolve();

    await pause(20);
    assert.is(await other.find(minted), null, `SEED=${seed} round ${round}`);
    assert.is(await one.find(minted), null, `SEED=${seed} round ${round}`);
  }
});

test('an emptied Redis loses no session and restores no revoked one', async () => {
  const living = await known();
  const dead = await known();
  await one.revoke(dead);

  await admin.flushall();

  assert.is((await other.find(living))?.sessionId, living.id);
  assert.is(await other.find(dead), null);
  assert.is(await one.find(dead), null);
});

test('a ban affects tokens in use at once', async () => {
  const user = { kind: 'user', id: 'robin' } as const;
  const minted = await known();
  let during: string | null = null;

  await one.sessions.changeSessions({ target }, async () => {
    during = await admin.get(`rollcall:session:${minted.hash}`);
    await directory.sql`delete from sessions where target_type = 'bot' and target_id = 'bot1'`;
  });

  assert.is(during, 'hold');
  await dies(minted);
  await one.sessions.changeSessions({ target: user }, async () => {});
});

test('without Redis SQL answers and revokes are refused; without both it is an error', async () => {
  const minted = await known();
  await redis.kill();
  await until('it noticed', () => !other.signals.isConnected() && !one.signals.isConnected());

  assert.is((await other.find(minted))?.sessionId, minted.id);
  try {
    await one.revoke(minted);
    assert.unreachable();
  } catch (error) {
    assert.instance(error, StorageError);
  }
  gate.sqlAway = true;
  try {
    await other.find(minted);
    assert.unreachable();
  } catch (error) {
    assert.instance(error, StorageError);
  }

  gate.sqlAway = false;
  await redis.start();
  await trusted();
  assert.is((await other.find(minted))?.sessionId, minted.id);
});

test.run();
