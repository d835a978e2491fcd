/**
 * Program: creates the database in the new folder in its argument. Everything is on disk when it exits with
 * 0.
 *
 * A process of its own, because creating takes memory that only the end of the process gives back.
 */
import { PGlite } from '@electric-sql/pglite';
import { syncFolder } from './copy.ts';

const directory = process.argv[2] ?? '';

/** Small files: a new one is filled with zeros while statements wait. */
const initDbStartParams = ['--wal-segsize=4'];

const database = await PGlite.create(directory, { initDbStartParams });
// Two thirds of all files are of the databases from which others could be created.
await database.exec('update pg_database set datistemplate = false');
for (const name of ['template0', 'template1']) await database.exec(`drop database ${name}`);
await database.close();
await syncFolder(directory);
