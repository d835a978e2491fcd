/**
 * The engine's health without traffic: messages about a store's servers, and how long an earlier refusal
 * counts.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Engine } from '../../engine/engine.ts';
import { limits } from '../../engine/limits.ts';
import type { Note } from '../../engine/tools/notes.ts';
import { assertNoNote, assertNote } from '../support/notes.ts';
import { createEngineOn, createKit, type Kit, refusal } from './kit.ts';

const test = suite('health');

interface World extends Kit {
  readonly engine: Engine;
  /** What the store reports about its servers. */
  readonly pulse: { away: readonly Note[]; answeredMs: number };
  readonly flushFailures: string[];
  failPeeks(fails: boolean): void;
}

const createWorld = async (): Promise<World> => {
  const kit = await createKit({ published: false });
  const pulse = { away: [] as readonly Note[], answeredMs: 0 };
  let failing = false;
  const flushFailures: string[] = [];
  const engine = createEngineOn(kit, {
    onFlushFailed: (error) => flushFailures.push(String(error)),
    hot: {
      ...kit.hot,
      pulse: {
        listSilent: () => pulse.away,
        getAnsweredMs: () => pulse.answeredMs,
        mayLoseTail: () => false,
      },
      peek: (limit) => (failing ? Promise.reject(refusal()) : kit.hot.peek(limit)),
    },
  });
  await kit.until(engine.start());
  const failPeeks = (fails: boolean): void => {
    failing = fails;
  };
  return { ...kit, engine, pulse, flushFailures, failPeeks };
};

test('a server that does not answer makes the node not ready, with the message of the store', async () => {
  const { engine, pulse } = await createWorld();
  pulse.away = ['hot_store_away: Redis has not answered for 4 s'];
  assertNote('hot_store_away', engine.readHealth().notes);
  assert.equal(engine.readHealth(), {
    ready: false,
    hotStoreUp: false,
    notes: ['hot_store_away: Redis has not answered for 4 s'],
  });
  pulse.away = [];
  assertNoNote('hot_store_away', engine.readHealth().notes);
  assert.equal(engine.readHealth(), { ready: true, hotStoreUp: true, notes: [] });
});

test('a refusal is over when the store has answered since: no traffic has to come first', async () => {
  const world = await createWorld();
  const { engine, pulse, clock } = world;
  world.ledger.list('bot', 'a');
  await world.until(Promise.resolve(engine.read('bot', 'a')));
  world.hot.hooks.beforeCommit = () => {
    throw refusal();
  };
  await world.until(engine.postStats('a', { servers: '1' }).catch(() => {}));
  pulse.answeredMs = clock.monotonicMs();
  assertNote('hot_store_fails', engine.readHealth().notes);
  assert.equal(engine.readHealth().notes, [
    'hot_store_fails: a store is too busy (commit: busy (not_applied))',
  ]);

  await world.pass(limits.failurePassesMs * 2);
  assert.not(engine.readHealth().ready, 'no answer came since');
  pulse.answeredMs = clock.monotonicMs();
  assert.ok(engine.readHealth().ready);
  assertNoNote('hot_store_fails', engine.readHealth().notes);
});

test('a failing flush and its cause are in the notes and in the log', async () => {
  const world = await createWorld();
  world.failPeeks(true);
  world.ledger.list('bot', 'a');
  await world.until(world.engine.postStats('a', { servers: '1' }));
  await world.pass(2_000);
  const cause = 'commit: busy (not_applied)';
  assert.equal(world.engine.readHealth().notes, [
    `flush_fails: totals and votes do not reach SQL: a store is too busy (${cause})`,
  ]);
  assertNote('flush_fails', world.engine.readHealth().notes);
  assert.match(world.flushFailures.join(), cause);
  world.pulse.away = ['hot_store_away: Redis has not answered for 4 s'];
  assert.equal(
    world.engine.readHealth().notes,
    ['hot_store_away: Redis has not answered for 4 s'],
    'SQL has no fault',
  );
  world.pulse.away = [];
  world.failPeeks(false);
  await world.pass(60_000);
  assertNoNote('flush_fails', world.engine.readHealth().notes);
});

test('listings whose past votes cannot be changed are in the notes, and the node stays ready', async () => {
  const world = await createWorld();
  const change = { upvotes: -1, downvotes: 0, releaseBeforeMs: 0, release: [], pinned: [] };
  for (const [index, id] of ['a', 'b', 'c', 'd'].entries()) {
    const item = { kind: 'adjust', target: world.ledger.list('bot', id), sequence: 5, ...change } as const;
    world.ledger.adjustments.push({ id: index + 1, item, isDelivered: false });
  }

  await world.pass(10_000);

  const names = 'bot a (gap), bot b (gap), bot c (gap) and 1 more';
  const notes = [`adjustments_wait: changes of past votes wait for the hot store: ${names}`];
  assert.equal(world.engine.readHealth(), { ready: true, hotStoreUp: true, notes });
  assertNote('adjustments_wait', notes);

  world.ledger.adjustments.length = 0;
  await world.pass(60_000);
  assertNoNote('adjustments_wait', world.engine.readHealth().notes);
});

test.run();
