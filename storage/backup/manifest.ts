/**
 * A backup is a folder: its data in one or two files, and a manifest that says what they are.
 *
 * The folder gets its name when all in it is synced, so an unfinished one is never taken for one. The
 * manifest carries a checksum of itself, and of every byte of the data. Nothing here opens a store.
 * Called by storage/backup/embedded.ts and servers.ts.
 */
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, open, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type PackContents, syncPath } from '../embedded/copy.ts';
import type { NumberedShardPosition } from './age.ts';

interface ManifestHeader {
  readonly format: 1;
  readonly takenAt: string;
}
/** Both embedded stores at rest, of one moment. */
export interface EmbeddedBackup extends ManifestHeader {
  readonly kind: 'embedded';
  readonly sql: PackContents;
  readonly hot: PackContents;
}
/** The SQL of a server; the hot store is healed from it. */
export interface ServersBackup extends ManifestHeader {
  readonly kind: 'servers';
  /** Major version of the server that was dumped. */
  readonly postgres: number;
  readonly dump: { readonly bytes: number; readonly sha256: string };
  /** How far each shard had come, to tell an older hot store from a newer one. */
  readonly newest: readonly NumberedShardPosition[];
}
export type BackupManifest = EmbeddedBackup | ServersBackup;

/** What is wrong with a backup or with the place for it: words for the operator. Nothing was changed. */
export class BackupError extends Error {}

const manifestName = 'manifest.json';
const computeDigest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Throws words unless the folder can be made here: absent, or there and empty. */
export const assertNewFolder = (directory: string): void => {
  const about = statSync(directory, { throwIfNoEntry: false });
  if (about !== undefined && !(about.isDirectory() && readdirSync(directory).length === 0))
    throw new BackupError(`${directory} is there already. Name a new folder for the backup.`);
  if (!existsSync(dirname(resolve(directory))))
    throw new BackupError(`Cannot write ${directory}: there is no folder ${dirname(resolve(directory))}.`);
};

/**
 * Lets `fill` write the data into a draft, adds its manifest, and gives the folder its name. On disk when it
 * resolves. After a failure nothing is left.
 */
export const writeBackup = async (
  directory: string,
  fill: (draft: string) => Promise<BackupManifest>,
): Promise<BackupManifest> => {
  assertNewFolder(directory);
  const draft = `${resolve(directory)}.unfinished`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  try {
    const manifest = await fill(draft);
    const text = JSON.stringify(manifest);
    const file = await open(join(draft, manifestName), 'wx', 0o600);
    await file.writeFile(JSON.stringify({ sha256: computeDigest(text), manifest }));
    await file.sync();
    await file.close();
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

/** The manifest of a finished backup. Throws words when there is none, or it is damaged or too new. */
export const readManifest = (directory: string): BackupManifest => {
  const path = join(directory, manifestName);
  if (!existsSync(path)) throw new BackupError(`There is no backup in ${directory}: ${path} is missing.`);
  const { sha256, manifest } = parse(path);
  if (sha256 !== computeDigest(JSON.stringify(manifest)) || manifest === undefined)
    throw new BackupError(`The backup is damaged: ${path} is not as it was written.`);
  if (manifest.format !== 1)
    throw new BackupError(`The backup in ${directory} was written by a newer version of Rollcall.`);
  return manifest;
};

const parse = (path: string): { sha256?: string; manifest?: BackupManifest } => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) ?? {};
  } catch {
    throw new BackupError(`The backup is damaged: ${path} is not as it was written.`);
  }
};

/** Size and checksum of one file, read from begin to end. */
export const measureDump = async (path: string): Promise<ServersBackup['dump']> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return { bytes: statSync(path).size, sha256: hash.digest('hex') };
};
