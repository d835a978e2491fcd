/**
 * Opens the stores of one node: the only place where an adapter is chosen.
 *
 * REDIS_URL and DATABASE_URL name servers that any number of nodes share. Without both, it opens the embedded
 * stores in the data folder: LMDB for counters and PGlite for SQL, behind one lock that is taken first and
 * released last, so two processes never open the folder at once. With DATABASE_URL alone LMDB counts beside
 * a Postgres server: one node, behind the folder's lock and one in SQL (hot-owner.ts). Only the chosen
 * adapter is loaded, for a fast start.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createNotAppliedError, type StorageError } from '../engine/errors.ts';
import type { HotStore } from '../engine/ports.ts';
import { type Note, toNote } from '../engine/tools/notes.ts';
import type { CopySource } from './backup/live.ts';
import { explainFullDisk } from './disk-room.ts';
import { canOpenFiles } from './embedded/descriptors.ts';
import { findForbiddenStore } from './embedded/folder.ts';
import { lockDataDirectory } from './embedded/lock.ts';
import type { SqlThread } from './embedded/sql-thread.ts';
import type { LmdbStore } from './hot/lmdb/store.ts';
import type { RedisHotStore } from './hot/redis/store.ts';
import { createFolderOwner, createRedisOwner, type HotOwner, isHolder } from './hot-owner.ts';
import type { HotTransfer } from './move/records.ts';
import type { Pool } from './sql/client.ts';
import { openFault } from './sql/open-fault.ts';
import { openServerSql } from './sql/server.ts';
import { takeSessionLock } from './sql/session-lock.ts';

export type { MemorySettings } from './hot/redis/durability.ts';

export interface StoresConfig {
  readonly dataDir: string;
  readonly redisUrl: readonly string[];
  readonly databaseUrl: string;
}

export interface StoresOptions {
  /** Wall time in ms, the hot store's clock. */
  readonly clock: () => number;
  /** A thread for the embedded SQL that was started before. Default: a new one. */
  readonly sqlThread?: SqlThread | undefined;
  /** Runs once the folder is locked, before a store is opened or made; rejects to give up. */
  readonly beforeOpening?: () => Promise<void>;
  /** Receives failures of background work (checkpoints, upkeep), for the log. */
  readonly onWarning: (message: string, error: unknown) => void;
  /** Receives a message when connections to a server were dead and are replaced. */
  readonly onReplaced?: (message: string) => void;
  /** How long a server may be silent until it counts as away. Default: what a request can wait. */
  readonly silenceMaxMs?: number;
  /** Called when statements of the embedded SQL begin to wait for room on the disk. */
  readonly onDiskFull?: (error: StorageError) => void;
  /** The folder was deleted or taken over: the process has to end without another write. */
  readonly onLockLost?: (message: string) => void;
  /** An embedded store has ended, and only a new process can open it again. Called at most once. */
  readonly onLost?: (message: string, error: unknown) => void;
}

export interface Stores extends Pool {
  readonly hot: HotStore & { readonly transfer: HotTransfer };
  /** Other nodes may use the same stores. */
  readonly shared: boolean;
  /** What claims the database of a server, `null` where one folder holds both stores. */
  readonly owner: HotOwner | null;
  /** The servers of a shared hot store, `null` when it is embedded. */
  readonly redis: Pick<
    RedisHotStore,
    'libraries' | 'readClocks' | 'memorySettings' | 'durability' | 'mended'
  > | null;
  /** How to copy embedded stores that are in use, `null` for servers. */
  readonly copySource: CopySource | null;
  /** What the operator should know about this opening. */
  readonly notes: readonly string[];
  /** Stores that are unavailable, damaged or weaker than needed. */
  listWarnings(): readonly Note[];
  /** Whether SQL answers and is whole. */
  isSqlUp(): boolean;
  /** Closes both stores and unlocks the folder. Idempotent. */
  close(): Promise<void>;
}

const needsDatabase =
  'REDIS_URL needs DATABASE_URL: set both to run on Redis and Postgres, DATABASE_URL alone for one node ' +
  'that counts in DATA_DIR beside Postgres, or neither to run on the embedded stores in DATA_DIR.';

/** Opens the stores the settings name. Rejects with an `Error` for the operator, and leaves nothing open. */
export const openStores = (config: StoresConfig, options: StoresOptions): Promise<Stores> => {
  const settings = [config.redisUrl.length > 0, config.databaseUrl !== ''];
  const open = (openAll: OpenAll): Promise<Stores> => openUndoable((undo) => openAll(config, options, undo));
  if (settings.every((isSet) => !isSet)) return open(openEmbedded).catch(explainFor(config));
  if (settings.every((isSet) => isSet)) return open(openServers);
  return config.databaseUrl === ''
    ? Promise.reject(new Error(needsDatabase))
    : open(openAlone).catch(explainFor(config));
};

type OpenStores = Omit<Stores, 'close'>;
/** What closes the stores that are open, in the order of opening. `isClean`: all after it were closed. */
type Undo = ((isClean: boolean) => Promise<void> | void)[];
type OpenAll = (config: StoresConfig, options: StoresOptions, undo: Undo) => Promise<OpenStores>;

/** Closes all, also after one could not be closed; then rejects with the first failure. */
const closeAll = async (undo: Undo): Promise<void> => {
  const failures: unknown[] = [];
  for (const closeOne of undo.splice(0).reverse()) {
    try {
      await closeOne(failures.length === 0);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
};

/** Closes what was opened, the last first: at the end, or when the opening fails. */
export const openUndoable = async (open: (undo: Undo) => Promise<OpenStores>): Promise<Stores> => {
  const undo: Undo = [];
  try {
    return { ...(await open(undo)), close: () => closeAll(undo) };
  } catch (error) {
    await closeAll(undo).catch(() => undefined);
    throw error;
  }
};

/** A store that could not be closed may still write: then the folder stays locked until the process ends. */
const lockFolder = async (config: StoresConfig, options: StoresOptions, undo: Undo): Promise<void> => {
  const lock = await lockDataDirectory(config.dataDir, options.onLockLost);
  undo.push((isClean) => (isClean ? lock.release() : undefined));
  await options.beforeOpening?.();
};

const explainFor =
  ({ dataDir }: StoresConfig) =>
  (error: unknown): never => {
    throw findForbiddenStore(dataDir) ?? explainFullDisk(dataDir, error);
  };

const openServers: OpenAll = async (config, options, undo) => {
  await options.beforeOpening?.();
  const { openRedisStore } = await import('./hot/redis/store.ts');
  const { onReplaced = () => undefined, silenceMaxMs } = options;
  const server = await openServerSql(config.databaseUrl, { onReplaced, silenceMaxMs });
  undo.push(server.close);
  const hot = await openRedisStore({
    urls: config.redisUrl,
    onError: (error) => options.onWarning('the connection to Redis failed', error),
    silenceMaxMs,
  }).catch((error: unknown) => {
    throw openFault('REDIS_URL', config.redisUrl, error);
  });
  undo.push(() => hot.close());
  const { describe, countWeak } = hot.durability;
  const listWeak = (): readonly Note[] =>
    countWeak() === 0 ? [] : [toNote('redis_weak', `REDIS_URL: a confirmed write is ${describe()}.`)];
  return {
    hot,
    sql: server.sql,
    requestSql: server.requestSql,
    shared: true,
    owner: createRedisOwner(),
    redis: hot,
    copySource: null,
    notes: [...server.notes, ...listWeak()],
    listWarnings: () => [server.listNotes(), listWeak(), hot.pulse.listNotes(), hot.listDamage()].flat(),
    isSqlUp: () => server.getLastError() === null,
  };
};

/** Throws if the hot store has counters but SQL is missing: a new database would not match them. */
const assertNoneLost = async (hot: LmdbStore, database: string, loss: string): Promise<void> => {
  if (existsSync(database)) return;
  const generations = await hot.readGenerations();
  if (generations.every((generation) => generation === 0)) return;
  throw createNotAppliedError('open', 'unreachable', `There is no database in DATA_DIR. ${loss}`);
};

/** Opens the counters of a locked folder. */
const openCounters = async ({ dataDir }: StoresConfig, options: StoresOptions): Promise<LmdbStore> => {
  const { openLmdbStore } = await import('./hot/lmdb/store.ts');
  const { clock, onWarning, onLost = onWarning } = options;
  return openLmdbStore({ path: join(dataDir, 'hot'), clock, onLost });
};

/** The files of an idle node, and some clients. With fewer, the embedded SQL hangs, or looks damaged. */
const descriptorsMin = 400;
const tooFewDescriptors =
  `The embedded stores need a limit of ${descriptorsMin} open files and one for each client: raise it ` +
  '(ulimit -n, LimitNOFILE of systemd) and start again. Nothing was changed.';

/** Opens the hot store first: a program that does not know its format must not touch the database. */
const openEmbedded: OpenAll = async (config, options, undo) => {
  const { dataDir } = config;
  await lockFolder(config, options, undo);
  if (!canOpenFiles(descriptorsMin)) throw new Error(tooFewDescriptors);
  const { describeLoss, openLedgerStore, toDatabaseFolder } = await import('./embedded/open.ts');
  const hot = await openCounters(config, options);
  undo.push(() => hot.close());
  await assertNoneLost(hot, toDatabaseFolder(dataDir), describeLoss(dataDir));
  const { onWarning, onLost, onDiskFull, sqlThread } = options;
  const reports = { onWarning, onLost, onDiskFull };
  const ledger = await openLedgerStore({ dataDirectory: dataDir, sqlThread, ...reports });
  // It closes after the counters, since it may wait for room on the disk.
  undo.splice(-1, 0, ledger.close);
  return {
    hot,
    sql: ledger.sql,
    requestSql: ledger.requestSql,
    shared: false,
    redis: null,
    owner: null,
    copySource: { packSql: ledger.packInto, copyHot: hot.copyInto },
    notes: [],
    listWarnings: () =>
      [ledger.getLastError() ?? [], ledger.describeFullDisk() ?? [], hot.listWarnings()].flat(),
    isSqlUp: () => ledger.getLastError() === null,
  };
};

const lostToAnother = 'another process has taken the database of DATABASE_URL over';

/** Opens LMDB beside a Postgres server. */
const openAlone: OpenAll = async (config, options, undo) => {
  const { dataDir, databaseUrl } = config;
  await lockFolder(config, options, undo);
  const { hasDirectory } = await import('./backup/embedded.ts');
  if (hasDirectory(dataDir)) throw new Error(describeEmbedded(dataDir));
  const { onWarning, onReplaced = () => undefined, onLost = onWarning, silenceMaxMs } = options;
  const server = await openServerSql(databaseUrl, { onReplaced, silenceMaxMs });
  undo.push(server.close);
  const owner = createFolderOwner(dataDir);
  const session = await takeSessionLock(databaseUrl, {
    isHolder: () => isHolder(server.sql, owner),
    onLost: () => onLost(lostToAnother, 'only one may count'),
  });
  undo.push(session.release);
  const { createDumpSource } = await import('./backup/alone.ts');
  const hot = await openCounters(config, options);
  undo.push(() => hot.close());
  return {
    hot,
    sql: server.sql,
    requestSql: server.requestSql,
    shared: false,
    redis: null,
    owner,
    copySource: createDumpSource(server.sql, hot, databaseUrl),
    notes: server.notes,
    listWarnings: () => [server.listNotes(), hot.listWarnings()].flat(),
    isSqlUp: () => server.getLastError() === null,
  };
};

const describeEmbedded = (dataDir: string): string =>
  `DATABASE_URL is set, but ${dataDir} has a directory on the embedded stores. Nothing was changed. To go ` +
  'on with Postgres, unset DATABASE_URL and give "rollcall ops move --to-database URL --to-data DIR".';
