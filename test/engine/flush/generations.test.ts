/**
 * Which generation the shards get when the stores are compared at start.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  reconcileGenerations,
  renewGenerations,
  renewUnpublished,
  StoresDisagree,
} from '../../../engine/flush/generations.ts';
import { shardsTotal, toShard } from '../../../engine/ids.ts';
import type { Ledger } from '../../../engine/ports.ts';
import { ledgerOverWire } from '../../sim/faults.ts';
import { createKit, type Kit, publishAll, wireOf } from '../kit.ts';

const test = suite('generations');

const world = async (hotGeneration: number, ledgerGeneration: number): Promise<Kit & { sql: Ledger }> => {
  const kit = await createKit({ published: false });
  if (hotGeneration > 0) await publishAll(kit.hot, hotGeneration);
  kit.ledger.generations.fill(ledgerGeneration);
  return { ...kit, sql: ledgerOverWire(wireOf(kit), kit.ledger.port) };
};
const generationsOf = (kit: Kit): number[] => [...new Set(kit.hot.shards.map((shard) => shard.generation))];

test('two empty stores begin with generation 1', async () => {
  const kit = await world(0, 0);

  const stale = await kit.until(reconcileGenerations(kit.hot, kit.sql));

  assert.is(stale.length, shardsTotal);
  assert.equal(generationsOf(kit), [1]);
  assert.equal(new Set(kit.ledger.generations), new Set([1]));
});

test('an emptied hot store gets a generation above what SQL has seen', async () => {
  const kit = await world(0, 4);

  await kit.until(reconcileGenerations(kit.hot, kit.sql));

  assert.equal(generationsOf(kit), [5]);
});

test('two stores that agree are left alone', async () => {
  const kit = await world(3, 3);

  const stale = await kit.until(reconcileGenerations(kit.hot, kit.sql));

  assert.equal(stale, []);
  assert.equal(generationsOf(kit), [3]);
});

test('a full hot store and a ledger that has never seen one refuse to start, and say why', async () => {
  const kit = await world(3, 0);

  const start = kit.until(reconcileGenerations(kit.hot, kit.sql));

  const error = await start.then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.instance(error, StoresDisagree);
  assert.match(String(error), /SQL database has never seen a directory that they belong to/);
  assert.match(String(error), /restore its backup and run .*reflush.*import the directory/);
  assert.equal(generationsOf(kit), [3]);
});

test('a hot store behind the ledger, and one ahead of it, both get a newer generation', async () => {
  for (const [hot, sql] of [
    [2, 6],
    [6, 2],
  ] as const) {
    const kit = await world(hot, sql);

    await kit.until(reconcileGenerations(kit.hot, kit.sql));

    assert.equal(generationsOf(kit), [7]);
  }
});

test('a shard that is behind its flushed position is emptied, and its rows win', async () => {
  for (const flushed of [
    { generation: 3, version: 9 },
    { generation: 4, version: 1 },
  ]) {
    const kit = await world(3, 4);
    const older = kit.hot.shards[5] as (typeof kit.hot.shards)[number];
    const other = kit.hot.shards[6] as typeof older;
    for (const shard of [older, other]) Object.assign(shard, { version: 8 });
    older.producers.set('lost', { sequence: 4, decisions: [], seenMs: 0 });
    kit.ledger.places[5] = flushed;
    kit.ledger.places[6] = { generation: 3, version: 8 };

    await kit.until(reconcileGenerations(kit.hot, kit.sql));

    assert.equal([older.generation, older.version, older.producers.size], [5, 0, 0]);
    assert.equal([other.generation, other.version], [5, 8]);
  }
});

test('a running node publishes what another took in SQL and never published', async () => {
  const kit = await world(3, 3);
  kit.ledger.generations[5] = 4;

  await kit.until(renewUnpublished(kit.hot, kit.sql));

  assert.equal([kit.hot.shards[5]?.generation, kit.hot.shards[6]?.generation], [5, 3]);
});

test('only the shards that need it are renewed', async () => {
  const kit = await world(3, 3);
  kit.ledger.generations[5] = 4;

  const stale = await kit.until(reconcileGenerations(kit.hot, kit.sql));

  assert.equal(stale, [toShard(5)]);
  assert.is(kit.hot.shards[5]?.generation, 5);
  assert.is(kit.hot.shards[6]?.generation, 3);
});

test('the ledger knows a generation before the hot store does', async () => {
  const kit = await world(1, 1);
  kit.hot.hooks.beforeOther = (verb) => {
    if (verb === 'publish') assert.is(kit.ledger.generations[0], 2);
  };

  await kit.until(renewGenerations(kit.hot, kit.sql, [toShard(0)]));

  assert.is(kit.hot.shards[0]?.generation, 2);
  assert.is(kit.hot.shards[1]?.generation, 1);
});

test('two nodes that start at once for the first time both start', async () => {
  const kit = await world(0, 0);

  const both = Promise.all([
    reconcileGenerations(kit.hot, kit.sql),
    reconcileGenerations({ ...kit.hot, readGenerations: () => readSlowly(kit) }, kit.sql),
  ]);

  await kit.until(both);
  assert.is(generationsOf(kit).length, 1);
});

/** Reads the generations after a delay, so that the answer shows what happened meanwhile. */
const readSlowly = async (kit: Kit): Promise<readonly number[]> => {
  await kit.driver.pause(50);
  return kit.hot.readGenerations();
};

test.run();
