/**
 * Opens the stores for maintenance commands, and flushes the hot store to SQL.
 *
 * A flush is idempotent, so nodes may run and flush at the same time.
 */
import { resolve } from 'node:path';
import { toMessage } from '../../engine/errors.ts';
import { createFlusher } from '../../engine/flush/flusher.ts';
import { reconcileGenerations } from '../../engine/flush/generations.ts';
import { listAllShards } from '../../engine/ids.ts';
import { createMetrics } from '../../http/telemetry/metrics.ts';
import { hasDirectory } from '../../storage/backup/embedded.ts';
import { createLedger } from '../../storage/ledger/ledger.ts';
import { openStores, type Stores } from '../../storage/open.ts';
import { prepareStores } from '../../storage/prepare.ts';
import { hasTable } from '../../storage/sql/rows.ts';
import { commandSilenceMaxMs } from '../../storage/sql/server.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { readVersion } from '../version.ts';
import { CommandError, type Terminal } from './command.ts';

const flushMsMax = 600_000;

/** Opens the configured stores for one task and closes them after it. Does not prepare them. */
export const runWithStores = async <Result>(
  config: Config,
  terminal: Terminal,
  task: (stores: Stores) => Promise<Result>,
): Promise<Result> => {
  const onWarning = (message: string, error: unknown): void =>
    void terminal.err.write(`${message}: ${toMessage(error)}\n`);
  const options = { clock: systemClock.nowMs, onWarning, silenceMaxMs: commandSilenceMaxMs };
  const stores = await openStores(config, options);
  try {
    for (const note of stores.notes) terminal.err.write(`${note}\n`);
    return await task(stores);
  } finally {
    await stores.close();
  }
};

/** A missing directory means that DATA_DIR is wrong: only an import may create one. */
export const assertFolderUsed = ({ dataDir, databaseUrl }: Config): void => {
  if (databaseUrl !== '' || hasDirectory(dataDir)) return;
  throw new CommandError(`There is no directory in ${resolve(dataDir)}. Set DATA_DIR to its folder.`);
};

/**
 * Migrates the schema and takes over the number of shards. Throws `CommandError` and writes nothing when the
 * database holds no directory.
 */
export const assertDirectory = async (stores: Stores): Promise<void> => {
  if (!(await hasTable(stores.sql, 'totals')))
    throw new CommandError('There is no directory in this database. Set DATABASE_URL to the right database.');
  await prepareStores(stores);
};

/**
 * Flushes the hot store to SQL. When it resolves, everything that was *hot* before the call is *ledger*.
 * Throws when the two stores do not belong together, or when the flush fails or takes over ten minutes.
 */
export const flushToSql = async (stores: Stores): Promise<void> => {
  const { hot, sql, shared } = stores;
  const ledger = createLedger(sql);
  await reconcileGenerations(hot, ledger);
  const shards = shared ? listAllShards() : null;
  const flusher = createFlusher({
    hot,
    ledger,
    clock: systemClock,
    meters: createMetrics([], readVersion()).engine,
    intervalMs: 1_000,
    // On shared stores a fixed list of shards: the flush then ends even while other nodes write.
    listShards: () => shards,
    onFlushed: () => {},
    deliver: async () => 0,
    reconcile: async () => {},
  });
  const deadlineMs = systemClock.monotonicMs() + flushMsMax;
  await flusher.drain(deadlineMs);
  const failure = flusher.failure();
  if (failure !== null) throw new CommandError(`The counters could not be flushed to SQL: ${failure}`);
  if (systemClock.monotonicMs() >= deadlineMs) {
    throw new CommandError(
      'The counters could not be flushed to SQL within ten minutes. Check SQL and try again.',
    );
  }
};
