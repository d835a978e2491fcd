/**
 * Program: creates the database in the new folder in its first argument. Everything is on disk when it exits
 * with 0. With a second argument it packs the database into that folder instead (prepared.ts).
 *
 * A process of its own, because creating takes memory that only the end of the process gives back.
 */
import { rmSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { syncFolder } from './copy.ts';
import { packPrepared } from './prepared.ts';

const [directory = '', prepared] = process.argv.slice(2);

/** Small files of the log: a new one is filled with zeros while statements wait. */
const initDbStartParams = ['--wal-segsize=4'];

const parent = process.ppid;
process.once('exit', () => {
  // The parent has ended: the next start creates another one, and may have removed half of this one.
  if (process.ppid !== parent) rmSync(directory, { recursive: true, force: true });
});
rmSync(directory, { recursive: true, force: true });
const database = await PGlite.create(directory, { initDbStartParams });
// Two thirds of all files are of the databases from which others could be created.
await database.exec('update pg_database set datistemplate = false');
for (const name of ['template0', 'template1']) await database.exec(`drop database ${name}`);
await database.close();
if (prepared === undefined) await syncFolder(directory);
else {
  packPrepared(directory, prepared);
  rmSync(directory, { recursive: true });
}
