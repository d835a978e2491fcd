/**
 * Starts Rollcall as any operator does, on the stores of the run, with a directory imported before.
 *
 * Two documented settings differ from the defaults: the loopback is a trusted proxy, so that visitors have
 * addresses, and a vote counts once on every day of the week.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ImportRecord } from '../../storage/import/kinds.ts';
import { type Directory, toImportLines } from '../scenarios/directory.ts';
import { runProgram, type ServerProcess, startServer } from './process.ts';

const settings = {
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_HOST: '127.0.0.1',
  ADMIN_PORT: '0',
  PUBLIC_URL: '',
  DEMO: 'off',
  LOG_LEVEL: 'warn',
  LOG_FORMAT: 'text',
};
/** The settings in which the measured server differs from the defaults; the report names them. */
export const changedSettings = {
  TRUSTED_PROXIES: '127.0.0.1',
  // By default it is 2 from Friday to Sunday: two rows for each vote, where the other servers write one.
  VOTES_PER_WEEKEND_REQUEST: '1',
};

export const createFolder = () => {
  const path = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  // Also an interrupted run leaves nothing behind.
  process.once('exit', remove);
  return {
    path,
    /** The node's DATA_DIR. */
    dataDir: join(path, 'data'),
    remove: (): void => {
      process.off('exit', remove);
      remove();
    },
  };
};
export type Folder = ReturnType<typeof createFolder>;

/** How Rollcall is started on stores: by this checkout's program, or by that of another. */
export interface Installation {
  readonly folder: Folder;
  /** `REDIS_URL` and `DATABASE_URL`, both empty for the embedded stores. */
  readonly stores: Readonly<Record<string, string>>;
  /** The `ops/bin/rollcall` of another checkout. */
  readonly program?: string | undefined;
}

const buildSettings = ({ folder, stores }: Installation) => ({
  ...{ ...settings, ...stores, ...changedSettings, DATA_DIR: folder.dataDir },
});

/** Imports the directory and `more` records, as an operator does. */
export const importDirectory = async (
  installation: Installation,
  directory: Directory,
  more: readonly ImportRecord[] = [],
): Promise<void> => {
  const { folder, program } = installation;
  const file = join(folder.path, 'directory.jsonl');
  const lines = more.map((record) => `${JSON.stringify(record)}\n`);
  writeFileSync(file, toImportLines(directory) + lines.join(''));
  const [cli, words] = program ? [program, ['ops']] : ['../../ops/cli/main.ts', []];
  await runProgram({ file: cli, args: [...words, 'import', file], settings: buildSettings(installation) });
};

/** Starts the server on the existing stores; `more` are settings beside those of every measured server. */
export const startOn = (
  installation: Installation,
  more: Readonly<Record<string, string>>,
  /** The folder for its CPU profile; `null`: none. */
  profileDir: string | null,
): Promise<ServerProcess> =>
  startServer({
    file: installation.program ?? '../../ops/main.ts',
    args: installation.program ? ['start'] : [],
    settings: { ...buildSettings(installation), ...more },
    nodeArgs: profileDir === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`],
  });

/** Starts the bare server, with sizes of its answers as settings. */
export const startBare = (sizes: Readonly<Record<string, string>> = {}): Promise<ServerProcess> =>
  startServer({ file: '../programs/bare.ts', settings: sizes });
