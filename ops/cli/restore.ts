/**
 * `rollcall ops restore DIR` restores a backup; `reflush` repairs SQL after it was restored by other
 * means.
 *
 * Contains the order of the steps and the messages. A restore never overwrites data. A hot store that is
 * older than SQL is refused and never changed. Stop all nodes before either command.
 */
import { renewGenerations } from '../../engine/flush/generations.ts';
import { listAllShards } from '../../engine/ids.ts';
import { restoreAlone } from '../../storage/backup/alone.ts';
import { restoreFolder } from '../../storage/backup/embedded.ts';
import {
  describeOlderHotStore,
  listShardsBehind,
  readNewestPositions,
  restoreServers,
} from '../../storage/backup/servers.ts';
import { beginTimeline } from '../../storage/ledger/generations.ts';
import { createLedger } from '../../storage/ledger/ledger.ts';
import type { Config } from '../config/config.ts';
import { CommandError, type Terminal } from './command.ts';
import { assertDirectory, flushToSql, runWithStores } from './flush.ts';

const newerRedisNote =
  'Redis holds counters that are newer than the backup and keeps them: the next node that starts\n' +
  'writes all totals to SQL again. Single votes, edits and sessions since the backup are lost.\n';

/** Restores the backup in `directory`, completely or not at all. Resolves to the exit code. */
export const runRestore = async (config: Config, terminal: Terminal, directory: string): Promise<number> => {
  const { manifest, hot } = await restoreStores(config, terminal, directory);
  terminal.out.write(`Restored the backup of ${manifest.takenAt}. The server can be started.\n`);
  if (hot === 'kept') terminal.err.write(newerRedisNote);
  return 0;
};

const restoreStores = async (config: Config, terminal: Terminal, directory: string) => {
  const { dataDir, databaseUrl, redisUrl } = config;
  const { signal } = terminal;
  if (redisUrl.length > 0)
    return runWithStores(config, terminal, ({ sql, hot }) =>
      restoreServers({ sql, hot, databaseUrl, signal }, directory),
    );
  if (databaseUrl === '') return { manifest: await restoreFolder(directory, dataDir), hot: 'restored' };
  return { manifest: await restoreAlone(directory, { dataDir, databaseUrl, signal }), hot: 'restored' };
};

/** Writes all totals of the hot store to SQL, on a new timeline. Resolves to the exit code. */
export const runReflush = async (config: Config, terminal: Terminal): Promise<number> => {
  await runWithStores(config, terminal, async (stores) => {
    await assertDirectory(stores);
    const behind = await listShardsBehind(stores.hot, await readNewestPositions(stores.sql));
    if (behind.length > 0) throw new CommandError(describeOlderHotStore(behind.length));
    await beginTimeline(stores.sql);
    const shards = listAllShards();
    await renewGenerations(stores.hot, createLedger(stores.sql), shards);
    await flushToSql(stores);
  });
  terminal.out.write('All totals of the hot store are in SQL.\n');
  return 0;
};
