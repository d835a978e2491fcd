/**
 * Opens the stores of one node: the only place where an adapter is chosen.
 *
 * REDIS_URL and DATABASE_URL name servers that any number of nodes share. Without both, the embedded stores
 * in the data folder: LMDB for what counts and PGlite for SQL, behind one lock that is taken first and
 * given back last, so no two processes ever have the folder open. An adapter and its library are loaded when
 * they are chosen: the others would make every start longer. Called by the composition root and the command
 * line.
 */
import { join } from 'node:path';
import { StorageError } from '../engine/errors.ts';
import type { HotStore } from '../engine/ports.ts';
import { lockDataDirectory } from './embedded/lock.ts';
import type { MemorySettings } from './hot/redis/eviction.ts';
import type { RedisLibraries } from './hot/redis/store.ts';
import type { Pool } from './sql/client.ts';
import { openFault } from './sql/open-fault.ts';
import { openServerSql } from './sql/server.ts';

export type { MemorySettings };

export interface StoresConfig {
  readonly dataDir: string;
  readonly redisUrl: readonly string[];
  readonly databaseUrl: string;
  readonly snapshotIntervalMinutes: number;
}

export interface StoresOptions {
  /** Wall time in ms, the hot store's clock. */
  readonly clock: () => number;
  /** Failures nobody waits for (snapshots, upkeep): words for the log. */
  readonly onWarning: (words: string, error: unknown) => void;
  /** A store inside this process is gone, and only a new process brings it back. At most once. */
  readonly onLost?: (words: string, error: unknown) => void;
}

export interface Stores extends Pool {
  readonly hot: HotStore;
  /** Other nodes may use the same stores. */
  readonly shared: boolean;
  /** The functions that decide inside a shared hot store, `null` when it is embedded. */
  readonly libraries: RedisLibraries | null;
  /** Wall times of the servers of a shared hot store, `null` when it is embedded. */
  readonly storeClocks: (() => Promise<readonly number[]>) | null;
  /** What the servers of a shared hot store say of their memory, `null` when it is embedded. */
  readonly memorySettings: (() => Promise<readonly MemorySettings[]>) | null;
  /** SQL came back from an older copy: the engine must send it all totals again. */
  readonly reflush: boolean;
  /** It will, whatever happens now: the hot store has a generation of which SQL has no totals. */
  markReflushed(): void;
  /**
   * Takes a snapshot of the embedded SQL in the background, unless there is one that the hot store can be
   * continued from: for the end of a first start.
   */
  protect(): void;
  /** What the operator should know about this opening. */
  readonly notes: readonly string[];
  /** What is weaker than it should be, or away, now: words for `/readyz`. */
  listWarnings(): readonly string[];
  /** Closes both; the embedded SQL with a last snapshot, and frees the folder. Idempotent. */
  close(): Promise<void>;
}

const bothOrNone =
  'REDIS_URL and DATABASE_URL go together: set both to run on Redis and Postgres, or none to run on the ' +
  'embedded stores in DATA_DIR.';

/** Opens the stores the settings name. Rejects with words for the operator, leaving nothing open. */
export const openStores = (config: StoresConfig, options: StoresOptions): Promise<Stores> => {
  const servers = [config.redisUrl.length > 0, config.databaseUrl !== ''];
  if (servers.every((named) => !named)) return openEmbedded(config, options);
  if (servers.every((named) => named)) return openServers(config, options);
  return Promise.reject(new Error(bothOrNone));
};

/** What every store of counted facts says of itself when it keeps all it confirmed. */
const fullyDurable = /^synced to the disk of Redis$/;

const openServers = async (config: StoresConfig, options: StoresOptions): Promise<Stores> => {
  const { openRedisStore } = await import('./hot/redis/store.ts');
  const server = await openServerSql(config.databaseUrl, { onDamage: options.onWarning });
  try {
    const hot = await openRedisStore({
      urls: config.redisUrl,
      onError: (error) => options.onWarning('the connection to Redis', error),
    }).catch((error: unknown) => {
      throw openFault('REDIS_URL', config.redisUrl, error);
    });
    const weak = fullyDurable.test(hot.durability)
      ? []
      : [`REDIS_URL: a confirmed write is ${hot.durability}.`];
    const standing = [...server.notes, ...weak];
    return {
      hot,
      sql: server.sql,
      requestSql: server.requestSql,
      shared: true,
      libraries: hot.libraries,
      storeClocks: hot.readClocks,
      memorySettings: hot.memorySettings,
      reflush: false,
      markReflushed: () => {},
      protect: () => {},
      notes: standing,
      listWarnings: () => {
        const trouble = server.getLastError();
        return trouble === null ? standing : [...standing, trouble];
      },
      close: async () => {
        await hot.close();
        await server.close();
      },
    };
  } catch (error) {
    await server.close();
    throw error;
  }
};

/** A new database beside counters would never fit them. Throws words when there are any; closes the store. */
const assertNothingCounted = async (hot: HotStore, lost: string): Promise<void> => {
  const generations = await hot.readGenerations();
  await hot.close();
  if (generations.every((generation) => generation === 0)) return;
  throw new StorageError('open', {
    outcome: 'not_applied',
    reason: 'unreachable',
    detail: `There is neither a database nor a snapshot of one in DATA_DIR. ${lost}`,
  });
};

const openEmbedded = async (config: StoresConfig, options: StoresOptions): Promise<Stores> => {
  const { isBereft, describeLoss: lostWords, openLedgerStore } = await import('./embedded/open.ts');
  const { openLmdbStore } = await import('./hot/lmdb/store.ts');
  const lock = await lockDataDirectory(config.dataDir);
  const openHot = () => openLmdbStore({ path: join(config.dataDir, 'hot'), clock: options.clock });
  try {
    if (isBereft(config.dataDir)) await assertNothingCounted(await openHot(), lostWords(config.dataDir));
    const ledger = await openLedgerStore({
      dataDirectory: config.dataDir,
      snapshotEveryMs: config.snapshotIntervalMinutes * 60_000,
      onWarning: options.onWarning,
      onLost: options.onLost,
    });
    try {
      const hot = await openHot();
      const { sql, requestSql, restored, holdsDirectory, notes } = ledger;
      return {
        hot,
        sql,
        requestSql,
        shared: false,
        libraries: null,
        storeClocks: null,
        memorySettings: null,
        reflush: restored && holdsDirectory,
        markReflushed: ledger.markCaughtUp,
        protect: ledger.protect,
        notes,
        listWarnings: () => [ledger.getLastError()].filter((words) => words !== null),
        close: async () => {
          await hot.close();
          await ledger.close();
          lock.release();
        },
      };
    } catch (error) {
      await ledger.close();
      throw error;
    }
  } catch (error) {
    lock.release();
    throw error;
  }
};
