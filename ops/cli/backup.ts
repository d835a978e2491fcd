/**
 * `npm run ops -- backup DIR`: copies all data of SQL and, with embedded stores, of the hot store.
 *
 * Contains the order of the steps and the messages; storage/backup/ does the copying. The folder gets its
 * name when the copy is complete and verified. Embedded stores can be copied only while the server is
 * stopped; Redis and Postgres are backed up while nodes run.
 */
import { resolve } from 'node:path';
import { backupFolder, hasDirectory } from '../../storage/backup/embedded.ts';
import { assertNewFolder } from '../../storage/backup/manifest.ts';
import { backupServers } from '../../storage/backup/servers.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { CommandError, type Terminal } from './command.ts';
import { assertDirectory, flushToSql, runWithStores } from './flush.ts';

/** Flushes, then writes the backup. Resolves to the exit code. */
export const runBackup = async (config: Config, terminal: Terminal, directory: string): Promise<number> => {
  assertNewFolder(directory);
  if (config.databaseUrl === '') await backupEmbedded(config, terminal, directory);
  else await backupShared(config, terminal, directory);
  terminal.out.write(`The backup is in ${directory}. It contains secrets: keep it private.\n`);
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
    throw new CommandError(`There is no directory in ${resolve(dataDir)}. Set DATA_DIR to its folder.`);
  await runWithStores(config, terminal, async (stores) => {
    await assertDirectory(stores);
    await flushToSql(stores);
  });
  await backupFolder(dataDir, directory, formatNow());
};
