/**
 * Brings the schema up to date: numbered files in migrations/, applied in order, all in one transaction.
 *
 * Whoever starts first migrates; the others wait at an advisory lock. A file that was applied is never
 * changed again: a changed one stops the start with words. A file either expands (programs that do not know
 * it work on) or is named `NNN.do.contract-….sql` and takes away what no program since the last release
 * uses: older programs start on the first kind and refuse the second. When there is nothing to do, one
 * statement tells so. Called by the composition root and by tests, right after the store is opened.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Queryable, Sql } from './client.ts';
import { toStorageError } from './errors.ts';

const folder = fileURLToPath(new URL('./migrations/', import.meta.url));
const schemaTable = 'schema_versions';
/** How the name of a migration begins that programs from before it cannot work with. */
const contractPrefix = 'contract-';
/** Any constant will do: the lock that says "I am migrating". */
const lockNumber = 722_501_001;

/** A schema that this version cannot work with; the message is for the operator. */
export class SchemaError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SchemaError';
  }
}

interface SchemaFile {
  readonly version: number;
  readonly name: string;
  readonly md5: string;
}

/** As postgrator reckons it with `newline: 'LF'`. */
const computeChecksum = (text: string): string =>
  createHash('md5').update(text.replaceAll(/\r\n?/g, '\n'), 'utf8').digest('hex');

const readFiles = (directory: string): SchemaFile[] =>
  readdirSync(directory)
    .filter((file) => file.endsWith('.sql') && file.split('.')[1] === 'do')
    .map((file) => {
      const text = readFileSync(join(directory, file), 'utf8');
      return { version: Number.parseInt(file, 10), name: file, md5: computeChecksum(text) };
    })
    .sort((left, right) => left.version - right.version);

interface AppliedFile {
  readonly version: number;
  readonly name: string | null;
  readonly md5: string | null;
}

/** Throws words when a newer program has taken something away that this one needs. */
const refuseContracted = (applied: readonly AppliedFile[], known: number): void => {
  const contracted = applied.find(({ version, name }) => version > known && name?.startsWith(contractPrefix));
  if (contracted === undefined) return;
  throw new SchemaError(
    `The database has schema version ${applied.at(-1)?.version}, this program knows ${known}, and version ` +
      `${contracted.version} (${contracted.name}) took away what this program needs: the database was used ` +
      'by a newer version of Rollcall. Start that version, or restore a backup made before the upgrade.',
  );
};

/** Files not applied yet. Throws words for the operator when history and files disagree. */
const compareWithHistory = async (sql: Queryable, files: readonly SchemaFile[]): Promise<SchemaFile[]> => {
  const [present] = await sql<{ found: boolean }[]>`select to_regclass(${schemaTable}) is not null as found`;
  if (!present?.found) return [...files];
  const rows = await sql<AppliedFile[]>`
    select version, name, md5 from ${sql(schemaTable)} where version > 0 order by version`;
  const applied = new Map(rows.map((row) => [row.version, row.md5]));
  refuseContracted(rows, files.at(-1)?.version ?? 0);
  for (const file of files) {
    const md5 = applied.get(file.version);
    if (md5 && md5 !== file.md5) {
      throw new SchemaError(
        `Migration ${file.name} was changed after it had been applied to this database. ` +
          'Restore the file as it was released, and put the change into a new, higher numbered file.',
      );
    }
  }
  return files.filter((file) => !applied.has(file.version));
};

/** Applies what is missing. Files and their records are one transaction, so a kill leaves all or nothing. */
const applyMissing = async (sql: Sql, directory: string): Promise<void> => {
  const { default: Postgrator } = await import('postgrator');
  await sql.begin(async (transaction) => {
    // Another node's migration, and ours, may take as long as it takes.
    await transaction`set local lock_timeout = 0`;
    await transaction`set local statement_timeout = 0`;
    await transaction`select pg_advisory_xact_lock(${lockNumber})`;
    const postgrator = new Postgrator({
      driver: 'pg',
      migrationPattern: join(directory, '*.do.*.sql').replaceAll('\\', '/'),
      schemaTable,
      newline: 'LF',
      execQuery: async (query: string) => ({ rows: await transaction.unsafe(query) }),
    });
    await postgrator.migrate();
  });
};

/**
 * Brings the schema up to date and resolves to the number of files applied. Safe to call from many nodes at
 * once. Throws `SchemaError` with words for the operator, or a `StorageError`.
 */
export const migrate = async (sql: Sql, directory: string = folder): Promise<number> => {
  try {
    const files = readFiles(directory);
    const missing = await compareWithHistory(sql, files);
    if (missing.length > 0) await applyMissing(sql, directory);
    return missing.length;
  } catch (error) {
    throw error instanceof SchemaError ? error : toStorageError('migrate', error);
  }
};
