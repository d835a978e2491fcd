/**
 * The embedded database of a data folder: a broken folder is restored from a snapshot, or left alone.
 */
import {
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type LedgerStore, openLedgerStore } from '../../../storage/embedded/open.ts';
import { listSnapshots } from '../../../storage/embedded/snapshot.ts';
import { makeFolder } from '../../support/folder.ts';
import { makeBareFolder } from '../../support/sql-template.ts';

const test = suite('embedded store');
const root = makeFolder('rollcall-store-');
/** A cleanly closed data folder with two snapshots; tests work on copies of it. */
const template = join(root, 'template');
const troubles: unknown[] = [];

const opened: LedgerStore[] = [];

const open = async (dataDirectory: string): Promise<LedgerStore> => {
  const store = await openLedgerStore({
    dataDirectory,
    onWarning: (words, error) => troubles.push(words, error),
  });
  opened.push(store);
  return store;
};
const copyOf = (name: string): string => {
  const folder = join(root, name);
  cpSync(template, folder, { recursive: true });
  return folder;
};
const numbersIn = async ({ sql }: LedgerStore): Promise<number[]> => {
  const rows = await sql<{ number: number }[]>`select number from numbers order by number`;
  return rows.map(({ number }) => number);
};
/** Numbers of listings made after the copy may be in the hot store. */
const skipsNumbers = async ({ sql }: LedgerStore): Promise<boolean> => {
  const [row] = await sql<{ next: number }[]>`select nextval('incarnations') as next`;
  return Number(row?.next) > 1_000_000;
};
const largestFile = (folder: string): string => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^base\/\d+\/\d+$/.test(path),
  );
  const sized = files.map((path) => ({ path, bytes: statSync(join(folder, path)).size }));
  return join(folder, sized.sort((left, right) => right.bytes - left.bytes)[0]?.path ?? '');
};

const scribble = (path: string, position: number): void => {
  const handle = openSync(path, 'r+');
  writeSync(handle, 'scribble', position);
  closeSync(handle);
};

await makeBareFolder(template);
const store = await open(template);
await store.sql`create table numbers (number bigint primary key)`;
await store.takeSnapshot();
await store.sql`insert into numbers values (-1)`;
await store.close();
test.after(async () => {
  for (const store of opened) await store.close();
});

test('a clean stop leaves two snapshots, and the next start reports nothing', async () => {
  const folder = copyOf('clean');
  assert.is(listSnapshots(join(folder, 'snapshots')).length, 2);
  const store = await open(folder);
  assert.is(store.restored, false);
  assert.equal(store.notes, []);
  assert.equal(await numbersIn(store), [-1]);
  assert.not(await skipsNumbers(store));

  await store.close();
  assert.is(listSnapshots(join(folder, 'snapshots')).length, 2);
});

test('a folder that does not open is moved aside and replaced by the newest snapshot', async () => {
  const folder = copyOf('torn');
  writeFileSync(join(folder, 'sql', 'global', 'pg_control'), Buffer.alloc(8192));
  const store = await open(folder);

  assert.is(store.restored, true);
  assert.match(store.notes[0] ?? '', 'was put in its place');
  assert.equal(await numbersIn(store), [-1]);
  assert.ok(await skipsNumbers(store), 'a listing gets no number that was given out before');
  assert.ok(readdirSync(folder).some((name) => name.startsWith('sql.broken-')));
  await store.close();
});

test('if the newest snapshot is damaged, the one before it is used', async () => {
  const folder = copyOf('both');
  const snapshots = join(folder, 'snapshots');
  const [newest = '', older = ''] = listSnapshots(snapshots);
  rmSync(join(folder, 'sql', 'PG_VERSION'));
  scribble(join(snapshots, newest, 'files.pack'), 5_000_000);
  const store = await open(folder);

  assert.is(store.restored, true);
  assert.match(store.notes[0] ?? '', older);
  assert.equal(await numbersIn(store), []);
  await store.close();
});

test('a deleted folder is restored, and every opening reports it until SQL has caught up', async () => {
  const folder = copyOf('deleted');
  rmSync(join(folder, 'sql'), { recursive: true });
  const said: boolean[] = [];
  for (const catchesUp of [false, true, false]) {
    const store = await open(folder);
    said.push(store.restored);
    assert.equal(await numbersIn(store), [-1], 'not begun anew');
    if (catchesUp) store.markCaughtUp();
    await store.close();
  }

  assert.equal(said, [true, true, false]);
});

test('damage that shows only when rows are read is found after the machine stopped', async () => {
  const folder = copyOf('page');
  const state = { open: true, boot: 'an earlier one' };
  writeFileSync(join(folder, 'sql.state.json'), JSON.stringify(state));
  const sound = await open(folder);
  assert.is(sound.restored, true, 'whole, and perhaps not as new as the hot store');
  assert.match(sound.notes[0] ?? '', 'every row was read');
  assert.ok(await skipsNumbers(sound));
  await sound.sql`insert into numbers select generate_series(1000, 60000)`;
  await sound.close();

  writeFileSync(join(folder, 'sql.state.json'), JSON.stringify(state));
  scribble(largestFile(join(folder, 'sql')), 8192 * 3 + 100);
  const store = await open(folder);
  assert.is(store.restored, true);
  assert.is((await numbersIn(store)).length, 59_002);
  await store.close();
});

test('a file cut short is found after the machine stopped', async () => {
  const folder = copyOf('short');
  const before = await open(folder);
  await before.sql`insert into numbers select generate_series(1000, 60000)`;
  await before.close();
  writeFileSync(join(folder, 'sql.state.json'), JSON.stringify({ open: true, boot: 'an earlier one' }));
  truncateSync(largestFile(join(folder, 'sql')), 8192 * 3);

  const store = await open(folder);

  assert.match(store.notes[0] ?? '', /could not be used .*XX001|could not read blocks/);
  assert.is((await numbersIn(store)).length, 59_002);
  await store.close();
});

test('without a snapshot a broken folder is refused clearly, and nothing is deleted', async () => {
  const folder = copyOf('hopeless');
  rmSync(join(folder, 'snapshots'), { recursive: true });
  writeFileSync(join(folder, 'sql', 'global', 'pg_control'), Buffer.alloc(8192));
  const before = readdirSync(join(folder, 'sql'), { recursive: true }).length;
  let words = '';
  try {
    await open(folder);
  } catch (error) {
    words = error instanceof Error ? error.message : '';
  }

  assert.match(words, 'no sound snapshot was found');
  assert.match(words, 'Nothing was deleted');
  assert.ok(existsSync(join(folder, 'sql', 'base')));
  assert.is(readdirSync(join(folder, 'sql'), { recursive: true }).length, before);
});

test('no warning was reported during these tests', () => {
  assert.equal(troubles, []);
});

test.run();
