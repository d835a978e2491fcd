/**
 * Sessions while SQL does not answer: copies in Redis stay valid, and revoked tokens do not.
 *
 * One node caches nothing and trusts no copy without confirmation by SQL, so every look-up shows how it
 * handles the outage of SQL. On a real Redis and a real SQL.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { rejection } from '../../support/redis-load.ts';
import { until } from '../../support/until.ts';
import { type Minted, openPair } from './world.ts';

const test = suite('sessions without SQL');
/** Confirms every copy in SQL. */
const faults = { sqlAway: false, deleteFails: false };

const beforeDelete = async (): Promise<void> => {
  if (faults.deleteFails) throw new StorageError('sql', { outcome: 'not_applied', reason: 'unreachable' });
};
const sqlFails = () => faults.sqlAway;
const { admin, one, other, close } = await openPair({
  one: { beforeDelete },
  other: { confirmMs: 0, keepMs: 0, sqlFails },
});
test.before.each(async () => {
  Object.assign(faults, { sqlAway: false, deleteFails: false });
  await until('both hear themselves', () => one.signals.isConnected() && other.signals.isConnected());
});
test.after(() => close());

const keyOf = ({ hash }: Minted): string => `rollcall:session:${hash}`;

/** Puts a copy in Redis that both nodes have read. */
const known = async (): Promise<{ readonly minted: Minted; readonly copy: string }> => {
  const minted = await one.mint();
  let copy = '';
  await until('a copy stands', async () => {
    await one.find(minted);
    await other.find(minted);
    copy = (await admin.get(keyOf(minted))) ?? '';
    return copy.startsWith('{');
  });
  return { minted, copy };
};

/** Polled, since on a machine that stands still an answer of Redis may come too late to count. */
const works = (minted: Minted): Promise<void> =>
  until('the token is good', async () => {
    const found = await other.find(minted).catch(() => null);
    return found?.sessionId === minted.id;
  });
const isDead = (minted: Minted): Promise<void> =>
  until('the token is dead', async () => {
    const found = await other.find(minted).catch(() => 'failed' as const);
    if (found !== 'failed' && found !== null) throw new Error('a revoked token works');
    return found === null;
  });

/** What stands for SQL being away here is a plain error. */
const asStorageError = (cause: unknown): never => {
  throw new StorageError('sql', { outcome: 'not_applied', reason: 'unreachable', cause });
};

test('a copy lasts an hour, and a confirmation by SQL renews it', async () => {
  const { minted, copy } = await known();
  await admin.pexpire(keyOf(minted), 100_000);
  const countLookUps = other.countLookUps();

  await until('it is new', async () => {
    await works(minted);
    return (await admin.pttl(keyOf(minted))) > 100_000;
  });

  assert.ok(other.countLookUps() > countLookUps);
  assert.is.not(await admin.get(keyOf(minted)), copy);
  assert.ok((await admin.pttl(keyOf(minted))) <= 3_600_000);
});

test('while SQL does not answer an old copy is valid, also after signals were lost', async () => {
  const { minted } = await known();
  const revoked = (await known()).minted;
  await one.revoke(revoked);
  faults.sqlAway = true;

  await works(minted);
  await isDead(revoked);

  for (const proxy of other.proxies) proxy.silence();
  await until('it noticed', () => !other.signals.isConnected());
  await rejection(Promise.resolve(other.find(minted)));
  for (const proxy of other.proxies) proxy.restore();
  await until('it hears again', () => other.signals.isConnected());

  await works(minted);
  await isDead(revoked);
});

test('while SQL does not answer a token revoked elsewhere ends', async () => {
  const { minted } = await known();
  faults.sqlAway = true;
  await works(minted);

  await one.revoke(minted);

  await isDead(minted);
});

test('with SQL unavailable and only the signals lost, each look-up reads Redis', async () => {
  const { minted } = await known();
  const revoked = (await known()).minted;
  faults.sqlAway = true;
  let lost = false;
  const stop = other.signals.subscribe({
    onDisconnect: () => {
      lost = true;
    },
  });
  await until('the listening connections are gone', async () => {
    if (!lost) await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    return lost;
  });
  stop();

  await works(minted);
  await one.revoke(revoked);

  await isDead(revoked);
});

test('nodes that know of a revoke reject a copy that reappears after it', async () => {
  const { minted, copy } = await known();
  let received = false;
  const stop = other.signals.subscribe({
    onMessage: (message) => {
      received ||= message.kind === 'session' && message.hash === minted.hash;
    },
  });
  await one.revoke(minted);
  await until('the other node heard of it', () => received);
  stop();
  await admin.set(keyOf(minted), copy, 'PX', 3_600_000);

  faults.sqlAway = true;
  await rejection(other.sessions.byTokenHash(Buffer.from(minted.hash, 'hex')).then(() => {}, asStorageError));

  assert.is(await one.sessions.byTokenHash(Buffer.from(minted.hash, 'hex')), null, 'SQL says so');
  assert.is(await admin.get(keyOf(minted)), 'revoked', 'and Redis learns it');
});

test('a tombstone that Redis lost is written again once it is found', async () => {
  const { minted, copy } = await known();
  await one.revoke(minted);
  await admin.set(keyOf(minted), copy, 'PX', 3_600_000);

  for (const proxy of one.proxies) proxy.cut();

  await until('it is buried again', async () => (await admin.get(keyOf(minted))) === 'revoked');
});

test('a revoke that SQL refused is reported as half done', async () => {
  const { minted } = await known();
  faults.deleteFails = true;

  const { outcome, reason } = await rejection(one.revoke(minted));

  assert.is(outcome, 'unknown');
  assert.is(reason, 'unreachable');
  faults.deleteFails = false;
  assert.ok(await one.revoke(minted), 'it is asked for again');
});

test('a change committed before Redis failed is reported as half done', async () => {
  const { minted } = await known();
  const cut = async () => {
    for (const proxy of one.proxies) proxy.silence();
  };

  const { outcome } = await rejection(
    one.sessions.changeSessions({ target: { kind: 'bot', id: 'bot1' } }, cut),
  );

  assert.is(outcome, 'unknown');
  for (const proxy of one.proxies) proxy.restore();
  await until('the hold is there', async () => (await admin.get(keyOf(minted))) === 'hold');
});

test.run();
