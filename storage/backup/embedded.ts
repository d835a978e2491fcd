/**
 * Backups of a data folder: both embedded stores as they lie on disk while no process has them open.
 *
 * At rest the two files are of one moment, so what is put back is exactly what was there. Putting back works
 * in a draft inside the data folder (which may be a mounted disk) and moves the hot store first, the database
 * last: a node that starts in between finds counters without a database and refuses. The next restore
 * clears an unfinished one away. Called by the command line.
 */
import { existsSync, readdirSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { checkPack, packFolder, syncFolder, syncPath, unpack } from '../embedded/copy.ts';
import { lockDataDirectory } from '../embedded/lock.ts';
import { markClosed } from '../embedded/open.ts';
import { BackupError, type EmbeddedBackup, readManifest, writeBackup } from './manifest.ts';

const parts = ['hot', 'sql'] as const;
const draftName = 'restore.unfinished';

/** Whether a directory lies in the data folder. */
export const hasDirectory = (dataDir: string): boolean => existsSync(join(dataDir, 'sql'));

/**
 * Packs both stores of a data folder that no process has open, and reads the packs again. On disk when it
 * resolves. Rejects with words and leaves nothing behind.
 */
export const backupFolder = async (
  dataDir: string,
  directory: string,
  takenAt: string,
): Promise<EmbeddedBackup> => {
  const lock = await lockDataDirectory(dataDir);
  try {
    return (await writeBackup(directory, async (draft) => {
      const pack = async (part: (typeof parts)[number]) => {
        const file = join(draft, `${part}.pack`);
        const contents = packFolder(join(dataDir, part), file);
        await syncPath(file, false);
        await checkPack(file, contents);
        return contents;
      };
      return { format: 1, kind: 'embedded', takenAt, hot: await pack('hot'), sql: await pack('sql') };
    })) as EmbeddedBackup;
  } finally {
    lock.release();
  }
};

/**
 * Puts the stores of a backup into a data folder that holds none. On disk when it resolves. Rejects with
 * words, before anything is in its place, when the backup is damaged or the folder is used.
 */
export const restoreFolder = async (directory: string, dataDir: string): Promise<EmbeddedBackup> => {
  const manifest = readManifest(directory);
  if (manifest.kind !== 'embedded') throw new BackupError(describeOtherKind(directory));
  const lock = await lockDataDirectory(dataDir);
  try {
    const draft = join(dataDir, draftName);
    await clearUnfinished(dataDir, draft);
    assertUnused(dataDir);
    await fillDraft(directory, manifest, draft);
    markClosed(dataDir);
    for (const part of parts) await rename(join(draft, part), join(dataDir, part));
    await rm(draft, { recursive: true });
    await syncPath(dataDir, true);
    return manifest;
  } finally {
    lock.release();
  }
};

const describeOtherKind = (directory: string): string =>
  `The backup in ${directory} is of a Postgres server and the settings name the embedded stores. Set ` +
  'REDIS_URL and DATABASE_URL, or bring the directory over with `export` and `import`.';

/** What an interrupted restore left. Throws words when it was whole: the database is in its place last. */
const clearUnfinished = async (dataDir: string, draft: string): Promise<void> => {
  if (!existsSync(draft)) return;
  const whole = hasDirectory(dataDir);
  const left = whole ? [] : ['hot', 'sql.state.json'];
  for (const name of left) await rm(join(dataDir, name), { recursive: true, force: true });
  await rm(draft, { recursive: true });
  await syncPath(dataDir, true);
  if (whole)
    throw new BackupError(
      `The restore into ${dataDir} that ended before had put all in its place. The server can be started.`,
    );
};

const assertUnused = (dataDir: string): void => {
  const found = readdirSync(dataDir).filter((name) => name !== 'lock' && !name.startsWith('lock.'));
  if (found.length === 0) return;
  throw new BackupError(
    `${dataDir} is not empty (${found.slice(0, 4).join(', ')}). A restore never writes over anything: move ` +
      'it away, or name another DATA_DIR.',
  );
};

const fillDraft = async (directory: string, manifest: EmbeddedBackup, draft: string): Promise<void> => {
  try {
    for (const part of parts)
      await unpack(join(directory, `${part}.pack`), manifest[part], join(draft, part));
    await syncFolder(draft);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw new BackupError(`Nothing was restored: ${error instanceof Error ? error.message : String(error)}.`);
  }
};
