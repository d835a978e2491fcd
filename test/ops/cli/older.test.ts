/**
 * Embedded stores of which one is older than the other, as after a restore by hand: numbers are healed or the
 * operator is told, and small ones are never shown or written back.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runReflush } from '../../../ops/cli/restore.ts';
import { readConfig } from '../../../ops/config.ts';
import { start } from '../../../ops/rollcall.ts';
import { copyDataFolder, fillDirectory, openAtRest } from '../../support/directory.ts';
import { makeSqlFolder } from '../../support/sql-template.ts';
import { count, inSql, run, shown, sizes } from './counting.ts';

const test = suite('stores of two ages');
const folder = mkdtempSync(join(tmpdir(), 'rollcall-older-'));
const place = (name: string): string => join(folder, name);
let atLater: string;

/** What a task sees on a node that is drained after it. */
const onNode = async (dataDir: string, task: (url: string) => Promise<void>): Promise<string> => {
  const settings = { DATA_DIR: dataDir, PORT: '0', ADMIN_PORT: '0', DEMO: 'off', LOG_LEVEL: 'silent' };
  const node = await start(readConfig(settings));
  try {
    await task(node.url);
    return await shown(node.url);
  } finally {
    await node.stop();
  }
};

/** Totals and the number of vote rows in the SQL of a folder that nobody has open. */
const sqlOf = async (dataDir: string): Promise<{ totals: string; votes: number }> => {
  const stores = await openAtRest(dataDir);
  const rows = await stores.sql`select from votes where vote_num = 0`;
  const totals = await inSql(stores);
  await stores.close();
  return { totals, votes: rows.length };
};

/** A folder with the SQL of one and the hot store of the other, or none. */
const pairOf = (sqlFrom: string, hotFrom: string | null): string => {
  const dataDir = copyDataFolder(place(sqlFrom), place(`sql-${sqlFrom}-hot-${hotFrom}`));
  rmSync(join(dataDir, 'hot'), { recursive: true });
  if (hotFrom !== null) cpSync(join(place(hotFrom), 'hot'), join(dataDir, 'hot'), { recursive: true });
  return dataDir;
};

test.before(async () => {
  const early = place('early');
  await makeSqlFolder(join(early, 'sql'));
  const stores = await openAtRest(early);
  await fillDirectory(stores.sql, sizes);
  await stores.close();
  await onNode(early, (url) => count(url, 0, '18446744073709551557'));
  const later = copyDataFolder(early, place('later'));
  atLater = await onNode(later, (url) => count(url, 1, '18446744073709551001'));
});
test.after(() => rmSync(folder, { recursive: true, force: true }));

test('older SQL: reflush writes every total anew, and vote rows that were lost stay lost', async () => {
  const dataDir = pairOf('early', 'later');

  const { code, out, err } = await run(runReflush, { DATA_DIR: dataDir });
  const { totals, votes } = await sqlOf(dataDir);

  assert.equal([code, err], [0, '']);
  assert.match(out, /^All totals of the hot store are in SQL\./);
  assert.match(totals, /^18446744073709551001 2 /);
  assert.is(votes, 1);
});

test('a hot store older than SQL is refused in words, and SQL keeps its numbers', async () => {
  const dataDir = pairOf('later', 'early');

  const { code, err } = await run(runReflush, { DATA_DIR: dataDir });
  const { totals, votes } = await sqlOf(dataDir);

  assert.is(code, 1);
  assert.match(err, /The hot store is older than SQL in \d+ of its 128 shards.*empty it/);
  assert.match(totals, /^18446744073709551001 2 /);
  assert.is(votes, 2);
});

test('an emptied hot store is healed from SQL, and small numbers are never shown', async () => {
  let first = '';

  const counted = await onNode(pairOf('later', null), async (url) => {
    first = await shown(url);
    await count(url, 2, '7');
  });

  assert.is(first, atLater);
  assert.match(counted, /^"servers":7 "clicks":3 /);
});

test.run();
