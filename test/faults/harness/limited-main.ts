/**
 * The program on a hot store with a size limit, `HOT_BYTES_MAX`, or with frequent checkpoints,
 * `HOT_CHECKPOINT_BYTES`. Wires the same node as ops/main.ts, and puts such a store, in a folder beside the
 * node's own, in its place.
 */
import { join } from 'node:path';
import { readConfig } from '../../../ops/config/config.ts';
import { start } from '../../../ops/rollcall.ts';
import { openLmdbStore } from '../../../storage/hot/lmdb/store.ts';
import { printWelcome } from './welcome.ts';

const fail = (error: unknown): never => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
};

const run = async (): Promise<void> => {
  const config = readConfig();
  const hot = await openLmdbStore({
    path: join(config.dataDir, 'hot-limited'),
    clock: Date.now,
    sizeMaxBytes: Number(process.env.HOT_BYTES_MAX ?? Number.MAX_SAFE_INTEGER),
    checkpointBytes: Number(process.env.HOT_CHECKPOINT_BYTES ?? 2 ** 24),
  });
  const { url, adminUrl, demo, stop } = await start(config, { hot: () => hot });
  printWelcome(config, { url, adminUrl, demo });
  process.on('SIGTERM', () => {
    stop()
      .then(() => hot.close())
      .then(() => process.exit(0), fail);
  });
};

run().catch(fail);
