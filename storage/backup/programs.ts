/**
 * `pg_dump` and `pg_restore`: where they are, which version, and how they are run.
 *
 * Looks in the PATH and in Debian's folders for programs at least as new as the server. The password of the
 * address goes into the program's environment, never into its command line, which everybody on the machine
 * can read. Called by storage/backup/servers.ts.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { BackupError } from './manifest.ts';

export interface Programs {
  /** Ends with words of the program when it fails. */
  run(program: 'pg_dump' | 'pg_restore', words: readonly string[], signal: AbortSignal): Promise<void>;
}

const debianFolder = '/usr/lib/postgresql';

/** Folders that may hold the programs, those of the PATH first. */
const listFolders = (): readonly string[] => {
  const found = spawnSync('sh', ['-c', 'command -v pg_dump'], { encoding: 'utf8' }).stdout?.trim() ?? '';
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder) : [];
  const debian = versions.sort((left, right) => Number(right) - Number(left));
  return [
    ...(found.startsWith('/') ? [dirname(found)] : []),
    ...debian.map((name) => join(debianFolder, name, 'bin')),
  ];
};

/** Major version of the programs in a folder, 0 when they are not both there or do not run. */
const findMajor = (folder: string): number => {
  if (!['pg_dump', 'pg_restore'].every((name) => existsSync(join(folder, name)))) return 0;
  const { stdout } = spawnSync(join(folder, 'pg_dump'), ['--version'], { encoding: 'utf8' });
  return Number(/(\d+)/.exec(stdout ?? '')?.[1] ?? 0);
};

/** The programs for a server of this major version. Throws words when there are none that are new enough. */
export const findPrograms = (databaseUrl: string, serverMajor: number): Programs => {
  const found = listFolders().map((folder) => ({ folder, major: findMajor(folder) }));
  const fit = found.find(({ major }) => major >= serverMajor);
  if (fit === undefined)
    throw new BackupError(
      describeMissingPrograms(serverMajor, Math.max(0, ...found.map((one) => one.major))),
    );
  const { address, password } = splitAddress(databaseUrl);
  return {
    run: async (program, words, signal) => {
      const child = spawn(join(fit.folder, program), [...words, `--dbname=${address}`], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: {
          PATH: `${fit.folder}:/usr/bin:/bin`,
          LC_ALL: 'C',
          PGCONNECT_TIMEOUT: '10',
          PGPASSWORD: password,
        },
        signal,
      });
      const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
      if (code !== 0)
        throw new BackupError(`${program} failed: ${said.trim().slice(-1_000) || `it ended with ${code}`}`);
    },
  };
};

const describeMissingPrograms = (serverMajor: number, newest: number): string =>
  newest === 0
    ? `pg_dump and pg_restore were not found, neither in the PATH nor in ${debianFolder}. Install the ` +
      `client programs of Postgres ${serverMajor} or later (Debian: postgresql-client) and try again.`
    : `The server is Postgres ${serverMajor} and the pg_dump found here is of version ${newest}, which ` +
      `cannot read a newer server. Install the client programs of version ${serverMajor} and try again.`;

const splitAddress = (databaseUrl: string): { address: string; password: string } => {
  const url = new URL(databaseUrl);
  const password = decodeURIComponent(url.password);
  url.password = '';
  return { address: url.href, password };
};
