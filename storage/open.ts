/**
 * Opens the stores of one node: the only place where an adapter is chosen.
 *
 * REDIS_URL and DATABASE_URL name servers that any number of nodes share. Without both, it opens the embedded
 * stores in the data folder: LMDB for counters and PGlite for SQL, behind one lock that is taken first and
 * released last, so two processes never open the folder at once. Only the chosen adapter is loaded, for a
 * fast start. Called by the composition root and the command line.
 */
import { join } from 'node:path';
import { StorageError } from '../engine/errors.ts';
import type { HotStore } from '../engine/ports.ts';
import type { CopySource } from './backup/live.ts';
import { lockDataDirectory } from './embedded/lock.ts';
import type { LmdbStore } from './hot/lmdb/store.ts';
import type { MemorySettings } from './hot/redis/eviction.ts';
import type { RedisLibraries } from './hot/redis/store.ts';
import type { ShardCounts } from './shards.ts';
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
  /** Receives failures of background work (snapshots, upkeep), for the log. */
  readonly onWarning: (message: string, error: unknown) => void;
  /** Receives a message when a server of a shared store stops answering, and when it answers again. */
  readonly onStoreChange?: (message: string, isUp: boolean) => void;
  /** An embedded store has ended, and only a new process can open it again. Called at most once. */
  readonly onLost?: (message: string, error: unknown) => void;
}

export interface Stores extends Pool {
  readonly hot: HotStore & ShardCounts;
  /** Other nodes may use the same stores. */
  readonly shared: boolean;
  /** The function libraries that run in a shared hot store, `null` when it is embedded. */
  readonly libraries: RedisLibraries | null;
  /** Reads the wall times (ms) of a shared hot store's servers, `null` when it is embedded. */
  readonly storeClocks: (() => Promise<readonly number[]>) | null;
  /** Reads the memory settings of a shared hot store's servers, `null` when it is embedded. */
  readonly memorySettings: (() => Promise<readonly MemorySettings[]>) | null;
  /** How many servers of a shared hot store may lose confirmed writes now, in a crash or a failover. */
  countWeakServers(): number;
  /** SQL may be an older copy: the engine must send it all totals again. */
  readonly reflush: boolean;
  /** Records that all totals are certain to be sent again: the next opening does not request it. */
  markReflushed(): void;
  /**
   * Takes a snapshot of the embedded SQL in the background, unless one exists that the hot store can continue
   * from. Called at the end of a start.
   */
  protect(): void;
  /** How to copy embedded stores that are in use, `null` for servers. */
  readonly copySource: CopySource | null;
  /** What the operator should know about this opening. */
  readonly notes: readonly string[];
  /** Current warnings for `/readyz`: stores that are unavailable, damaged or weaker than needed. */
  listWarnings(): readonly string[];
  /** Whether SQL answers and is whole. */
  isSqlUp(): boolean;
  /** Closes both stores; takes a last snapshot of embedded SQL and unlocks the folder. Idempotent. */
  close(): Promise<void>;
}

const bothOrNeither =
  'REDIS_URL and DATABASE_URL go together: set both to run on Redis and Postgres, or neither to run on the ' +
  'embedded stores in DATA_DIR.';

/** Opens the stores the settings name. Rejects with an `Error` for the operator, and leaves nothing open. */
export const openStores = (config: StoresConfig, options: StoresOptions): Promise<Stores> => {
  const settings = [config.redisUrl.length > 0, config.databaseUrl !== ''];
  if (settings.every((isSet) => !isSet)) return openEmbedded(config, options);
  if (settings.every((isSet) => isSet)) return openServers(config, options);
  return Promise.reject(new Error(bothOrNeither));
};

const openServers = async (config: StoresConfig, options: StoresOptions): Promise<Stores> => {
  const { openRedisStore } = await import('./hot/redis/store.ts');
  const onStoreChange = options.onStoreChange ?? (() => undefined);
  const server = await openServerSql(config.databaseUrl, { onDamage: options.onWarning, onStoreChange });
  try {
    const hot = await openRedisStore({
      urls: config.redisUrl,
      onError: (error) => options.onWarning('the connection to Redis failed', error),
      onStoreChange,
    }).catch((error: unknown) => {
      throw openFault('REDIS_URL', config.redisUrl, error);
    });
    const { describe, countWeak } = hot.durability;
    const listWeak = (): readonly string[] =>
      countWeak() === 0 ? [] : [`REDIS_URL: a confirmed write is ${describe()}.`];
    return {
      hot,
      sql: server.sql,
      requestSql: server.requestSql,
      shared: true,
      libraries: hot.libraries,
      storeClocks: hot.readClocks,
      memorySettings: hot.memorySettings,
      countWeakServers: countWeak,
      reflush: false,
      markReflushed: () => {},
      protect: () => {},
      copySource: null,
      notes: [...server.notes, ...listWeak()],
      listWarnings: () => [...server.notes, ...listWeak(), server.getLastError() ?? []].flat(),
      isSqlUp: () => server.getLastError() === null,
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

/** Throws if the hot store has counters, because a new database would not match them. Closes the store. */
const assertNothingCounted = async (hot: LmdbStore, lossDescription: string): Promise<void> => {
  const counts = await hot.listShardCounts();
  await hot.close();
  if (counts.length === 0) return;
  throw new StorageError('open', {
    outcome: 'not_applied',
    reason: 'unreachable',
    detail: `There is neither a database nor a snapshot of one in DATA_DIR. ${lossDescription}`,
  });
};

const openEmbedded = async (config: StoresConfig, options: StoresOptions): Promise<Stores> => {
  const { describeLoss, hasOnlyCounters, openLedgerStore } = await import('./embedded/open.ts');
  const { openLmdbStore } = await import('./hot/lmdb/store.ts');
  const lock = await lockDataDirectory(config.dataDir);
  const openHot = () =>
    openLmdbStore({
      path: join(config.dataDir, 'hot'),
      clock: options.clock,
      onDamage: (description) => options.onWarning(description, null),
      onWarning: options.onWarning,
      onLost: options.onLost,
    });
  try {
    if (hasOnlyCounters(config.dataDir)) {
      await assertNothingCounted(await openHot(), describeLoss(config.dataDir));
    }
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
        countWeakServers: () => 0,
        reflush: restored && holdsDirectory,
        markReflushed: ledger.markCaughtUp,
        protect: ledger.protect,
        copySource: { packSql: ledger.packInto, copyHot: hot.copyInto },
        notes,
        listWarnings: () =>
          [ledger.getLastError(), hot.describeDamage()].filter((warning) => warning !== null),
        isSqlUp: () => ledger.getLastError() === null,
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
