/**
 * Runs tests of the embedded stores on `DATABASE_URL` alone: with `ALONE_SERVER`, the address of a Postgres
 * server, each data folder has its SQL in a database of that server instead. Set by the test files that
 * import such tests; without it nothing here does anything.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeChange } from '../../bench/shared/other-settings.ts';

const findServer = (): string => process.env.ALONE_SERVER ?? '';

/** The database that no test changes. */
const findMaintenance = (): string => findServer().replace(/[^/]*$/, 'postgres');

const nameDatabase = (dataDir: string): string =>
  `alone_${createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 16)}`;

const findProgram = (name: string): string => {
  const folder = '/usr/lib/postgresql';
  const versions = existsSync(folder) ? readdirSync(folder) : [];
  return versions.map((version) => join(folder, version, 'bin', name)).find(existsSync) ?? name;
};

/** What a process on the folder needs: nothing on the embedded stores. */
export const findDatabase = (dataDir: string): { readonly DATABASE_URL?: string } => {
  const server = findServer();
  if (server === '') return {};
  const url = new URL(server);
  url.pathname = `/${nameDatabase(dataDir)}`;
  return { DATABASE_URL: url.href };
};

const runStatement = (statement: string): void => {
  execFileSync(findProgram('psql'), [findMaintenance(), '--quiet', '--command', statement], {
    stdio: 'ignore',
  });
};

/** A pooler keeps connections of processes that have ended, and a template may have none. */
const endSessions = (database: string): void =>
  runStatement(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`);

/** Makes the database of a folder, a copy of another's or empty. Returns whether there is a server. */
export const makeDatabase = (dataDir: string, from: string | null = null): boolean => {
  if (findServer() === '') return false;
  const name = nameDatabase(dataDir);
  const server = `--maintenance-db=${findMaintenance()}`;
  execFileSync(findProgram('dropdb'), [server, '--if-exists', '--force', name]);
  const template = from === null ? [] : [`--template=${nameDatabase(from)}`];
  if (from !== null) endSessions(nameDatabase(from));
  execFileSync(findProgram('createdb'), [server, ...template, name]);
  if (process.env.SETTINGS === 'other') runStatement(writeChange(name));
  return true;
};
