/**
 * Backup and restore of one node that counts in DATA_DIR beside a Postgres server: a copy of the hot store
 * and a dump, of one moment.
 *
 * Writers of what the hot store counts wait while the dump gets its snapshot and the hot store is
 * copied, so together they are as a killed process would leave them. A restore fills an empty folder first
 * and an empty database last, in one transaction.
 */
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '../embedded/copy.ts';
import { runLocked } from '../embedded/lock.ts';
import { createFolderOwner } from '../hot-owner.ts';
import { endTimeLimits } from '../move/sql-copy.ts';
import type { Sql } from '../sql/client.ts';
import { readValue } from '../sql/rows.ts';
import { runOnServer } from '../sql/server.ts';
import { assertUnused, draftName, fillDraft } from './embedded.ts';
import { type CopySource, describeFile } from './live.ts';
import { type AloneBackup, BackupError, readManifest } from './manifest.ts';
import { dumpName, findPrograms } from './programs.ts';
import { assertEmpty, findRestorePrograms, readServerMajor } from './servers.ts';

/** Packs the dump of the server, and copies the hot store while no flush can write. */
export const createDumpSource = (
  sql: Sql,
  hot: { copyInto(folder: string): Promise<void> },
  databaseUrl: string,
): CopySource => ({
  copyHot: hot.copyInto,
  packSql: async (file, meanwhile) => {
    const programs = findPrograms(databaseUrl, await readServerMajor(sql));
    await sql.begin('isolation level repeatable read read only', async (reader) => {
      await endTimeLimits(reader);
      const snapshot = await sql.begin(async (holder) => {
        await endTimeLimits(holder);
        await holder`lock table generations, totals, votes, adjustments in share mode`;
        // The first statement after the lock: the snapshot has all that was written before it.
        const id = await readValue<string>(reader`select pg_export_snapshot()`);
        await meanwhile();
        return id ?? '';
      });
      await programs.dump(file, { snapshot });
    });
    return describeFile(file, dumpName);
  },
});

export interface AlonePlace {
  readonly dataDir: string;
  readonly databaseUrl: string;
  /** Ends the running program. */
  readonly signal: AbortSignal;
}

/**
 * Restores a backup into an empty folder and an empty database. Rejects with a `BackupError` before it
 * changes anything when the backup is damaged or one of them is not empty; after an interruption the same
 * call goes on.
 */
export const restoreAlone = async (directory: string, place: AlonePlace): Promise<AloneBackup> => {
  const manifest = readManifest(directory, 'alone');
  await runLocked(place.dataDir, () =>
    runOnServer(place.databaseUrl, (sql) => restoreInto(sql, { directory, manifest }, place)),
  );
  return manifest;
};

const restoreInto = async (
  sql: Sql,
  { directory, manifest }: { readonly directory: string; readonly manifest: AloneBackup },
  { dataDir, databaseUrl, signal }: AlonePlace,
): Promise<void> => {
  const programs = await findRestorePrograms(sql, databaseUrl, manifest);
  const draft = join(dataDir, draftName);
  if (existsSync(draft)) {
    if ((await assertEmpty(sql).catch((error: unknown) => error)) instanceof BackupError)
      return endRestore(sql, dataDir);
    await rm(join(dataDir, 'hot'), { recursive: true, force: true });
    await rm(draft, { recursive: true });
  }
  assertUnused(dataDir);
  await assertEmpty(sql);
  await fillDraft(directory, manifest, draft);
  await rename(join(draft, 'hot'), join(dataDir, 'hot'));
  await programs.restore(join(draft, 'sql', dumpName), signal);
  await endRestore(sql, dataDir);
};

/** Ends the restore: from here on the database belongs to this hot store. */
const endRestore = async (sql: Sql, dataDir: string): Promise<void> => {
  const identity = await readValue<string>(sql`select identity from hot_store`);
  createFolderOwner(dataDir).writeIdentity(identity ?? '');
  await rm(join(dataDir, draftName), { recursive: true });
  await syncPath(dataDir, true);
};
