/**
 * Finds and runs `pg_dump` and `pg_restore`.
 *
 * Searches the PATH and Debian's folders for programs at least as new as the server. The password of the URL
 * is passed in the program's environment, never on its command line, which all users of the machine can read.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { splitPassword } from '../sql/address.ts';
import { BackupError } from './manifest.ts';

/** The name of a dump in a backup. */
export const dumpName = 'database.dump';

const debianFolder = '/usr/lib/postgresql';

/** Lists folders that may have the programs, that of the PATH first. */
const listFolders = (): readonly string[] => {
  const { stdout } = spawnSync('sh', ['-c', 'command -v pg_dump'], { encoding: 'utf8' });
  const path = stdout?.trim() ?? '';
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder) : [];
  const debian = versions.sort((left, right) => Number(right) - Number(left));
  return [
    ...(path.startsWith('/') ? [dirname(path)] : []),
    ...debian.map((name) => join(debianFolder, name, 'bin')),
  ];
};

/** Finds the major version of the programs in a folder; 0 if one is missing or does not run. */
const findMajor = (folder: string): number => {
  if (!['pg_dump', 'pg_restore'].every((name) => existsSync(join(folder, name)))) return 0;
  const { stdout } = spawnSync(join(folder, 'pg_dump'), ['--version'], { encoding: 'utf8' });
  return Number(/(\d+)/.exec(stdout ?? '')?.[1] ?? 0);
};

/** Finds programs for a server of this major version. Throws a `BackupError` if none are new enough. */
export const findPrograms = (databaseUrl: string, serverMajor: number) => {
  const candidates = listFolders().map((folder) => ({ folder, major: findMajor(folder) }));
  const suitable = candidates.find(({ major }) => major >= serverMajor);
  if (suitable === undefined)
    throw new BackupError(
      describeMissingPrograms(serverMajor, Math.max(0, ...candidates.map(({ major }) => major))),
    );
  const { address, password } = splitPassword(databaseUrl);
  /** Runs a program to its end. Rejects with its error output when it fails, or as the signal says. */
  const run = async (
    program: string,
    args: readonly string[],
    { signal, settings = '' }: { readonly signal?: AbortSignal | undefined; readonly settings?: string },
  ): Promise<void> => {
    const all = ['--no-owner', '--no-acl', ...args, `--dbname=${address}`];
    const child = spawn(join(suitable.folder, program), all, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: `${suitable.folder}:/usr/bin:/bin`,
        LC_ALL: 'C',
        // All else that changes text, the programs set for themselves, but for `settings`.
        PGCLIENTENCODING: 'UTF8',
        PGOPTIONS: settings,
        PGCONNECT_TIMEOUT: '10',
        PGPASSWORD: password,
      },
      signal,
    });
    const [errorOutput, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    // A terminal's Ctrl-C ends the program, too.
    signal?.throwIfAborted();
    if (code !== 0)
      throw new BackupError(`${program} failed: ${errorOutput.trim().slice(-1_000) || `exit code ${code}`}`);
  };
  return {
    /** Dumps the database into a new file; `snapshot` names the moment. */
    dump: (file: string, { snapshot, signal }: { snapshot?: string; signal?: AbortSignal }) => {
      // pg_dump writes into the existing file, which keeps its mode.
      closeSync(openSync(file, 'wx', 0o600));
      const ofSnapshot = snapshot === undefined ? [] : [`--snapshot=${snapshot}`];
      return run('pg_dump', ['--format=custom', ...ofSnapshot, `--file=${file}`], { signal });
    },
    /** Restores all of a dump, or nothing. */
    restore: async (file: string, signal: AbortSignal): Promise<void> => {
      const restore = (settings: string) =>
        run('pg_restore', ['--exit-on-error', '--single-transaction', file], { signal, settings });
      await restore('-c array_nulls=on').catch((error) => {
        // A pooler may refuse settings.
        if (!/startup parameter/.test(String(error))) throw error;
        return restore('');
      });
    },
  };
};

const describeMissingPrograms = (serverMajor: number, newest: number): string =>
  newest === 0
    ? `pg_dump and pg_restore were not found, neither in the PATH nor in ${debianFolder}. Install the ` +
      `client programs of Postgres ${serverMajor} or later (Debian: postgresql-client) and try again.`
    : `The server is Postgres ${serverMajor}, but the pg_dump found here has version ${newest}, which ` +
      `cannot dump a newer server. Install the client programs of version ${serverMajor} and try again.`;
