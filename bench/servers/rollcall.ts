/**
 * Rollcall as anybody starts it, on embedded stores in a folder of its own, with a directory imported
 * before.
 *
 * Only documented settings are changed: the stats limit is raised (a load of few bots would be refused by
 * design), and the loopback is a trusted proxy, so that visitors have addresses.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Directory, importLinesOf } from './directory.ts';
import { runProgram, type ServerProcess, startServer } from './process.ts';

const settings = {
  HOST: '127.0.0.1',
  PORT: '0',
  ADMIN_HOST: '127.0.0.1',
  ADMIN_PORT: '0',
  PUBLIC_URL: '',
  REDIS_URL: '',
  DATABASE_URL: '',
  DEMO: 'off',
  LOG_LEVEL: 'warn',
};
/** Where the measured server differs from one that was started with nothing set; the report names them. */
export const changedSettings = {
  STATS_POSTS_PER_SECOND: '1000000',
  STATS_POSTS_BURST: '1000000',
  TRUSTED_PROXIES: '127.0.0.1',
};

export interface Folder {
  readonly path: string;
  remove(): void;
}

export const createFolder = (): Folder => {
  const path = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
};

/** Imports the directory and starts the server on it. `profileDir`: where it leaves its CPU profile. */
export const startRollcall = async (
  folder: Folder,
  directory: Directory,
  profileDir: string | null,
): Promise<ServerProcess> => {
  const file = join(folder.path, 'directory.jsonl');
  const own = { ...settings, ...changedSettings, DATA_DIR: join(folder.path, 'data') };
  writeFileSync(file, importLinesOf(directory));
  await runProgram({ file: '../../ops/cli/main.ts', words: ['import', file], settings: own });
  const nodeWords = profileDir === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
  return startServer({ file: '../../ops/main.ts', settings: own, nodeWords });
};

/** The limit to compare with, answering with bodies of the given size. */
export const startBare = (bodyBytes: number): Promise<ServerProcess> =>
  startServer({ file: './bare.ts', settings: { BODY_BYTES: String(bodyBytes) } });
