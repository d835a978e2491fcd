/**
 * A migrated, empty database for a test, copied from one that was made once.
 *
 * Making one takes 3 s of processor time, copying it 0.1 s. The runners name a folder of their run in
 * `ROLLCALL_TEST_CACHE` and remove it at their end; a file that runs alone has none, and makes its database
 * itself. Copies are made of closed databases only.
 */
import { createHash } from 'node:crypto';
import { constants, cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getSharedFolder, makeOnce } from '../../bench/shared/shared-folder.ts';
import { toDatabaseFolder } from '../../storage/embedded/open.ts';
import { type EmbeddedSql, openEmbeddedSql } from '../../storage/embedded/pglite.ts';
import { migrate } from '../../storage/sql/migrate.ts';

const migrations = fileURLToPath(new URL('../../storage/sql/migrations/', import.meta.url));
const pglite = fileURLToPath(new URL('../package.json', import.meta.resolve('@electric-sql/pglite')));

/** Changes with the schema and with PGlite: runners of different trees may share a folder. */
const templateName = (): string => {
  const digest = createHash('sha256').update(readFileSync(pglite));
  for (const file of readdirSync(migrations).sort()) {
    digest.update(`\n${file}\n`).update(readFileSync(join(migrations, file)));
  }
  return `sql-${digest.digest('hex').slice(0, 16)}`;
};

const openFresh = async (directory: string): Promise<EmbeddedSql> => {
  const embedded = await openEmbeddedSql({ directory });
  await migrate(embedded.sql);
  return embedded;
};

const makeFresh = async (directory: string): Promise<void> => (await openFresh(directory)).close();

const copyTemplate = async (shared: string, directory: string): Promise<void> => {
  const template = join(shared, templateName());
  await makeOnce(template, makeFresh);
  mkdirSync(dirname(directory), { recursive: true });
  cpSync(template, directory, { recursive: true, mode: constants.COPYFILE_FICLONE });
};

/** Opens a database with the newest schema and no rows in `directory`, which must not exist. */
export const openMigratedSql = async (directory: string): Promise<EmbeddedSql> => {
  const shared = getSharedFolder();
  if (shared === null) return openFresh(directory);
  await copyTemplate(shared, directory);
  return openEmbeddedSql({ directory });
};

/** Leaves such a database in `directory`, closed. */
export const makeSqlFolder = async (directory: string): Promise<void> => {
  const shared = getSharedFolder();
  if (shared === null) await makeFresh(directory);
  else await copyTemplate(shared, directory);
};

/** A data folder as a node without a directory leaves it when it ends well, but for the hot store. */
export const makeBareFolder = (dataDir: string): Promise<void> => makeSqlFolder(toDatabaseFolder(dataDir));
