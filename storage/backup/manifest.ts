/**
 * The format of a backup: a folder with one or two data files, and a manifest that describes them.
 *
 * The folder gets its name after everything in it is synced to disk, so an unfinished backup is never
 * mistaken for a complete one. The manifest has checksums of itself and of all data. Nothing here opens a
 * store.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type PackContents, syncPath } from '../embedded/copy.ts';

/** The newest position of one shard in a store. */
export interface NumberedShardPosition {
  readonly shard: number;
  readonly generation: number;
  readonly version: number;
}

interface ManifestHeader {
  readonly format: 1;
  readonly takenAt: string;
}
/** Both embedded stores, copied while they were closed. */
export interface EmbeddedBackup extends ManifestHeader {
  readonly kind: 'embedded';
  readonly sql: PackContents;
  readonly hot: PackContents;
}
/** A dump of a Postgres server; the hot store is filled from it after a restore. */
export interface ServersBackup extends ManifestHeader {
  readonly kind: 'servers';
  /** Major version of the dumped server. */
  readonly postgres: number;
  readonly dump: { readonly bytes: number; readonly sha256: string };
  /** The newest position of each shard, to detect an older hot store. */
  readonly newest: readonly NumberedShardPosition[];
}
/** A dump of a Postgres server and a copy of the hot store beside it, of one moment. */
export interface AloneBackup extends Omit<EmbeddedBackup, 'kind'> {
  readonly kind: 'alone';
  /** Major version of the dumped server. */
  readonly postgres: number;
}
export type BackupManifest = EmbeddedBackup | ServersBackup | AloneBackup;

/** A backup or its folder cannot be used; the message is for the operator. Nothing was changed. */
export class BackupError extends Error {}

const manifestName = 'manifest.json';
/** A file that only a draft has, so that no other folder is ever taken for one and removed. */
const draftMark = 'unfinished-backup';
const computeDigest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Throws a `BackupError` unless the folder is missing or empty, and its parent exists. */
export const assertNewFolder = (directory: string): void => {
  const stats = statSync(directory, { throwIfNoEntry: false });
  if (stats !== undefined && !(stats.isDirectory() && readdirSync(directory).length === 0))
    throw new BackupError(`${directory} exists already. Name a new folder for the backup.`);
  if (!existsSync(dirname(resolve(directory))))
    throw new BackupError(`Cannot create ${directory}: there is no folder ${dirname(resolve(directory))}.`);
};

/** Removes what a backup left that was killed. Throws a `BackupError` if something else has the name. */
const removeEarlierDraft = async (draft: string): Promise<void> => {
  const stats = lstatSync(draft, { throwIfNoEntry: false });
  if (stats === undefined) return;
  const names = stats.isDirectory() ? readdirSync(draft) : null;
  if (names === null || (names.length > 0 && !names.includes(draftMark)))
    throw new BackupError(
      `${draft} is not an unfinished backup, but a backup needs that name. Move it away.`,
    );
  await rm(draft, { recursive: true });
};

/**
 * Calls `fill` to write the data into a draft folder, adds the manifest, and renames the folder. On disk when
 * it resolves. Deletes the draft after a failure.
 */
export const writeBackup = async <Manifest extends BackupManifest>(
  directory: string,
  fill: (draft: string) => Promise<Manifest>,
): Promise<Manifest> => {
  assertNewFolder(directory);
  const draft = `${resolve(directory)}.unfinished`;
  await removeEarlierDraft(draft);
  await mkdir(draft, { mode: 0o700 });
  try {
    await writeFile(join(draft, draftMark), '');
    const manifest = await fill(draft);
    const text = JSON.stringify(manifest);
    const content = JSON.stringify({ sha256: computeDigest(text), manifest });
    await writeFile(join(draft, manifestName), content, { flag: 'wx', mode: 0o600, flush: true });
    await rm(join(draft, draftMark));
    await syncPath(draft, true);
    if (existsSync(directory)) await rmdir(directory);
    await rename(draft, directory);
    await syncPath(dirname(resolve(directory)), true);
    return manifest;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
};

const otherKinds: Readonly<Record<BackupManifest['kind'], string>> = {
  embedded:
    'a Postgres server, but the settings name the embedded stores. Set REDIS_URL and DATABASE_URL, or move ' +
    'the directory with `export` and `import`.',
  servers:
    'the embedded stores, but the settings name servers. Unset REDIS_URL and DATABASE_URL, or move the ' +
    'directory with `export` and `import`.',
  alone:
    'other stores than a DATA_DIR beside DATABASE_URL. Set the settings that it was made with, and move ' +
    'the restored directory with "rollcall ops move".',
};

/**
 * Reads the manifest of a complete backup of the stores that the settings name. Throws a `BackupError` if it
 * is missing, damaged, too new, or of other stores.
 */
export const readManifest = <Kind extends BackupManifest['kind']>(directory: string, kind: Kind) => {
  const path = join(directory, manifestName);
  if (!existsSync(path)) throw new BackupError(`There is no backup in ${directory}: ${path} is missing.`);
  const { sha256, manifest } = parse(path);
  if (sha256 !== computeDigest(JSON.stringify(manifest)) || manifest === undefined)
    throw new BackupError(`The backup is damaged: ${path} has changed since it was written.`);
  if (manifest.format !== 1)
    throw new BackupError(
      `The backup in ${directory} was made by format ${manifest.format}; this program knows 1. ` +
        'Use the version that wrote it.',
    );
  if (manifest.kind !== kind) throw new BackupError(`The backup in ${directory} is of ${otherKinds[kind]}`);
  return manifest as Extract<BackupManifest, { readonly kind: Kind }>;
};

const parse = (path: string): { sha256?: string; manifest?: BackupManifest } => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) ?? {};
  } catch {
    throw new BackupError(`The backup is damaged: ${path} has changed since it was written.`);
  }
};

/** Reads a whole file for its size and checksum. */
export const measureDump = async (path: string): Promise<ServersBackup['dump']> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return { bytes: statSync(path).size, sha256: hash.digest('hex') };
};
