/**
 * Runs tests of the embedded stores on `DATABASE_URL` alone: with `ALONE_SERVER`, the address of a Postgres
 * server, each data folder has its SQL in a database of that server instead. Set by the test files that
 * import such tests; without it nothing here does anything.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const findServer = (): string => process.env.ALONE_SERVER ?? '';

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

/** A pooler keeps connections of processes that have ended, and a template may have none. */
const endSessions = (database: string): void => {
  const end = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`;
  execFileSync(findProgram('psql'), [findServer(), '--quiet', '--command', end], { stdio: 'ignore' });
};

/** Makes the database of a folder, a copy of another's or empty. Returns whether there is a server. */
export const makeDatabase = (dataDir: string, from: string | null = null): boolean => {
  if (findServer() === '') return false;
  const name = nameDatabase(dataDir);
  const server = `--maintenance-db=${findServer()}`;
  execFileSync(findProgram('dropdb'), [server, '--if-exists', '--force', name]);
  const template = from === null ? [] : [`--template=${nameDatabase(from)}`];
  if (from !== null) endSessions(nameDatabase(from));
  execFileSync(findProgram('createdb'), [server, ...template, name]);
  return true;
};
