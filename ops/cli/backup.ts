/**
 * `npm run ops -- backup DIR`: a copy of everything that SQL and, embedded, the hot store hold.
 *
 * Owns the order of the steps and the words; what a backup is lies in storage/backup/. It appears under its
 * name when it is complete and was read again. Embedded stores are copied at rest, so the server is stopped;
 * servers are copied while nodes count on.
 */
import { resolve } from 'node:path';
import { backupFolder, holdsDirectory } from '../../storage/backup/embedded.ts';
import { assertNewFolder } from '../../storage/backup/manifest.ts';
import { backupServers } from '../../storage/backup/servers.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { CommandError, type Terminal } from './command.ts';
import { assertDirectory, flushToSql, withStores } from './flush.ts';

/** Resolves to the exit code. */
export const runBackup = async (config: Config, terminal: Terminal, directory: string): Promise<number> => {
  assertNewFolder(directory);
  if (config.databaseUrl === '') await backupEmbedded(config, terminal, directory);
  else await backupShared(config, terminal, directory);
  terminal.out.write(`The backup is in ${directory}. It holds secrets: keep it private.\n`);
  return 0;
};

const nowText = (): string => new Date(systemClock.nowMs()).toISOString();

const backupShared = (config: Config, terminal: Terminal, directory: string): Promise<void> =>
  withStores(config, terminal, async (stores) => {
    await assertDirectory(stores);
    await flushToSql(stores);
    const { sql, hot } = stores;
    const servers = { sql, hot, databaseUrl: config.databaseUrl, signal: terminal.signal };
    await backupServers(servers, directory, nowText());
  });

const backupEmbedded = async (config: Config, terminal: Terminal, directory: string): Promise<void> => {
  const { dataDir } = config;
  if (!holdsDirectory(dataDir))
    throw new CommandError(`There is no directory in ${resolve(dataDir)}. Say where it is with DATA_DIR.`);
  await withStores(config, terminal, async (stores) => {
    await assertDirectory(stores);
    await flushToSql(stores);
  });
  await backupFolder(dataDir, directory, nowText());
};
