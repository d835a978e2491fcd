/**
 * Brings the schema up to date: applies the numbered files in migrations/ in order, in one transaction.
 *
 * The first node to start migrates; the others wait for an advisory lock. An applied file must never change:
 * a changed one stops the start with a message. A file either expands the schema (older programs keep
 * working) or is named `NNN.do.contract-….sql` and removes what no program since the last release uses: older
 * programs start after the first kind and refuse the second. If nothing is missing, one statement finds that
 * out.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Queryable, Sql } from './client.ts';
import { toStorageError } from './errors.ts';
import { locks } from './locks.ts';
import { hasTable } from './rows.ts';

const folder = fileURLToPath(new URL('./migrations/', import.meta.url));
const schemaTable = 'schema_versions';
/** Name prefix of migrations that older programs cannot work with. */
const contractPrefix = 'contract-';

/** A schema that this version cannot work with; the message is for the operator. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}

interface SchemaFile {
  readonly version: number;
  readonly name: string;
  readonly md5: string;
}

/** Computes the checksum as postgrator does with `newline: 'LF'`. */
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

/** Throws when a newer program has removed something that this one needs. */
const refuseContracted = (applied: readonly AppliedFile[], known: number): void => {
  const contracted = applied.find(({ version, name }) => version > known && name?.startsWith(contractPrefix));
  if (contracted === undefined) return;
  const move = /^contract-(\w+)-\w+ (.*)$/.exec(contracted.name ?? '');
  if (move !== null) throw new SchemaError(describeMove(move[1] as string, move[2] as string));
  throw new SchemaError(
    `The database has schema version ${applied.at(-1)?.version}, this program knows ${known}, and version ` +
      `${contracted.version} (${contracted.name}) took away what this program needs: the database was used ` +
      'by a newer version of Rollcall. Start that version, or restore a backup made before the upgrade.',
  );
};

/** Marks of storage/move/marks.ts. */
const describeMove = (state: string, place: string): string => {
  if (state === 'moved') return `This directory was moved ${place}: start with the settings of those stores.`;
  const half = state === 'moving' ? 'is being moved' : 'is receiving a directory';
  return (
    `This directory ${half} ${place}. If "rollcall ops move" was interrupted, give the same command again, ` +
    'or open the former stores with "rollcall ops move --undo".'
  );
};

/** Lists files not applied yet. Throws a message for the operator if history and files disagree. */
const compareWithHistory = async (sql: Queryable, files: readonly SchemaFile[]): Promise<SchemaFile[]> => {
  if (!(await hasTable(sql, schemaTable))) return [...files];
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
    // Waiting for another node's migration, and this one itself, may take any time.
    await transaction`set local lock_timeout = 0`;
    await transaction`set local statement_timeout = 0`;
    await transaction`select pg_advisory_xact_lock(${locks.migrations})`;
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

/** The SQLSTATE of a role without a right. */
const lacksRight = '42501';
const describeRight = (error: unknown): string =>
  `DATABASE_URL: its role may not create or change tables (${(error as Error).message}). Make it the owner ` +
  'of the database and of all tables in it: alter database NAME owner to ROLE.';

/**
 * Brings the schema up to date and resolves to the number of files applied. Safe to call from many nodes at
 * once. Rejects with a `SchemaError` for the operator, or a `StorageError`.
 */
export const migrate = async (sql: Sql, directory: string = folder): Promise<number> => {
  try {
    const files = readFiles(directory);
    const missing = await compareWithHistory(sql, files);
    if (missing.length > 0) await applyMissing(sql, directory);
    return missing.length;
  } catch (error) {
    if ((error as { code?: unknown }).code === lacksRight) throw new SchemaError(describeRight(error));
    throw error instanceof SchemaError ? error : toStorageError('migrate', error);
  }
};
