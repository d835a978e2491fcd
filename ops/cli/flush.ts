/**
 * Opens the stores for commands that look after them, and brings to SQL what the hot store holds for it.
 *
 * Flushing twice is harmless, so it does not matter whether nodes run beside it. Called by backup.ts and
 * restore.ts.
 */
import { createFlusher } from '../../engine/flush/flusher.ts';
import { reconcileGenerations } from '../../engine/flush/generations.ts';
import { allShards } from '../../engine/ids.ts';
import { createMetrics } from '../../http/telemetry/metrics.ts';
import { createLedger } from '../../storage/ledger/ledger.ts';
import { openStores, type Stores } from '../../storage/open.ts';
import { migrate } from '../../storage/sql/migrate.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { CommandError, type Terminal } from './command.ts';

const flushMsMax = 600_000;

/** Opens the stores of the settings for one task. The schema is left as it is. */
export const runWithStores = async <Result>(
  config: Config,
  terminal: Terminal,
  task: (stores: Stores) => Promise<Result>,
): Promise<Result> => {
  const onWarning = (words: string, error: unknown): void =>
    void terminal.err.write(`${words}: ${error instanceof Error ? error.message : String(error)}\n`);
  const stores = await openStores(config, { clock: systemClock.nowMs, onWarning });
  try {
    for (const note of stores.notes) terminal.err.write(`${note}\n`);
    return await task(stores);
  } finally {
    await stores.close();
  }
};

/** Brings the schema up to date. Throws words where no directory is: an empty database stays empty. */
export const assertDirectory = async ({ sql }: Stores): Promise<void> => {
  const [found] = await sql`select to_regclass('totals') as totals`;
  if (found?.totals === null)
    throw new CommandError('There is no directory in this database. Say where it is with DATABASE_URL.');
  await migrate(sql);
};

/**
 * Ledger when it resolves: all that was hot before the call, or for embedded stores all there is. Throws
 * words when the stores contradict each other, or when it takes too long.
 */
export const flushToSql = async (stores: Stores): Promise<void> => {
  const { hot, sql, shared } = stores;
  const ledger = createLedger(sql);
  await reconcileGenerations(hot, ledger, stores.reflush);
  stores.markReflushed();
  const flusher = createFlusher({
    hot,
    ledger,
    clock: systemClock,
    meters: createMetrics([]).engine,
    intervalMs: 1_000,
    // Named shards: others may write on meanwhile, and the flush ends all the same.
    listShards: () => (shared ? allShards : null),
    onFlushed: () => {},
    deliver: async () => 0,
    reconcile: async () => {},
  });
  const deadlineMs = systemClock.monotonicMs() + flushMsMax;
  await flusher.drain(deadlineMs);
  const failure = flusher.failure();
  if (failure !== null) throw new CommandError(`What is counted could not be flushed to SQL: ${failure}`);
  if (systemClock.monotonicMs() >= deadlineMs) {
    throw new CommandError(
      'What is counted could not be flushed to SQL in ten minutes; no backup was taken.',
    );
  }
};
