/**
 * `npm run ops -- backup DIR`: a copy of everything that SQL and, embedded, the hot store hold.
 *
 * Owns the order of the steps and the words; what a backup is lies in storage/backup/. It appears under its
 * name when it is complete and was read again. Embedded stores are copied at rest, so the server is stopped;
 * servers are copied while nodes count on.
 */
import { resolve } from 'node:path';
import { backupFolder, hasDirectory } from '../../storage/backup/embedded.ts';
import { assertNewFolder } from '../../storage/backup/manifest.ts';
import { backupServers } from '../../storage/backup/servers.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { CommandError, type Terminal } from './command.ts';
import { assertDirectory, flushToSql, runWithStores } from './flush.ts';

/** Resolves to the exit code. */
export const runBackup = async (config: Config, terminal: Terminal, directory: string): Promise<number> => {
  assertNewFolder(directory);
  if (config.databaseUrl === '') await backupEmbedded(config, terminal, directory);
  else await backupShared(config, terminal, directory);
  terminal.out.write(`The backup is in ${directory}. It holds secrets: keep it private.\n`);
  return 0;
};

const formatNow = (): string => new Date(systemClock.nowMs()).toISOString();

const backupShared = (config: Config, terminal: Terminal, directory: string): Promise<void> =>
  runWithStores(config, terminal, async (stores) => {
    await assertDirectory(stores);
    await flushToSql(stores);
    const { sql, hot } = stores;
    const servers = { sql, hot, databaseUrl: config.databaseUrl, signal: terminal.signal };
    await backupServers(servers, directory, formatNow());
  });

const backupEmbedded = async (config: Config, terminal: Terminal, directory: string): Promise<void> => {
  const { dataDir } = config;
  if (!hasDirectory(dataDir))
    throw new CommandError(`There is no directory in ${resolve(dataDir)}. Say where it is with DATA_DIR.`);
  await runWithStores(config, terminal, async (stores) => {
    await assertDirectory(stores);
    await flushToSql(stores);
  });
  await backupFolder(dataDir, directory, formatNow());
};
