/**
 * The session cache: what it caches, what it drops, and what happens when the store is unreachable.
 *
 * The test controls the clock and every answer of the store.
 */
import { hash } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import type { Clock } from '../../../engine/ports.ts';
import { formatToken } from '../../../engine/rules/token.ts';
import { createSessionCache } from '../../../http/auth/sessions.ts';
import type { SessionOfToken } from '../../../storage/catalogue/people/sessions.ts';

const test = suite('sessions');

const token = formatToken({ kind: 'bot', id: 'b1' }, Buffer.alloc(32, 7));
const record: SessionOfToken = {
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
  resolve(record: SessionOfToken | null): void;
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
      new Promise<SessionOfToken | null>((resolve, reject) => state.lookups.push({ resolve, reject })),
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
const fill = async ({ state, cache }: Opened, found: SessionOfToken | null = record) => {
  const finding = cache.find(token);
  state.lookups.at(-1)?.resolve(found);
  return finding;
};

let world: ReturnType<typeof open>;
test.before.each(() => {
  world = open();
});

test('a session is looked up once, then found synchronously', async () => {
  assert.equal(await fill(world), record);
  assert.equal(world.cache.find(token), record);
  assert.is(world.state.lookups.length, 1);
});

test('simultaneous requests share one look-up', async () => {
  const finding = [world.cache.find(token), world.cache.find(token), world.cache.find(token)];
  world.state.lookups[0]?.resolve(record);

  assert.equal(await Promise.all(finding), [record, record, record]);
  assert.is(world.state.lookups.length, 1);
});

test('a malformed token costs no look-up', () => {
  assert.is(world.cache.find('nonsense'), null);
  assert.is(world.cache.find(`${token.slice(0, -1)}${token.endsWith('x') ? 'y' : 'x'}`), null);
  assert.is(world.cache.find('x'.repeat(100_000)), null);
  assert.is(world.state.lookups.length, 0);
});

test('a revoked session is looked up again, and stays rejected', async () => {
  await fill(world);

  world.cache.forget('s1');

  assert.is(await fill(world, null), null);
  assert.is(world.cache.find(token), null);
  assert.is(world.state.lookups.length, 2);
});

test('a rejected token is looked up again half a second after its first look-up', async () => {
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

test('a look-up that began before a revocation is not cached', async () => {
  const finding = world.cache.find(token);

  world.cache.forget('s1');
  world.state.lookups[0]?.resolve(record);
  await finding;

  assert.instance(world.cache.find(token), Promise);
});

test('all sessions of a banned user or a deleted bot are dropped', async () => {
  await fill(world);

  world.cache.forgetTarget('bot', 'other');
  assert.equal(world.cache.find(token), record);
  world.cache.forgetTarget('bot', 'b1');

  assert.instance(world.cache.find(token), Promise);
});

test('a session ends with its expiry, also while it is cached', async () => {
  await fill(world, { ...record, expiresAtMs: 500 });

  world.state.nowMs = 499;
  assert.ok(world.cache.find(token));
  world.state.nowMs = 500;

  assert.is(await fill(world, { ...record, expiresAtMs: 500 }), null);
});

test('a session is used from the cache for its time, then looked up again', async () => {
  await fill(world);

  world.state.nowMs = 1_000;

  assert.instance(world.cache.find(token), Promise);
});

test('a clock that is set back extends neither a cached session nor a rejection', async () => {
  const strange = formatToken({ kind: 'bot', id: 'b2' }, Buffer.alloc(32, 8));
  const forEver = { ...record, expiresAtMs: 90_000_000 };
  world.state.nowMs = 7_200_000;
  await fill(world, forEver);
  assert.equal(world.cache.find(token), forEver);
  const pending = world.cache.find(strange);
  world.state.lookups.at(-1)?.resolve(null);
  await pending;
  assert.is(world.cache.find(strange), null);

  world.state.nowMs = 0;
  world.state.offsetMs = 7_200_000 + 10_000;

  assert.instance(world.cache.find(token), Promise);
  assert.instance(world.cache.find(strange), Promise);
});

/** A look-up that the store does not answer. */
const fails = ({ state, cache }: Opened): Promise<unknown> => {
  const finding = Promise.resolve(cache.find(token)).catch((error: Error) => error);
  state.lookups.at(-1)?.reject(new Error('connect ECONNREFUSED'));
  return finding;
};

test('while the store is unreachable, cached sessions stay valid', async () => {
  await fill(world);
  world.state.nowMs = 5_000;

  assert.equal(await fails(world), record);
  assert.equal(world.cache.find(token), record, 'for a while without asking again');

  world.state.nowMs = 7_000;
  assert.is(await fill(world, null), null, 'the store knows better');
});

test('but not those that were dropped, have expired, or when revocations would not arrive', async () => {
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

test('a session that may have changed is looked up at its next use', async () => {
  await fill(world);
  world.cache.markHashStale(hash('sha256', token));

  assert.equal(await fails(world), record);
  world.state.nowMs = 5_000;
  assert.is(await fill(world, null), null);
  world.state.nowMs = 50_000;
  assert.instance(await fails(world), StorageError, 'who was revoked stays so');
});

test('an unreachable store is a storage error, never an unknown token', async () => {
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
