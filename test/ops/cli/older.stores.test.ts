/**
 * Embedded stores of different age, as after a restore by hand: numbers are repaired or the operator gets an
 * error, and smaller numbers are never shown or written back.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runReflush } from '../../../ops/cli/restore.ts';
import { copyDataFolder, makeDataFolder, openAtRest } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { count, countOnNode, inSql, run, shown, sizes } from './counting.ts';

const test = suite('stores of different age');
const folder = makeFolder('rollcall-older-');
const toPath = (name: string): string => join(folder, name);

const onNode = (dataDir: string, task: (url: string) => Promise<void>): Promise<string> =>
  countOnNode({ DATA_DIR: dataDir, PORT: '0', ADMIN_PORT: '0', DEMO: 'off', LOG_LEVEL: 'silent' }, task);

/** Totals and the number of votes in the SQL of a folder that no process has open. */
const readSql = async (dataDir: string): Promise<{ totals: string; votes: number }> => {
  const stores = await openAtRest(dataDir);
  const rows = await stores.sql`select from votes where vote_num = 0`;
  const totals = await inSql(stores);
  await stores.close();
  return { totals, votes: rows.length };
};

/** Creates a folder with the SQL of one folder and the hot store of another, or none. */
const createPair = (sqlFrom: string, hotFrom: string | null): string => {
  const dataDir = copyDataFolder(toPath(sqlFrom), toPath(`sql-${sqlFrom}-hot-${hotFrom}`));
  rmSync(join(dataDir, 'hot'), { recursive: true });
  if (hotFrom !== null) cpSync(join(toPath(hotFrom), 'hot'), join(dataDir, 'hot'), { recursive: true });
  return dataDir;
};

const early = toPath('early');
await makeDataFolder(early, sizes);
await onNode(early, (url) => count(url, 0, '18446744073709551557'));
const later = copyDataFolder(early, toPath('later'));
const atLater = await onNode(later, (url) => count(url, 1, '18446744073709551001'));

test('older SQL: reflush writes every total again, and lost votes stay lost', async () => {
  const dataDir = createPair('early', 'later');

  const { code, out, err } = await run(runReflush, { DATA_DIR: dataDir });
  const { totals, votes } = await readSql(dataDir);

  assert.equal([code, err], [0, '']);
  assert.match(out, /^All totals of the hot store are in SQL\./);
  assert.match(totals, /^18446744073709551001 2 /);
  assert.is(votes, 1);
});

test('a hot store older than SQL is refused with a message, and SQL keeps its numbers', async () => {
  const dataDir = createPair('later', 'early');

  const { code, err } = await run(runReflush, { DATA_DIR: dataDir });
  const { totals, votes } = await readSql(dataDir);

  assert.is(code, 1);
  assert.match(err, /The hot store is older than SQL in \d+ of its 16 shards.*empty it/);
  assert.match(totals, /^18446744073709551001 2 /);
  assert.is(votes, 2);
});

test('an emptied hot store is repaired from SQL, and smaller numbers are never shown', async () => {
  let first = '';

  const counted = await onNode(createPair('later', null), async (url) => {
    first = await shown(url);
    await count(url, 2, '7');
  });

  assert.is(first, atLater);
  assert.match(counted, /^"servers":7 "clicks":3 /);
});

test.run();
