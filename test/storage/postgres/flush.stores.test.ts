/**
 * Flushing by several nodes at once on a real Postgres: overlapping rounds, adjustments, deadlocks, timeouts,
 * dead letters. I10 and I11 hold in any order.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EntityRef } from '../../../engine/ids.ts';
import type { Backlog } from '../../../engine/ports.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { connectSql } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { reasonOf } from '../ledger/contract.ts';
import { dirty, itagOf, vote, worldOn } from '../ledger/world.ts';
import { type FlushLoad, openFlushLoad } from './flush-load.ts';

const test = suite('flush on postgres');
const server = await startPostgres();
const databases = { made: 0 };
const createDatabase = async (): Promise<string> => {
  databases.made += 1;
  const address = await server.database(`flush${databases.made}`);
  const sql = connectSql(address);
  await migrate(sql);
  await sql.end();
  return address;
};
test.after(() => server.close());

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const withLoad = async (flushers: number, task: (load: FlushLoad) => Promise<void>): Promise<void> => {
  const load = await openFlushLoad({ address: await createDatabase(), flushers, entities: 40 });
  try {
    await task(load);
  } finally {
    await load.close();
  }
};

test('three flushers of all shards lose no count, double none, and recover from every deadlock', () =>
  withLoad(3, async (load) => {
    const running = load.flow();
    const endMs = performance.now() + 40_000;
    while (load.accepted.size < 300 && performance.now() < endMs) await sleep(50);
    await sleep(500);
    await running.stop();
    const { votes, clicks, rounds } = await load.finish();

    assert.ok(votes > 200 && clicks > 200 && rounds > 6, `${votes} votes, ${rounds} rounds`);
    assert.equal(
      [...load.failures.keys()].filter((reason) => reason !== 'busy'),
      [],
      'a lock may be waited for too long on a slow machine',
    );
  }));

test('votes that are voided while they are flushed are subtracted once', () =>
  withLoad(2, async (load) => {
    const running = load.flow();
    let voided = 0;
    const endMs = performance.now() + 40_000;
    for (let step = 0; (step < 60 || voided <= 20) && performance.now() < endMs; step++) {
      await sleep(10);
      const itags = [...load.accepted];
      for (const itag of [itags.at(-30), itags[step * 3]]) {
        if (itag !== undefined && (await load.world.voidVote(itag, 'operator'))) voided += 1;
      }
      if (step === 30) await load.world.reset('all', Date.now() - 100);
    }
    await running.stop();
    await load.finish();

    assert.ok(voided > 20, `${voided} voided`);
  }));

test('rounds over the same rows in any order wait for each other and leave the newest totals', async () => {
  const address = await createDatabase();
  const pools = [1, 2, 3, 4].map(() => connectSql(address));
  const world = worldOn(pools[0] as (typeof pools)[0], async () => {});
  const refs: EntityRef[] = [];
  for (let index = 0; index < 300; index++) refs.push(await world.list(`pack-${index}`));
  const makeRound = (version: number, node: number): Backlog => {
    const order = node % 2 === 0 ? refs : [...refs].reverse();
    return {
      entities: order.map((ref) => dirty(ref, 1, { version, clicks: version })),
      votes: order.map((ref, index) => vote(ref, node % 2 === 0 ? index : refs.length - 1 - index)),
    };
  };
  await Promise.all(
    pools.map(async (sql, node) => {
      const ledger = createLedger(sql);
      for (let version = 1; version <= 12; version++) await ledger.flush(makeRound(version, node));
    }),
  );

  const rows = await world.ledger.find(refs);
  assert.equal(
    rows.filter((row) => row?.totals.clicks !== 12),
    [],
  );
  assert.is(Object.keys(await world.votes()).length, refs.length);
  await Promise.all(pools.map((sql) => sql.end()));
  const after = connectSql(address);
  const [stats] = await after<{ deadlocks: number }[]>`
    select deadlocks from pg_stat_database where datname = current_database()`;
  await after.end();
  assert.is(stats?.deadlocks, 0);
});

test('a lock wait or a statement that takes too long fails as busy and changes nothing', async () => {
  const address = await createDatabase();
  const sql = connectSql(address, { lockTimeoutMs: 500, statementTimeoutMs: 2_000 });
  const world = worldOn(sql, async () => {});
  const ref = await world.list('locked');
  const other = connectSql(address);
  const round = { entities: [dirty(ref, 1, { version: 1, clicks: 5 })], votes: [vote(ref, 1)] };
  await other.begin(async (transaction) => {
    await transaction`select from totals where incarnation = ${ref.incarnation} for update`;
    assert.is(await reasonOf(world.ledger.flush(round)), 'busy not_applied');
  });
  assert.equal(await world.votes(), {});
  await other.unsafe(`
    create function dawdle() returns trigger language plpgsql as
      $$ begin perform pg_sleep(30); return new; end $$;
    create trigger dawdle before update on totals for each row execute function dawdle()`);
  assert.is(await reasonOf(world.ledger.flush(round)), 'busy not_applied');

  await other`drop trigger dawdle on totals`;
  await world.ledger.flush(round);
  assert.equal(Object.keys(await world.votes()), [itagOf(1)]);
  await Promise.all([sql.end(), other.end()]);
});

test('the victim of a deadlock is retried', async () => {
  const address = await createDatabase();
  const sql = connectSql(address, { lockTimeoutMs: 60_000 });
  const world = worldOn(sql, async () => {});
  const [low, high] = [await world.list('low'), await world.list('high')];
  const other = connectSql(address, { lockTimeoutMs: 60_000 });
  const round = { entities: [low, high].map((ref) => dirty(ref, 1, { version: 1, clicks: 1 })), votes: [] };
  let flushed: Promise<void> = Promise.resolve();
  const crossing = other.begin(async (transaction) => {
    // This side never detects the deadlock first, so the flush is the victim.
    await transaction`set local deadlock_timeout = '60s'`;
    await transaction`select from totals where incarnation = ${high.incarnation} for update`;
    flushed = world.ledger.flush(round);
    await sleep(100);
    await transaction`select from totals where incarnation = ${low.incarnation} for update`;
  });
  await crossing;
  await flushed;

  assert.is((await world.ledger.find([low]))[0]?.totals.clicks, 1);
  await Promise.all([sql.end(), other.end()]);
});

test('a row that SQL refuses is found by halving and dead-lettered; the rest of its round is stored', () =>
  withLoad(1, async (load) => {
    for (let count = 0; count < 20; count++) await load.commit();
    const target = load.refs[7] as EntityRef;
    const shard = load.hot.shards[target.shard];
    const badItag = itagOf(999_999);
    shard?.outbox.set(badItag, { ...vote(target, 999_999), user: 'nul\0' });
    for (let count = 0; count < 20; count++) await load.commit();
    await load.finish();

    assert.is(load.failures.get('buried'), 1);
    const [letter] = await load.world.sql`select source, body from dead_letters`;
    assert.is(letter?.source, 'vote');
    assert.is(letter?.body.itag, badItag);
  }));

test.run();
