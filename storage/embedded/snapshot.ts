/**
 * Snapshots of the embedded database: takes them as synced packs with checksums, and restores them.
 *
 * PGlite never syncs, so after a power cut its folder may be torn; a snapshot is not. Each lies in a folder
 * of its own that gets its final name last, so an unfinished one is never taken for one. The newest two stay.
 * Restoring unpacks: a snapshot itself is never written to, and a broken folder is moved aside, never
 * deleted. Called by storage/embedded/open.ts.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkPack, type PackContents, syncFolder, syncPath, unpack } from './copy.ts';

interface SnapshotManifest {
  readonly format: 1;
  readonly takenAt: string;
  readonly contents: PackContents;
  /** Generations were given out in it: the hot store can be continued from it. Missing in older ones. */
  readonly generations?: boolean;
}

export interface SnapshotPaths {
  /** Folder that holds all snapshots. */
  readonly snapshots: string;
  /** The database's own folder. */
  readonly live: string;
}

const keepNewest = 2;
const unfinished = '.new';
const manifestName = 'manifest.json';
const packName = 'files.pack';

/** Names of finished snapshots, newest first. */
export const listSnapshots = (snapshots: string): readonly string[] =>
  existsSync(snapshots)
    ? readdirSync(snapshots)
        .filter((name) => !name.endsWith(unfinished) && existsSync(join(snapshots, name, manifestName)))
        .sort()
        .reverse()
    : [];

const readManifest = (folder: string): SnapshotManifest =>
  JSON.parse(readFileSync(join(folder, manifestName), 'utf8')) as SnapshotManifest;

/** Whether a finished snapshot has generations: its database was in use together with a hot store. */
export const isProtected = (snapshots: string): boolean =>
  listSnapshots(snapshots).some((name) => readManifest(join(snapshots, name)).generations === true);

const writeSynced = async (path: string, text: string): Promise<void> => {
  const handle = await open(path, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** A name that sorts by time, and no two alike. */
const createName = (): string => `${new Date().toISOString().replaceAll(/[:.]/g, '-')}-${process.pid}`;

const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

export interface Packing {
  readonly packInto: (file: string) => Promise<PackContents>;
  /** Whether the database holds generations. */
  readonly generations: boolean;
}

/**
 * Takes a snapshot: `packInto` packs the quiesced database into a new file, which is synced and read again.
 * Durable when it resolves, to the snapshot's name; only then are older ones than the newest two removed.
 */
export const takeSnapshot = async (
  paths: SnapshotPaths,
  { packInto, generations }: Packing,
): Promise<string> => {
  mkdirSync(paths.snapshots, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(paths.snapshots)) {
    if (name.endsWith(unfinished)) await remove(join(paths.snapshots, name));
  }
  const name = createName();
  const draft = join(paths.snapshots, name + unfinished);
  mkdirSync(draft, { mode: 0o700 });
  const pack = join(draft, packName);
  const contents = await packInto(pack);
  await syncPath(pack, false);
  await checkPack(pack, contents);
  const manifest: SnapshotManifest = { format: 1, takenAt: new Date().toISOString(), contents, generations };
  await writeSynced(join(draft, manifestName), JSON.stringify(manifest));
  await syncPath(draft, true);
  renameSync(draft, join(paths.snapshots, name));
  await syncPath(paths.snapshots, true);
  for (const old of listSnapshots(paths.snapshots).slice(keepNewest))
    await remove(join(paths.snapshots, old));
  return name;
};

/**
 * Puts the snapshot's files in the database's place, synced. What was there is moved aside; resolves to
 * where, `''` when nothing was there. Rejects with words, and leaves all as it is, when the snapshot is
 * damaged.
 */
export const putBack = async (paths: SnapshotPaths, name: string): Promise<string> => {
  const folder = join(paths.snapshots, name);
  const manifest = readManifest(folder);
  const draft = `${paths.live}${unfinished}`;
  await remove(draft);
  await unpack(join(folder, packName), manifest.contents, draft);
  await syncFolder(draft);
  const aside = existsSync(paths.live) ? `${paths.live}.broken-${createName()}` : '';
  if (aside) renameSync(paths.live, aside);
  renameSync(draft, paths.live);
  await syncPath(dirname(paths.live), true);
  return aside;
};
