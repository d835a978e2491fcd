/**
 * `npm run ops -- restore DIR` and `reflush`: the way back from a backup, and from a database that was
 * brought back by other means.
 *
 * Owns the order of the steps and the words. A restore never writes over anything; a hot store that is older
 * than SQL is refused, never written back. Both are for stopped nodes.
 */
import { renewGenerations } from '../../engine/flush/generations.ts';
import { allShards } from '../../engine/ids.ts';
import { listShardsBehind, readNewestPositions } from '../../storage/backup/age.ts';
import { restoreFolder } from '../../storage/backup/embedded.ts';
import { describeOlderHotStore, restoreServers } from '../../storage/backup/servers.ts';
import { beginTimeline } from '../../storage/ledger/generations.ts';
import { createLedger } from '../../storage/ledger/ledger.ts';
import type { Config } from '../config.ts';
import { CommandError, type Terminal } from './command.ts';
import { assertDirectory, flushToSql, runWithStores } from './flush.ts';

const keptWords =
  'Redis holds counters that are newer than the backup. They were kept: the next node that starts\n' +
  'writes all totals to SQL anew. Missing are the rows of votes, the edits and the sessions made since\n' +
  'the backup.\n';

/** Resolves to the exit code. */
export const runRestore = async (config: Config, terminal: Terminal, directory: string): Promise<number> => {
  const { manifest, hot } =
    config.databaseUrl === ''
      ? { manifest: await restoreFolder(directory, config.dataDir), hot: 'restored' }
      : await restoreShared(config, terminal, directory);
  terminal.out.write(`Restored the backup of ${manifest.takenAt}. The server can be started.\n`);
  if (hot === 'kept') terminal.err.write(keptWords);
  return 0;
};

const restoreShared = (config: Config, terminal: Terminal, directory: string) =>
  runWithStores(config, terminal, ({ sql, hot }) =>
    restoreServers({ sql, hot, databaseUrl: config.databaseUrl, signal: terminal.signal }, directory),
  );

/** Resolves to the exit code. */
export const runReflush = async (config: Config, terminal: Terminal): Promise<number> => {
  await runWithStores(config, terminal, async (stores) => {
    await assertDirectory(stores);
    const behind = await listShardsBehind(stores.hot, await readNewestPositions(stores.sql));
    if (behind.length > 0) throw new CommandError(describeOlderHotStore(behind.length));
    await beginTimeline(stores.sql);
    await renewGenerations(stores.hot, createLedger(stores.sql), allShards);
    await flushToSql(stores);
  });
  terminal.out.write('All totals of the hot store are in SQL.\n');
  return 0;
};
