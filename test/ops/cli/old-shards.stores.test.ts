/**
 * A data folder of 128 shards, as earlier versions left them: it counts on, its backup has 128 shards, and
 * its hot store is refused beside the SQL of another directory.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newShardCount, oldShardCount } from '../../../engine/ids.ts';
import { runReflush, runRestore } from '../../../ops/cli/restore.ts';
import { readConfig } from '../../../ops/config/config.ts';
import { start } from '../../../ops/rollcall.ts';
import { readShardCount } from '../../../storage/shards.ts';
import { copyDataFolder, makeDataFolder, makeOldDataFolder, openAtRest } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { count, run, shown, sizes, takeBackup, vote } from './counting.ts';

const test = suite('old number of shards');
const folder = makeFolder('rollcall-old-shards-');
const toPath = (name: string): string => join(folder, name);

const onNode = async <Result>(dataDir: string, task: (url: string) => Promise<Result>): Promise<Result> => {
  const settings = { DATA_DIR: dataDir, PORT: '0', ADMIN_PORT: '0', DEMO: 'off', LOG_LEVEL: 'silent' };
  const node = await start(readConfig(settings));
  try {
    return await task(node.url);
  } finally {
    await node.stop();
  }
};

const readCounts = async (dataDir: string): Promise<readonly number[]> => {
  const stores = await openAtRest(dataDir);
  const counts = [await readShardCount(stores.sql), ...(await stores.hot.listShardCounts())];
  await stores.close();
  return counts;
};

const used = toPath('used');
const fresh = toPath('fresh');
await makeDataFolder(fresh, sizes);
await makeOldDataFolder(used, sizes);
const counted = await onNode(used, async (url) => {
  await count(url, 0, '18446744073709551557');
  return shown(url);
});

test('a node counts on after a restart, and knows who has voted', async () => {
  assert.equal(await readCounts(used), [oldShardCount, oldShardCount]);
  const again = await onNode(used, async (url) => [await shown(url), await vote(url, 0)]);

  assert.equal(again, [counted, 429]);
});

test('a backup is restored with its number, also by a process that worked on another store', async () => {
  const [backup, restored] = [toPath('backup'), toPath('restored')];
  await onNode(fresh, (url) => count(url, 1, '5'));
  assert.equal(await readCounts(fresh), [newShardCount, newShardCount]);

  const taken = await run(takeBackup, { DATA_DIR: used }, backup);
  const put = await run(runRestore, { DATA_DIR: restored }, backup);
  const reflushed = await run(runReflush, { DATA_DIR: restored });
  const again = await onNode(restored, async (url) => [await shown(url), await vote(url, 0)]);

  assert.equal([taken.code, put.code, reflushed.code], [0, 0, 0], `${taken.err}${put.err}${reflushed.err}`);
  assert.equal(await readCounts(restored), [oldShardCount, oldShardCount]);
  assert.equal(again, [counted, 429]);
});

test('the hot store beside the SQL of another number is refused, and keeps its counters', async () => {
  const mixed = copyDataFolder(fresh, toPath('mixed'));
  rmSync(join(mixed, 'hot'), { recursive: true });
  cpSync(join(used, 'hot'), join(mixed, 'hot'), { recursive: true });

  const refused = await onNode(mixed, async () => 'it started').catch((error: Error) => error.message);
  const { code, err } = await run(runReflush, { DATA_DIR: mixed });

  assert.match(refused, /SQL has 16 shards, but the hot store holds counters in 128 shards/);
  assert.is(code, 1);
  assert.match(err, /SQL has 16 shards, but the hot store holds counters in 128 shards/);
  assert.equal(await readCounts(mixed), [newShardCount, oldShardCount]);
});

test.run();
