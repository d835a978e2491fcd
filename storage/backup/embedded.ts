/**
 * Backup and restore of a data folder: copies both embedded stores while no process has them open.
 *
 * A stopped node leaves both stores at the same moment, so a restore gives exactly the state of the backup. A
 * restore fills a draft inside the data folder (which may be a mounted disk), then moves the hot store first
 * and the database last: a node that starts in between finds counters without a database and refuses to
 * start. The next restore deletes an unfinished one.
 */

import { existsSync, readdirSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { toMessage } from '../../engine/errors.ts';
import { checkPack, type PackContents, packFolder, syncFolder, syncPath, unpack } from '../embedded/copy.ts';
import { runLocked } from '../embedded/lock.ts';
import { toDatabaseFolder } from '../embedded/open.ts';
import { BackupError, type EmbeddedBackup, readManifest, writeBackup } from './manifest.ts';

const parts = ['hot', 'sql'] as const;
/** Exists in a data folder while a restore fills it. */
export const draftName = 'restore.unfinished';

const folders = { hot: (dataDir: string) => join(dataDir, 'hot'), sql: toDatabaseFolder };

/** Whether the data folder has a database. */
export const hasDirectory = (dataDir: string): boolean => existsSync(toDatabaseFolder(dataDir));

/**
 * Packs both stores of a data folder that no process has open, and reads the packs again to check them. On
 * disk when it resolves. A rejection has a message for the operator and leaves nothing behind.
 */
export const backupFolder = (dataDir: string, directory: string, takenAt: string): Promise<EmbeddedBackup> =>
  runLocked(dataDir, () =>
    writeBackup(directory, async (draft) => {
      const pack = async (part: (typeof parts)[number]) => {
        const file = join(draft, `${part}.pack`);
        const contents = packFolder(folders[part](dataDir), file);
        await syncPath(file, false);
        await checkPack(file, contents);
        return contents;
      };
      return { format: 1, kind: 'embedded', takenAt, hot: await pack('hot'), sql: await pack('sql') };
    }),
  );

/**
 * Restores the stores of a backup into an empty data folder. On disk when it resolves. Rejects with a
 * `BackupError` before it changes anything when the backup is damaged or the folder is not empty.
 */
export const restoreFolder = async (directory: string, dataDir: string): Promise<EmbeddedBackup> => {
  const manifest = readManifest(directory, 'embedded');
  return runLocked(dataDir, async () => {
    const draft = join(dataDir, draftName);
    await clearUnfinished(dataDir, draft);
    assertUnused(dataDir);
    await fillDraft(directory, manifest, draft);
    for (const part of parts) await rename(join(draft, part), folders[part](dataDir));
    await rm(draft, { recursive: true });
    await syncPath(dataDir, true);
    return manifest;
  });
};

/** Deletes what an interrupted restore left. Throws if it was complete: it moves the database last. */
const clearUnfinished = async (dataDir: string, draft: string): Promise<void> => {
  if (!existsSync(draft)) return;
  const isComplete = hasDirectory(dataDir);
  if (!isComplete) await rm(join(dataDir, 'hot'), { recursive: true, force: true });
  await rm(draft, { recursive: true });
  await syncPath(dataDir, true);
  if (isComplete)
    throw new BackupError(
      `An earlier restore into ${dataDir} was complete when it was interrupted. The server can be started.`,
    );
};

/** Throws a `BackupError` unless the folder has nothing but its lock. */
export const assertUnused = (dataDir: string): void => {
  const names = readdirSync(dataDir).filter((name) => name !== 'lock' && !name.startsWith('lock.'));
  if (names.length === 0) return;
  throw new BackupError(
    `${dataDir} is not empty (${names.slice(0, 4).join(', ')}). A restore never overwrites data: move ` +
      'it away, or set another DATA_DIR.',
  );
};

/** Unpacks both packs into the draft. On disk when it resolves; a rejection leaves no draft. */
export const fillDraft = async (
  directory: string,
  manifest: Record<(typeof parts)[number], PackContents>,
  draft: string,
): Promise<void> => {
  try {
    for (const part of parts)
      await unpack(join(directory, `${part}.pack`), manifest[part], join(draft, part));
    await syncFolder(draft);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw new BackupError(`Nothing was restored: ${toMessage(error)}.`);
  }
};
