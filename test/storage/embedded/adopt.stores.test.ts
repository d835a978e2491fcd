/**
 * A data folder of a version whose database did not sync: it is repaired as that version would have done,
 * goes on in `postgres/`, and is left alone if neither the database nor a snapshot can be used.
 */
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isOldFolder, markAdopted, restoreOldFolder } from '../../../storage/embedded/adopt.ts';
import { packFolder } from '../../../storage/embedded/copy.ts';
import { readBootId } from '../../../storage/embedded/lock-file.mjs';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('an older folder');
const root = makeFolder('rollcall-older-');
/** A data folder as the older version left it when it ended well; tests work on copies of it. */
const template = join(root, 'template');
const database = join(template, 'sql');

const takeSnapshot = (name: string): void => {
  const snapshot = join(template, 'snapshots', name);
  mkdirSync(snapshot, { recursive: true });
  const contents = packFolder(database, join(snapshot, 'files.pack'));
  writeFileSync(join(snapshot, 'manifest.json'), JSON.stringify({ format: 1, contents }));
};
const writeState = (dataDir: string, state: object): void =>
  writeFileSync(join(dataDir, 'sql.state.json'), JSON.stringify(state));

// As that version created it, with larger files of the log.
mkdirSync(template, { recursive: true });
await (await PGlite.create(database)).close();
const withDatabase = async <Result>(
  directory: string,
  task: (sql: Awaited<ReturnType<typeof openEmbeddedSql>>['sql']) => Promise<Result>,
): Promise<Result> => {
  const { sql, close } = await openEmbeddedSql({ directory });
  try {
    return await task(sql);
  } finally {
    await close();
  }
};
await withDatabase(database, async (sql) => {
  await migrate(sql);
  await sql`create table numbers (number bigint primary key)`;
  await sql`insert into generations (shard, generation) values (0, 1)`;
});
takeSnapshot('2026-11-01');
await withDatabase(database, (sql) => sql`insert into numbers select generate_series(1, 60000)`);
takeSnapshot('2026-11-02');
await withDatabase(database, (sql) => sql`insert into numbers values (-1)`);
writeState(template, { open: false, boot: readBootId(), older: false });

const copyOf = (name: string): string => {
  const folder = join(root, name);
  cpSync(template, folder, { recursive: true });
  return folder;
};
const scribble = (path: string, position: number): void => {
  const handle = openSync(path, 'r+');
  writeSync(handle, 'scribble', position);
  closeSync(handle);
};
const findLargestFile = (folder: string): string => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^base\/\d+\/\d+$/.test(path),
  );
  const sized = files.map((path) => ({ path, bytes: statSync(join(folder, path)).size }));
  return join(folder, sized.sort((left, right) => right.bytes - left.bytes)[0]?.path ?? '');
};
/** Adopts the folder, and reads it as the next start does. */
const adopt = async (dataDir: string) => {
  const notes = await restoreOldFolder(dataDir);
  await markAdopted(dataDir);
  const read = await withDatabase(join(dataDir, 'postgres'), async (sql) => {
    const [row] = await sql<{ count: number; least: number }[]>`
      select count(*) as count, min(number) as least from numbers`;
    const [generation] = await sql<{ value: number }[]>`select max(generation) as value from generations`;
    const [next] = await sql<{ value: number }[]>`select nextval('incarnations') as value`;
    return {
      count: row?.count,
      least: row?.least,
      sendsTotalsAgain: (generation?.value ?? 0) > 1,
      skipsNumbers: (next?.value ?? 0) > 1_000_000,
    };
  });
  return { notes: notes.join('\n'), ...read };
};
const whole = { count: 60_001, least: -1 };
const snapshot = { count: 60_000, least: 1 };
const newTimeline = { sendsTotalsAgain: true, skipsNumbers: true };

test('a folder that was left well goes on under its new name, without its snapshots', async () => {
  const folder = copyOf('clean');
  assert.is(isOldFolder(folder), true);

  const adopted = await adopt(folder);

  assert.equal(adopted, { notes: '', ...whole, sendsTotalsAgain: false, skipsNumbers: false });
  assert.equal(readdirSync(folder), ['postgres']);
  assert.is(isOldFolder(folder), false);
});

test('kill -9 of the older version needs no repair', async () => {
  const folder = copyOf('killed');
  writeState(folder, { open: true, boot: readBootId(), older: false });

  assert.equal(await adopt(folder), { notes: '', ...whole, sendsTotalsAgain: false, skipsNumbers: false });
});

test('after the machine stopped, everything is read; counters are written again', async () => {
  const folder = copyOf('restarted');
  writeState(folder, { open: true, boot: 'an earlier one' });

  const { notes, ...adopted } = await adopt(folder);

  assert.equal(adopted, { ...whole, ...newTimeline });
  assert.match(notes, /Every row was read/);
});

test('a snapshot that an older version put in place is read, too; counters are written again', async () => {
  const folder = copyOf('restored');
  writeState(folder, { open: false, boot: readBootId(), older: true });

  const { notes, ...adopted } = await adopt(folder);

  assert.equal(adopted, { ...whole, ...newTimeline });
  assert.match(notes, /Every row was read/);
});

for (const [what, spoil] of Object.entries({
  'a control file of zeros': (sql: string) =>
    writeFileSync(join(sql, 'global', 'pg_control'), Buffer.alloc(8_192)),
  'a changed page': (sql: string) => scribble(findLargestFile(sql), 8_192 * 3 + 100),
  'a file cut short': (sql: string) => truncateSync(findLargestFile(sql), 8_192 * 3),
  'no folder': (sql: string) => rmSync(sql, { recursive: true }),
})) {
  test(`${what}: the newest snapshot takes its place`, async () => {
    const folder = copyOf(what);
    writeState(folder, { open: true, boot: 'an earlier one' });
    spoil(join(folder, 'sql'));

    const { notes, ...adopted } = await adopt(folder);

    assert.equal(adopted, { ...snapshot, ...newTimeline });
    assert.match(notes, /could not be used .* The snapshot 2026-11-02 was put in its place/);
    const aside = readdirSync(folder).filter((name) => name.startsWith('sql.broken-'));
    assert.is(aside.length, what === 'no folder' ? 0 : 1);
  });
}

test('if the newest snapshot is damaged, the one before it is used', async () => {
  const folder = copyOf('both');
  rmSync(join(folder, 'sql', 'PG_VERSION'));
  scribble(join(folder, 'snapshots', '2026-11-02', 'files.pack'), 5_000_000);

  const { notes, count } = await adopt(folder);

  assert.is(count, 0);
  assert.match(notes, '2026-11-01');
});

test('a repair that ended early is made again, whatever was done', async () => {
  const folder = copyOf('repeated');
  writeState(folder, { open: true, boot: 'an earlier one' });
  writeFileSync(join(folder, 'sql', 'global', 'pg_control'), Buffer.alloc(8_192));
  await restoreOldFolder(folder);
  assert.is(existsSync(join(folder, 'snapshots')), true, 'until the hot store has its new format');

  const { notes, ...adopted } = await adopt(folder);
  await markAdopted(folder);

  assert.equal(adopted, { ...snapshot, ...newTimeline });
});

test('an end between the new name and the removal of the snapshots is completed', async () => {
  const folder = copyOf('between');
  await adopt(folder);
  cpSync(join(template, 'snapshots'), join(folder, 'snapshots'), { recursive: true });
  writeState(folder, { open: true });

  await markAdopted(folder);

  assert.equal(readdirSync(folder), ['postgres']);
});

test('without a snapshot a broken folder is refused clearly, and nothing is deleted', async () => {
  const folder = copyOf('hopeless');
  rmSync(join(folder, 'snapshots'), { recursive: true });
  writeFileSync(join(folder, 'sql', 'global', 'pg_control'), Buffer.alloc(8_192));
  const before = readdirSync(join(folder, 'sql'), { recursive: true }).length;

  const refused = await restoreOldFolder(folder).catch((error: Error) => error.message);

  assert.match(String(refused), /no sound snapshot was found.*Nothing was deleted/);
  assert.is(readdirSync(join(folder, 'sql'), { recursive: true }).length, before);
});

test.run();
