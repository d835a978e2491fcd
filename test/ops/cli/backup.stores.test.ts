/**
 * Backup and restore of the embedded stores: everything is restored exactly, never a part of it and nothing
 * damaged. Stores of different age are in older.stores.test.ts.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runRestore } from '../../../ops/cli/restore.ts';
import { listFolder } from '../../../storage/embedded/copy.ts';
import { assertExcludes } from '../../support/assert-includes.ts';
import { copyDataFolder, makeDataFolder, openAtRest } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { startNode } from '../../support/node-process.ts';
import { addFindings, listOriginRows } from '../../support/origin-rows.ts';
import { count, run, shown, sizes, takeBackup, vote } from './counting.ts';

const test = suite('backup of the embedded stores');
const folder = makeFolder('rollcall-backup-');
const toPath = (name: string): string => join(folder, name);
const original = toPath('original');
const backup = toPath('backup');
let originalChecksums: unknown;

/** Names and checksums of all files of both stores of a data folder. */
const listChecksums = (dataDir: string) =>
  ['hot', 'postgres'].map((part) =>
    listFolder(join(dataDir, part)).files.map((file) => [
      file,
      crc32(readFileSync(join(dataDir, part, file))),
    ]),
  );

const readOrigins = async (dataDir: string): Promise<readonly string[]> => {
  const { sql, close } = await openAtRest(dataDir);
  const rows = await listOriginRows(sql);
  await close();
  return rows;
};

/** Counts on a node that does not flush, and kills it. */
const countAndKill = async (dataDir: string, voter: number, servers: string): Promise<string> => {
  const node = await startNode({ dataDir, settings: { FLUSH_INTERVAL_MS: '60000' } });
  try {
    await count(node.url, voter, servers);
    return await shown(node.url);
  } finally {
    await node.kill();
  }
};

await makeDataFolder(original, sizes);
const atBackup = await countAndKill(original, 0, '18446744073709551557');

test('a backup contains counters that were never flushed', async () => {
  const { code, out, err } = await run(takeBackup, { DATA_DIR: original }, backup);

  assert.is(code, 0, err);
  assert.match(out, /^The backup is in .*backup: \d+\.\d MB in \d/);
  assert.equal(readdirSync(backup).sort(), ['hot.pack', 'manifest.json', 'sql.pack']);
  assert.is(statSync(backup).mode & 0o77, 0, 'only its owner can read it');
  assert.not(existsSync(join(original, 'lock')));
  originalChecksums = listChecksums(original);
});

test('a restore is exact: numbers, votes, waits and sessions', async () => {
  const dataDir = toPath('restored');
  const { code, out, err } = await run(runRestore, { DATA_DIR: dataDir }, backup);
  const bytes = listChecksums(dataDir);
  const node = await startNode({ dataDir });
  const seen = await shown(node.url);
  const votes = [await vote(node.url, 0), await vote(node.url, 1)];
  await node.stop();

  assert.equal([code, err], [0, '']);
  assert.equal(bytes, originalChecksums);
  assert.match(out, /^Restored the backup of \d{4}-.*The server can be started\.$/m);
  assert.is(seen, atBackup);
  assert.match(seen, '"servers":18446744073709551557');
  assert.not.match(node.output(), /stopped while the database was open/);
  assert.equal(votes, [429, 204], 'a voter still waits, others can vote');
});

test('where votes come from is restored, row for row', async () => {
  const [dataDir, copy, again] = ['restored', 'origins', 'with-origins'].map(toPath) as [
    string,
    string,
    string,
  ];
  const stores = await openAtRest(dataDir);
  await addFindings(stores.sql);
  await stores.close();
  await countAndKill(dataDir, 2, '7');
  assert.is((await run(takeBackup, { DATA_DIR: dataDir }, copy)).code, 0);
  assert.is((await run(runRestore, { DATA_DIR: again }, copy)).code, 0);
  const before = await readOrigins(dataDir);
  assert.equal(await readOrigins(again), before);
  for (const kind of ['count', 'origin', 'suspect'])
    assert.ok(
      before.some((row) => row.startsWith(kind)),
      kind,
    );

  // Of the last vote it was in SQL, or in the outbox.
  const node = await startNode({ dataDir: again });
  await node.stop();
  const after = await readOrigins(again);
  assert.is(after.filter((row) => row.startsWith('origin')).length, 3, after.join('\n'));
  assert.equal(
    before.filter((row) => !after.includes(row) && !row.startsWith('count')),
    [],
  );
});

for (const file of ['hot.pack', 'sql.pack', 'manifest.json']) {
  test(`one changed byte of ${file} is found, and nothing is restored`, async () => {
    const damaged = copyDataFolder(backup, toPath(`damaged-${file}`));
    const bytes = readFileSync(join(damaged, file));
    const middle = bytes.length >> 1;
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
    writeFileSync(join(damaged, file), bytes);
    const dataDir = toPath(`from-damaged-${file}`);

    const { code, err } = await run(runRestore, { DATA_DIR: dataDir }, damaged);

    assert.is(code, 1);
    assert.match(err, /damaged|not as it was written/);
    assert.equal(existsSync(dataDir) ? readdirSync(dataDir) : [], []);
  });
}

test('a name in the manifest that leads out of the folder is refused, and nothing is written', async () => {
  for (const [index, path] of ['../../../escaped', join(folder, 'escaped'), 'base/../../x'].entries()) {
    const hostile = copyDataFolder(backup, toPath(`hostile-${index}`));
    const file = join(hostile, 'manifest.json');
    const { manifest } = JSON.parse(readFileSync(file, 'utf8'));
    manifest.hot.files[0].path = path;
    const sha256 = createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
    writeFileSync(file, JSON.stringify({ sha256, manifest }));
    const dataDir = toPath(`deep-${index}/data`);

    const { code, err } = await run(runRestore, { DATA_DIR: dataDir }, hostile);

    assert.is(code, 1);
    assert.match(err, /Nothing was restored: .*hot\.pack is not a pack of Rollcall: it names/);
    assert.equal(existsSync(dataDir) ? readdirSync(dataDir) : [], []);
    assertExcludes(readdirSync(folder), 'escaped');
  }
});

test('a backup removes the draft of a killed backup, and no other folder of that name', async () => {
  const other = toPath('mine.unfinished');
  mkdirSync(other);
  writeFileSync(join(other, 'precious'), 'x');
  const refused = await run(takeBackup, { DATA_DIR: original }, toPath('mine'));
  assert.is(refused.code, 1);
  assert.match(refused.err, /mine\.unfinished is not an unfinished backup.*Move it away/);
  assert.equal(readdirSync(other), ['precious']);

  writeFileSync(join(other, 'unfinished-backup'), '');
  const { code, err } = await run(takeBackup, { DATA_DIR: original }, toPath('mine'));
  assert.is(code, 0, err);
  assert.equal(readdirSync(toPath('mine')).sort(), ['hot.pack', 'manifest.json', 'sql.pack']);
  assert.not(existsSync(other));
});

test('a restore never overwrites data', async () => {
  const before = readdirSync(original);

  const { code, err } = await run(runRestore, { DATA_DIR: original }, backup);

  assert.is(code, 1);
  assert.match(err, /is not empty \(.*move it away, or set another DATA_DIR/);
  assert.equal(readdirSync(original), before);
});

for (const [what, data, target, expected] of [
  ['over a backup', original, backup, /exists already\. Name a new folder/],
  ['of a mistyped DATA_DIR', toPath('nowhere'), toPath('b1'), /There is no directory in .*nowhere/],
  ['into a folder that is not there', original, toPath('no/b2'), /Cannot create .*there is no folder/],
] as const) {
  test(`no backup is taken ${what}`, async () => {
    const { code, err } = await run(takeBackup, { DATA_DIR: data }, target);

    assert.is(code, 1);
    assert.match(err, expected);
    assert.not(existsSync(toPath('nowhere')));
  });
}

test('a folder without a backup is refused with a message', async () => {
  const empty = toPath('empty');
  mkdirSync(empty);

  const { code, err } = await run(runRestore, { DATA_DIR: toPath('b3') }, empty);

  assert.is(code, 1);
  assert.match(err, /There is no backup in .*empty: .*manifest\.json is missing/);
});

test('a restore that is killed leaves nothing incomplete, and the next one succeeds', async () => {
  const dataDir = toPath('killed');
  const main = new URL('../../../ops/cli/main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [...process.execArgv, main, 'restore', backup], {
    stdio: 'ignore',
    env: { ...process.env, DATA_DIR: dataDir },
  });
  const ended = once(child, 'close');
  while (child.exitCode === null && !existsSync(join(dataDir, 'restore.unfinished', 'hot'))) await sleep(1);
  child.kill('SIGKILL');
  await ended;
  if (!existsSync(join(dataDir, 'postgres'))) {
    const { code, err } = await run(runRestore, { DATA_DIR: dataDir }, backup);
    assert.equal([code, err], [0, '']);
  }
  assert.equal(listChecksums(dataDir), originalChecksums);
});

test('a restore that ended between its two moves begins again, after both it is complete', async () => {
  const dataDir = toPath('between');
  await run(runRestore, { DATA_DIR: dataDir }, backup);
  const draft = join(dataDir, 'restore.unfinished');
  mkdirSync(draft);
  renameSync(join(dataDir, 'postgres'), join(draft, 'sql'));

  const { code, err } = await run(runRestore, { DATA_DIR: dataDir }, backup);

  assert.equal([code, err], [0, '']);
  assert.not(existsSync(draft));
  assert.equal(listChecksums(dataDir), originalChecksums);

  mkdirSync(draft);
  const again = await run(runRestore, { DATA_DIR: dataDir }, backup);

  assert.is(again.code, 1);
  assert.match(again.err, /was complete when it was interrupted\. The server can be started\./);
  assert.not(existsSync(draft));
  assert.equal(listChecksums(dataDir), originalChecksums);
});

test.run();
