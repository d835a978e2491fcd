/**
 * The session cache: what is kept, what is forgotten, and what an unreachable store means.
 *
 * The clock and every answer of the store are in the hands of the test.
 */
import { hash } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import type { Clock } from '../../../engine/ports.ts';
import { formatToken } from '../../../engine/rules/token.ts';
import type { StoredSession } from '../../../http/auth/ports.ts';
import { createSessionCache } from '../../../http/auth/sessions.ts';

const test = suite('sessions');

const token = formatToken({ kind: 'bot', id: 'b1' }, Buffer.alloc(32, 7));
const record: StoredSession = {
  sessionId: 's1',
  kind: 'bot',
  id: 'b1',
  sessionType: 'api',
  limits: [],
  expiresAtMs: 100_000,
  banned: false,
  voteBanned: false,
};

interface Held {
  resolve(record: StoredSession | null): void;
  reject(error: unknown): void;
}

const open = () => {
  const state = { nowMs: 0, offsetMs: 0, believes: true, lookups: [] as Held[] };
  const clock: Clock = {
    nowMs: () => state.nowMs,
    monotonicMs: () => state.nowMs + state.offsetMs,
    after: () => () => {},
    endOfTick: () => {},
  };
  const source = {
    byTokenHash: () =>
      new Promise<StoredSession | null>((resolve, reject) => state.lookups.push({ resolve, reject })),
  };
  return {
    state,
    cache: createSessionCache({
      source,
      clock,
      entriesMax: 10,
      freshMs: 1_000,
      isTrusted: () => state.believes,
    }),
  };
};
type Opened = ReturnType<typeof open>;

/** Answers the newest look-up. */
const fill = async ({ state, cache }: Opened, found: StoredSession | null = record) => {
  const finding = cache.find(token);
  state.lookups.at(-1)?.resolve(found);
  return finding;
};

test('a session is looked up once, then found at once', async () => {
  const world = open();

  assert.equal(await fill(world), record);
  assert.equal(world.cache.find(token), record);
  assert.is(world.state.lookups.length, 1);
});

test('simultaneous requests share one look-up', async () => {
  const world = open();

  const finding = [world.cache.find(token), world.cache.find(token), world.cache.find(token)];
  world.state.lookups[0]?.resolve(record);

  assert.equal(await Promise.all(finding), [record, record, record]);
  assert.is(world.state.lookups.length, 1);
});

test('a malformed token costs no look-up', () => {
  const world = open();

  assert.is(world.cache.find('nonsense'), null);
  assert.is(world.cache.find(`${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`), null);
  assert.is(world.cache.find('x'.repeat(100_000)), null);
  assert.is(world.state.lookups.length, 0);
});

test('a revoked session is asked for again, and stays refused', async () => {
  const world = open();
  await fill(world);

  world.cache.forget('s1');

  assert.is(await fill(world, null), null);
  assert.is(world.cache.find(token), null);
  assert.is(world.state.lookups.length, 2);
});

test('a refused token is asked for again half a second after it was first asked for', async () => {
  const world = open();
  const finding = world.cache.find(token);
  world.state.offsetMs += 300;
  world.state.lookups[0]?.resolve(null);
  assert.is(await finding, null);
  world.state.offsetMs += 199;
  assert.is(world.cache.find(token), null);
  assert.is(world.state.lookups.length, 1);

  world.state.offsetMs += 1;
  assert.equal(await fill(world), record);
});

test('a look-up that began before a revoke is not kept', async () => {
  const world = open();
  const finding = world.cache.find(token);

  world.cache.forget('s1');
  world.state.lookups[0]?.resolve(record);
  await finding;

  assert.instance(world.cache.find(token), Promise);
});

test('everything of a banned user or a deleted bot is forgotten', async () => {
  const world = open();
  await fill(world);

  world.cache.forgetTarget('bot', 'other');
  assert.equal(world.cache.find(token), record);
  world.cache.forgetTarget('bot', 'b1');

  assert.instance(world.cache.find(token), Promise);
});

test('a session ends with its expiry, also while it is kept', async () => {
  const world = open();
  await fill(world, { ...record, expiresAtMs: 500 });

  world.state.nowMs = 499;
  assert.ok(world.cache.find(token));
  world.state.nowMs = 500;

  assert.is(await fill(world, { ...record, expiresAtMs: 500 }), null);
});

test('a session is believed for its time, then asked for again', async () => {
  const world = open();
  await fill(world);

  world.state.nowMs = 1_000;

  assert.instance(world.cache.find(token), Promise);
});

test('a clock that is set back makes nothing believed or refused for longer', async () => {
  const world = open();
  const strange = formatToken({ kind: 'bot', id: 'b2' }, Buffer.alloc(32, 8));
  const forEver = { ...record, expiresAtMs: 90_000_000 };
  world.state.nowMs = 7_200_000;
  await fill(world, forEver);
  assert.equal(world.cache.find(token), forEver);
  const asked = world.cache.find(strange);
  world.state.lookups.at(-1)?.resolve(null);
  await asked;
  assert.is(world.cache.find(strange), null);

  world.state.nowMs = 0;
  world.state.offsetMs = 7_200_000 + 10_000;

  assert.instance(world.cache.find(token), Promise);
  assert.instance(world.cache.find(strange), Promise);
});

/** A question that the store does not answer. */
const fails = ({ state, cache }: Opened): Promise<unknown> => {
  const finding = Promise.resolve(cache.find(token)).catch((error: Error) => error);
  state.lookups.at(-1)?.reject(new Error('connect ECONNREFUSED'));
  return finding;
};

test('while the store cannot be asked, what it said last is believed on', async () => {
  const world = open();
  await fill(world);
  world.state.nowMs = 5_000;

  assert.equal(await fails(world), record);
  assert.equal(world.cache.find(token), record, 'for a while without asking again');

  world.state.nowMs = 7_000;
  assert.is(await fill(world, null), null, 'the store knows better');
});

test('nor is it when it was forgotten, has expired, or no word of a revoke would come', async () => {
  const forgotten = open();
  await fill(forgotten);
  forgotten.cache.forget('s1');
  assert.instance(await fails(forgotten), StorageError);

  const expired = open();
  await fill(expired, { ...record, expiresAtMs: 4_000 });
  expired.state.nowMs = 5_000;
  assert.instance(await fails(expired), StorageError);

  const deaf = open();
  await fill(deaf);
  deaf.state.nowMs = 5_000;
  deaf.state.believes = false;
  assert.instance(await fails(deaf), StorageError);
});

test('what may have changed is asked for at its next use', async () => {
  const world = open();
  await fill(world);
  world.cache.markHashStale(hash('sha256', token));

  assert.equal(await fails(world), record);
  world.state.nowMs = 5_000;
  assert.is(await fill(world, null), null);
  world.state.nowMs = 50_000;
  assert.instance(await fails(world), StorageError, 'who was revoked stays so');
});

test('an unreachable store is an error of the store, never an unknown token', async () => {
  const world = open();
  const finding = world.cache.find(token) as Promise<unknown>;
  world.state.lookups[0]?.reject(new Error('connect ECONNREFUSED'));

  try {
    await finding;
    assert.unreachable();
  } catch (error) {
    assert.instance(error, StorageError);
    assert.is((error as StorageError).reason, 'unreachable');
  }
  assert.equal(await fill(world), record);
});

test.run();
