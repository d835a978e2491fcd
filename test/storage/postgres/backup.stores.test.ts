/**
 * Backup and restore on real servers: a dump is restored whole and into an empty database only; a Redis that
 * is empty or newer is repaired, an older one is refused. Also the commands that need no node, on servers
 * with data.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listAllShards } from '../../../engine/ids.ts';
import { directoryExporter, runExport } from '../../../ops/cli/export.ts';
import { runImport } from '../../../ops/cli/import.ts';
import { runInspect } from '../../../ops/cli/inspect.ts';
import { runReflush, runRestore } from '../../../ops/cli/restore.ts';
import { readConfig } from '../../../ops/config/config.ts';
import { inspectEntity } from '../../../storage/export/inspect.ts';
import { openStores, type Stores } from '../../../storage/open.ts';
import { connectSql } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import {
  count,
  countOnNode,
  directory,
  inSql,
  run,
  shown,
  sizes,
  takeBackup,
  vote,
} from '../../ops/cli/counting.ts';
import { fillDirectory } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { type PostgresServer, startPostgres } from '../../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

const test = suite('backup of the servers');
const folder = makeFolder('rollcall-servers-');
const backup = join(folder, 'backup');
let postgres: PostgresServer;
let redis: RedisServer;
let atBackup: string;

const makeSettings = (DATABASE_URL: string): Record<string, string> => ({
  DATA_DIR: join(folder, 'data'),
  REDIS_URL: redis.url,
  DATABASE_URL,
  PORT: '0',
  ADMIN_PORT: '0',
  LOG_LEVEL: 'silent',
  LEAVE_MS: '0',
  ADMIN_TOKEN: 'x'.repeat(40),
});

/** Creates an empty database. */
const createDatabase = async (name: string): Promise<Record<string, string>> =>
  makeSettings(await postgres.database(name));

const onStores = async <Result>(
  settings: Record<string, string>,
  task: (stores: Stores) => Promise<Result>,
): Promise<Result> => {
  const stores = await openStores(readConfig(settings), {
    clock: Date.now,
    onWarning: (message) => assert.unreachable(message),
  });
  try {
    return await task(stores);
  } finally {
    await stores.close();
  }
};

const waitForTotals = (stores: Stores, expected: RegExp): Promise<void> =>
  until('these totals in SQL', async () => expected.test(await inSql(stores)), 30_000);

const doNothing = async (): Promise<void> => {};

[postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
const admin = new Redis(redis.url);
const original = await createDatabase('original');
const sql = connectSql(original.DATABASE_URL ?? '');
await migrate(sql);
await fillDirectory(sql, sizes);
await sql.end();
atBackup = await countOnNode(original, (url) => count(url, 0, '18446744073709551557'));
test.after(async () => {
  admin?.disconnect();
  await Promise.all([postgres?.close(), redis?.dispose()]);
});

test('a backup of a running node has all its counts, also those that were not flushed', async () => {
  let totals = '';
  const slow = { ...original, FLUSH_INTERVAL_MS: '60000' };
  atBackup = await countOnNode(slow, async (url) => {
    await count(url, 1, '18446744073709551001');
    const { code, err } = await run(takeBackup, original, backup);
    assert.equal([code, err], [0, '']);
    totals = await onStores(original, inSql);
  });

  for (const name of readdirSync(backup))
    assert.is(statSync(join(backup, name)).mode & 0o777, 0o600, `${name} is for the operator alone`);
  assert.match(totals, /^18446744073709551001 2 /);
  assert.match(atBackup, '"servers":18446744073709551001');
});

test('a restore into a database that is not empty is refused and changes nothing', async () => {
  const { code, err } = await run(runRestore, original, backup);

  assert.is(code, 1);
  assert.match(err, /The database is not empty \(.*create a new database and name it in DATABASE_URL/);
});

test('a damaged dump is refused, and the database stays empty', async () => {
  const settings = await createDatabase('damaged');
  const file = join(backup, 'database.dump');
  const whole = readFileSync(file);
  const bytes = Buffer.from(whole);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  writeFileSync(file, bytes);

  const { code, err } = await run(runRestore, settings, backup);
  writeFileSync(file, whole);
  const tables = await onStores(
    settings,
    ({ sql }) => sql`select from pg_tables where schemaname = 'public'`,
  );

  assert.is(code, 1);
  assert.match(err, /Nothing was restored: .*database\.dump is damaged/);
  assert.is(tables.length, 0);
});

test('older SQL: the restore keeps the counters, and the next node writes all totals', async () => {
  const later = await countOnNode(original, (url) => count(url, 2, '18446744073709550001'));
  const settings = await createDatabase('older');

  const { code, out, err } = await run(runRestore, settings, backup);
  // The dump has the row of the node that ran then, so its share of the shards is not flushed at first.
  const seen = await countOnNode(settings, () =>
    onStores(settings, (stores) => waitForTotals(stores, /^18446744073709550001 3 /)),
  );
  const totals = await onStores(settings, inSql);

  assert.is(code, 0);
  assert.match(out, /^Restored the backup of /);
  assert.match(
    err,
    /^Redis holds counters that are newer than the backup .*edits and sessions since the backup/s,
  );
  assert.is(seen, later);
  assert.match(totals, /^18446744073709550001 3 /);
});

test('SQL restored by other means: reflush writes all totals of Redis', async () => {
  const settings = await createDatabase('by_hand');
  const later = await countOnNode(original, doNothing);
  // The restore uses another Redis, so that ours is not changed by it.
  const other = await startRedis();
  await run(runRestore, { ...settings, REDIS_URL: other.url }, backup);
  await other.dispose();

  const { code, out, err } = await run(runReflush, settings);
  const totals = await onStores(settings, inSql);
  const seen = await countOnNode(settings, doNothing);

  assert.equal([code, err], [0, '']);
  assert.match(out, /^All totals of the hot store are in SQL\./);
  assert.match(totals, /^18446744073709550001 3 /);
  assert.is(seen, later);
});

test('Redis emptied: all counters come from the backup under a new generation, never from zero', async () => {
  const settings = await createDatabase('emptied');
  await admin.flushall();
  const { code, err } = await run(runRestore, settings, backup);
  let first = '';
  let votes: number[] = [];
  const after = await countOnNode(settings, async (url) => {
    first = await shown(url);
    votes = [await vote(url, 0)];
    await count(url, 2, '7');
  });

  assert.equal([code, err], [0, '']);
  assert.is(first, atBackup);
  assert.equal(votes, [429], 'the rows of votes restore the waits');
  assert.match(after, /^"servers":7 "clicks":3 /);
});

test('a Redis older than SQL is refused by restore and reflush, and nothing is written back', async () => {
  // An older Redis: it was published once and never reached the positions of the backup.
  await admin.flushall();
  await onStores(original, ({ hot }) =>
    hot.publish(listAllShards().map((shard) => ({ shard, generation: 1 }))),
  );
  const settings = await createDatabase('newer');

  const restored = await run(runRestore, settings, backup);
  const before = await onStores(original, inSql);
  const reflushed = await run(runReflush, original);
  const after = await onStores(original, inSql);

  for (const { code, err } of [restored, reflushed]) {
    assert.is(code, 1);
    assert.match(err, /The hot store is older than SQL in \d+ of its 16 shards.*FLUSHDB/);
  }
  assert.is(after, before);
});

test('import, export and inspect work on the servers', async () => {
  await admin.flushall();
  const settings = await createDatabase('commands');
  const file = join(folder, 'out.jsonl');
  const exported = await run(
    (_, terminal) =>
      onStores(original, ({ sql }) =>
        runExport(sql, terminal, { exporter: directoryExporter, path: file, json: false }),
      ),
    original,
  );
  const imported = await onStores(settings, async (stores) => {
    await migrate(stores.sql);
    const args = { path: file, skipBad: false, json: false };
    return run((_, terminal) => runImport({ stores }, terminal, args), settings);
  });
  await countOnNode(settings, (url) => count(url, 3, '5'));
  const inspected = await onStores(settings, (stores) =>
    run(
      (_, terminal) =>
        runInspect((kind, id) => inspectEntity(stores, kind, id), terminal, {
          kind: 'bot',
          id: directory.bots[0] ?? '',
          json: true,
        }),
      settings,
    ),
  );

  assert.equal([exported.code, imported.code, inspected.code], [0, 0, 0]);
  assert.match(exported.err, /lines exported/);
  assert.match(imported.out, /added: .*3 bots/);
  const { totals, hot } = JSON.parse(inspected.out);
  assert.equal([totals.servers, hot.servers, totals.clicks], ['5', '5', hot.clicks]);
});

test.run();
