/**
 * `rollcall ops adopt`: gives the database of DATABASE_URL to the hot store of these settings.
 *
 * For a hot store that is lost, or was replaced on purpose. Says what is lost with the former one; the next
 * start fills the new one from SQL. Stop all nodes first.
 */
import { adoptDatabase } from '../../storage/hot-owner.ts';
import { migrate } from '../../storage/sql/migrate.ts';
import type { Config } from '../config/config.ts';
import { CommandError, type Terminal } from './command.ts';
import { confirm } from './confirm.ts';
import { runWithStores } from './flush.ts';

const describeLoss = (place: string): string =>
  [
    `The database of DATABASE_URL will belong to the hot store in ${place}. Totals, votes, listings,`,
    'sessions and history stay: they are in SQL. Lost with the former hot store, unless this is a copy',
    'of it, are counts of its last seconds that it had not flushed, which visitors were counted (they',
    'count as unique once more), and the tables of shards of bots until they post again. If the former',
    'hot store is only somewhere else, nothing needs to be lost: point the settings there, or use',
    '"rollcall ops move".',
  ].join('\n');

/** Asks, unless `isConfirmed`, and adopts. Resolves to the exit code. */
export const runAdopt = async (config: Config, terminal: Terminal, isConfirmed: boolean): Promise<number> => {
  if (config.databaseUrl === '')
    throw new CommandError('The embedded stores need no adoption: one folder holds both.');
  const place = config.redisUrl.length > 0 ? 'REDIS_URL' : config.dataDir;
  if (!isConfirmed) await confirm(terminal, describeLoss(place));
  await runWithStores(config, terminal, async ({ sql, owner }) => {
    await migrate(sql);
    if (owner !== null) await adoptDatabase(sql, owner);
  });
  terminal.out.write(`The database belongs to the hot store in ${place} now. The server can be started.\n`);
  return 0;
};
