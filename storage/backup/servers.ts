/**
 * Backup and restore of the servers: a dump of Postgres, with the newest position of each shard.
 *
 * Redis is not copied. After a restore it is either empty and is filled from SQL, or it has newer counters
 * and all totals in SQL are written again. A Redis that is older than the dump is refused. A restore raises
 * the generations before it loads the dump in one transaction, so an interrupted restore leaves an empty
 * database that no node starts on.
 *
 * A totals row in SQL has the (generation, version) of the hot store it was flushed from. If a shard of the
 * hot store has not reached it, the hot store has lost data. The opposite proves nothing: SQL is always a
 * flush behind. So the restore of an older SQL must call `raiseGenerationsPastSql`.
 */
import { join } from 'node:path';
import { isBefore } from '../../engine/entity/history.ts';
import { listAllShards, shardsTotal } from '../../engine/ids.ts';
import type { HotStore } from '../../engine/ports.ts';
import { syncPath } from '../embedded/copy.ts';
import { beginTimeline } from '../ledger/generations.ts';
import type { Sql } from '../sql/client.ts';
import { readColumn, readNumber } from '../sql/rows.ts';
import {
  type AloneBackup,
  BackupError,
  measureDump,
  type NumberedShardPosition,
  readManifest,
  type ServersBackup,
  writeBackup,
} from './manifest.ts';
import { dumpName, findPrograms } from './programs.ts';

export interface Servers {
  readonly sql: Sql;
  readonly hot: HotStore;
  readonly databaseUrl: string;
  /** Ends the running program. */
  readonly signal: AbortSignal;
}

/** Reads the major version of the server. */
export const readServerMajor = (sql: Sql): Promise<number> =>
  readNumber(sql`
    select current_setting('server_version_num')::int / 10000 as version`);

/** Dumps the database into a new folder. On disk when it resolves. Nodes may run meanwhile. */
export const backupServers = async (
  servers: Servers,
  directory: string,
  takenAt: string,
): Promise<ServersBackup> => {
  const { sql, databaseUrl, signal } = servers;
  const postgres = await readServerMajor(sql);
  const programs = findPrograms(databaseUrl, postgres);
  return writeBackup<ServersBackup>(directory, async (draft) => {
    const file = join(draft, dumpName);
    // Read before the dump, so that the dump is at least as new as the positions.
    const newest = await readNewestPositions(sql);
    await programs.dump(file, { signal });
    await syncPath(file, false);
    return { format: 1, kind: 'servers', takenAt, postgres, dump: await measureDump(file), newest };
  });
};

/**
 * Restores a backup into an empty database: all of it, or nothing. Ledger when it resolves. Rejects with a
 * `BackupError` when the backup is damaged, the database is not empty, or the hot store is older than the
 * backup. `hot` says whether the hot store had counters, which stay, or was empty.
 */
export const restoreServers = async (servers: Servers, directory: string) => {
  const { sql, hot, databaseUrl, signal } = servers;
  const manifest = readManifest(directory, 'servers');
  const file = join(directory, dumpName);
  await assertUndamaged(file, manifest);
  const programs = await findRestorePrograms(sql, databaseUrl, manifest);
  await assertEmpty(sql);
  const hasCounters = await hasAnyShard(hot);
  if (hasCounters) await raiseGenerations(hot, manifest);
  await programs.restore(file, signal);
  if (hasCounters) await beginTimeline(sql);
  return { manifest, hot: hasCounters ? 'kept' : 'empty' };
};

/** Raises the generations of the hot store. Throws if the hot store is older than the backup. */
const raiseGenerations = async (hot: HotStore, { newest }: ServersBackup): Promise<void> => {
  const behind = await listShardsBehind(hot, newest);
  if (behind.length > 0) throw new BackupError(describeOlderHotStore(behind.length));
  await raiseGenerationsPastSql(hot, newest);
};

/** Builds the message for a hot store that is older than SQL. Also used by the command line. */
export const describeOlderHotStore = (shards: number): string =>
  `The hot store is older than SQL in ${shards} of its ${shardsTotal} shards: it would show old ` +
  'counts and write them back. Stop all nodes and empty it (redis-cli FLUSHDB on every node of a Cluster; ' +
  'embedded, move the folder hot in DATA_DIR away): the totals then come from SQL.';

const assertUndamaged = async (file: string, { dump }: ServersBackup): Promise<void> => {
  const measured = await measureDump(file).catch(() => null);
  if (measured?.bytes !== dump.bytes || measured.sha256 !== dump.sha256)
    throw new BackupError(`Nothing was restored: ${file} is damaged: it has changed since it was written.`);
};

/** Throws a `BackupError` unless the database has no tables. */
export const assertEmpty = async (sql: Sql): Promise<void> => {
  const tables = await readColumn<string>(sql`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema') limit 3`);
  if (tables.length > 0)
    throw new BackupError(
      `The database is not empty (${tables.join(', ')}). A restore never ` +
        'overwrites data: create a new database and name it in DATABASE_URL.',
    );
};

/** Throws a `BackupError` if the server is older than the one that was dumped. */
export const findRestorePrograms = async (
  sql: Sql,
  databaseUrl: string,
  { postgres: dumped }: ServersBackup | AloneBackup,
) => {
  const major = await readServerMajor(sql);
  if (major >= dumped) return findPrograms(databaseUrl, major);
  throw new BackupError(
    `The backup is of Postgres ${dumped}, but this server is Postgres ${major}: restore into version ` +
      `${dumped} or later.`,
  );
};

/** Reads the newest position of every shard that SQL has rows of. Reads all totals once. */
export const readNewestPositions = (sql: Sql): Promise<readonly NumberedShardPosition[]> =>
  sql.begin('isolation level repeatable read read only', async (transaction) => {
    await transaction`set local statement_timeout = 0`;
    return transaction<NumberedShardPosition[]>`
      select shard, generation, max(version) as version from totals
      join (select shard, max(generation) as generation from totals group by shard) newest
        using (shard, generation)
      where generation > 0
      group by shard, generation order by shard`;
  }) as Promise<readonly NumberedShardPosition[]>;

/**
 * Lists shards whose position in the hot store is before these. A shard never published is empty, not older.
 */
export const listShardsBehind = async (
  hot: HotStore,
  positions: readonly NumberedShardPosition[],
): Promise<readonly number[]> => {
  const hotPositions = await hot.readVersions(listAllShards());
  return positions
    .filter((position) => {
      const hotPosition = hotPositions[position.shard];
      return hotPosition !== undefined && hotPosition.generation > 0 && isBefore(hotPosition, position);
    })
    .map(({ shard }) => shard);
};

/** Whether any shard of the hot store was ever published: then it may have counters. */
const hasAnyShard = async (hot: HotStore): Promise<boolean> =>
  (await hot.readGenerations()).some((generation) => generation > 0);

/**
 * Gives the hot store a generation above all those in SQL, so that the next start treats the database as
 * another one and writes all totals again. Hot when it resolves.
 */
const raiseGenerationsPastSql = async (hot: HotStore, positions: readonly NumberedShardPosition[]) => {
  const generations = [...(await hot.readGenerations()), ...positions.map(({ generation }) => generation)];
  const generation = Math.max(0, ...generations) + 1;
  await hot.publish(listAllShards().map((shard) => ({ shard, generation })));
};
