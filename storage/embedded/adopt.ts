/**
 * Takes over a data folder of a version whose embedded database did not sync.
 *
 * Such a folder has `sql/`, verified copies of it in `snapshots/`, and `sql.state.json` with how the last
 * process left it. First everything is read if the database may lack changes, and a snapshot is restored if
 * something is torn. Then every file is synced once. Only after the hot store has its new format, which that
 * version refuses, does the folder become `postgres/`, and only then are the snapshots deleted. Each step
 * may be repeated.
 */
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createNotAppliedError, toMessage } from '../../engine/errors.ts';
import { beginTimeline } from '../ledger/generations.ts';
import type { Sql } from '../sql/client.ts';
import { hasTable } from '../sql/rows.ts';
import { type PackContents, syncFolder, syncPath, unpack } from './copy.ts';
import { readBootId } from './lock-file.mjs';
import { describeLoss, toDatabaseFolder } from './open.ts';
import { openEmbeddedSql } from './pglite.ts';

const toOldFolder = (dataDirectory: string) => ({
  dataDirectory,
  database: join(dataDirectory, 'sql'),
  snapshots: join(dataDirectory, 'snapshots'),
  state: join(dataDirectory, 'sql.state.json'),
});
type OldFolder = ReturnType<typeof toOldFolder>;

/** Lists the names of finished snapshots, newest first. */
const listSnapshots = ({ snapshots }: OldFolder): readonly string[] =>
  existsSync(snapshots)
    ? readdirSync(snapshots)
        .filter((name) => existsSync(join(snapshots, name, 'manifest.json')) && !name.endsWith('.new'))
        .sort()
        .reverse()
    : [];

/** Whether the folder has a database that another version wrote. */
export const isOldFolder = (dataDirectory: string): boolean => {
  if (existsSync(toDatabaseFolder(dataDirectory))) return false;
  const folder = toOldFolder(dataDirectory);
  return existsSync(folder.database) || listSnapshots(folder).length > 0;
};

/**
 * Whether the database may be torn or lack its newest changes: the machine stopped while it was open, or a
 * snapshot was put in its place. Also true if this is not known.
 */
const isSuspect = ({ state }: OldFolder): boolean => {
  try {
    const { open, older, boot } = JSON.parse(readFileSync(state, 'utf8'));
    return older === true || (open && (boot === '' || boot !== readBootId()));
  } catch {
    return true;
  }
};

/** Records that the database is older: if this process dies before the end, the next one must know it. */
const noteOlder = ({ state }: OldFolder): void =>
  writeFileSync(state, JSON.stringify({ open: true, older: true, boot: readBootId() }), { flush: true });

/** More than the generations that a hot store may have and the database has lost. */
const generationsSkipped = 1_000;

/**
 * Begins a timeline, and a generation that no hot store has: the next start writes all totals again. Does
 * nothing in a database without a directory.
 */
const noteLostTail = async (sql: Sql): Promise<void> => {
  if (!(await hasTable(sql, 'generations'))) return;
  await beginTimeline(sql);
  await sql`
    insert into generations as known (shard, generation) select 0, 1 where exists (select from totals)
    on conflict do nothing`;
  await sql`update generations set generation = generation + ${generationsSkipped}::bigint`;
};

const openAndCheck = async ({ database }: OldFolder, suspect: boolean): Promise<void> => {
  const embedded = await openEmbeddedSql({ directory: database });
  try {
    await embedded.sql`select count(*) from pg_class`;
    if (suspect) {
      await readAll(embedded.sql);
      await noteLostTail(embedded.sql);
    }
  } finally {
    await embedded.close();
  }
};

/** Puts the snapshot in the place of the database. Resolves to where the broken one is, `''` for none. */
const restoreSnapshot = async (folder: OldFolder, name: string): Promise<string> => {
  const snapshot = join(folder.snapshots, name);
  const manifest = JSON.parse(readFileSync(join(snapshot, 'manifest.json'), 'utf8'));
  const draft = `${folder.database}.new`;
  await rm(draft, { recursive: true, force: true });
  await unpack(join(snapshot, 'files.pack'), manifest.contents as PackContents, draft);
  await syncFolder(draft);
  const aside = existsSync(folder.database) ? `${folder.database}.broken-${Date.now()}` : '';
  if (aside) renameSync(folder.database, aside);
  renameSync(draft, folder.database);
  await syncPath(folder.dataDirectory, true);
  return aside;
};

/** Tries the snapshots, newest first. Throws a message for the operator when none can be used. */
const restore = async (folder: OldFolder, why: string): Promise<string> => {
  const tried: string[] = [];
  noteOlder(folder);
  for (const name of listSnapshots(folder)) {
    try {
      const aside = await restoreSnapshot(folder, name);
      await openAndCheck(folder, true);
      return (
        `The database in ${folder.database} could not be used (${why}). The snapshot ${name} was put in ` +
        'its place: edits and vote rows written since then are missing; counters are written again from ' +
        `the hot store.${aside ? ` The broken folder is now ${aside}.` : ''}`
      );
    } catch (error) {
      tried.push(`snapshot ${name}: ${toMessage(error)}`);
    }
  }
  throw createNotAppliedError(
    'open',
    'unreachable',
    `The database in ${folder.database} could not be used (${why}) and no sound snapshot was found in ` +
      `${folder.snapshots}${tried.length > 0 ? ` (${tried.join('; ')})` : ''}. ` +
      describeLoss(folder.dataDirectory),
  );
};

/**
 * Makes the old database whole and durable under its old name. Resolves to notes for the operator. Rejects
 * with a `StorageError` for the operator when neither the database nor a snapshot can be used.
 */
export const restoreOldFolder = async (dataDirectory: string): Promise<readonly string[]> => {
  const folder = toOldFolder(dataDirectory);
  const notes: string[] = [];
  if (!existsSync(folder.database)) {
    notes.push(await restore(folder, 'the folder is missing'));
  } else {
    const suspect = isSuspect(folder);
    if (suspect) notes.push(lostTailNote);
    await openAndCheck(folder, suspect).catch(async (error: unknown) => {
      notes.splice(0, notes.length, await restore(folder, toMessage(error)));
    });
  }
  await syncFolder(folder.database);
  return notes;
};

const lostTailNote =
  'The database may lack its newest changes: the machine stopped while a version that did not sync had it ' +
  'open, or a snapshot was put in its place. Every row was read and none is damaged. ' +
  'Counters are written again from the hot store.';

/** Gives the database its new name, then deletes the snapshots. Does nothing in any other folder. */
export const markAdopted = async (dataDirectory: string): Promise<void> => {
  const folder = toOldFolder(dataDirectory);
  if (isOldFolder(dataDirectory)) renameSync(folder.database, toDatabaseFolder(dataDirectory));
  else if (!existsSync(folder.state)) return;
  await syncPath(dataDirectory, true);
  await rm(folder.snapshots, { recursive: true, force: true });
  await rm(folder.state, { force: true });
  await syncPath(dataDirectory, true);
};

interface Table {
  readonly name: string;
  /** Columns of the primary key, quoted for SQL; `''` for none. */
  readonly key: string;
}

const listTables = (sql: Sql) => sql<Table[]>`
  select pg_class.oid::regclass::text as name, coalesce((
    select string_agg(quote_ident(attname), ', ' order by array_position(indkey::int[], attnum::int))
    from pg_index join pg_attribute on attrelid = indrelid and attnum = any(indkey)
    where indrelid = pg_class.oid and indisprimary), '') as key
  from pg_class where relkind = 'r' and relpersistence = 'p'`;

/** Reads every row of every table twice: in table order and by primary key. Rejects at the first damage. */
export const readAll = async (sql: Sql): Promise<void> => {
  for (const { name, key } of await listTables(sql)) {
    await sql.unsafe(`select count(*) from ${name}`);
    if (key === '') continue;
    await sql.begin(async (transaction) => {
      await transaction`set local enable_seqscan = off`;
      await transaction`set local enable_bitmapscan = off`;
      await transaction`set local enable_indexonlyscan = off`;
      await transaction.unsafe(`select count(*) from (select * from ${name} order by ${key}) as all_rows`);
    });
  }
};
