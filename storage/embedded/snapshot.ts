/**
 * Snapshots of the embedded database: takes them as synced packs with checksums, and restores them.
 *
 * PGlite never syncs, so a power cut may tear its folder; a snapshot is synced. Each snapshot has its own
 * folder, which gets its final name last: an unfinished snapshot is never used. The newest two stay.
 * Restoring only reads the snapshot; it moves a broken database folder aside and never deletes it. Called by
 * storage/embedded/open.ts.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkPack, type PackContents, syncFolder, syncPath, unpack } from './copy.ts';

interface SnapshotManifest {
  readonly format: 1;
  readonly takenAt: string;
  readonly contents: PackContents;
  /** The database holds generations: the hot store can continue from it. Missing in older snapshots. */
  readonly generations?: boolean;
}

export interface SnapshotPaths {
  /** The folder of all snapshots. */
  readonly snapshots: string;
  /** The database's own folder. */
  readonly live: string;
}

const snapshotsMax = 2;
const draftSuffix = '.new';
const manifestName = 'manifest.json';
const packName = 'files.pack';

/** Names of finished snapshots, newest first. */
export const listSnapshots = (snapshots: string): readonly string[] =>
  existsSync(snapshots)
    ? readdirSync(snapshots)
        .filter((name) => !name.endsWith(draftSuffix) && existsSync(join(snapshots, name, manifestName)))
        .sort()
        .reverse()
    : [];

const readManifest = (folder: string): SnapshotManifest =>
  JSON.parse(readFileSync(join(folder, manifestName), 'utf8')) as SnapshotManifest;

/** Whether the hot store can continue from one of the snapshots. */
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

/** A unique name that sorts by time. */
const createName = (): string => `${new Date().toISOString().replaceAll(/[:.]/g, '-')}-${process.pid}`;

const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

export interface SnapshotSource {
  /** Packs the quiesced database into a new file, not synced. */
  readonly packInto: (file: string) => Promise<PackContents>;
  /** Whether the database holds generations. */
  readonly generations: boolean;
}

/**
 * Takes a snapshot: packs the database, syncs the pack and checks it. Durable when it resolves, to the
 * snapshot's name; removes all but the newest two snapshots last.
 */
export const takeSnapshot = async (
  paths: SnapshotPaths,
  { packInto, generations }: SnapshotSource,
): Promise<string> => {
  mkdirSync(paths.snapshots, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(paths.snapshots)) {
    if (name.endsWith(draftSuffix)) await remove(join(paths.snapshots, name));
  }
  const name = createName();
  const draft = join(paths.snapshots, name + draftSuffix);
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
  for (const outdated of listSnapshots(paths.snapshots).slice(snapshotsMax))
    await remove(join(paths.snapshots, outdated));
  return name;
};

/**
 * Replaces the database by the snapshot, durably. Moves the existing folder aside and resolves to its new
 * path, `''` if there was none. Rejects with an `Error` and changes nothing if the snapshot is damaged.
 */
export const restoreSnapshot = async (paths: SnapshotPaths, name: string): Promise<string> => {
  const folder = join(paths.snapshots, name);
  const manifest = readManifest(folder);
  const draft = `${paths.live}${draftSuffix}`;
  await remove(draft);
  await unpack(join(folder, packName), manifest.contents, draft);
  await syncFolder(draft);
  const aside = existsSync(paths.live) ? `${paths.live}.broken-${createName()}` : '';
  if (aside) renameSync(paths.live, aside);
  renameSync(draft, paths.live);
  await syncPath(dirname(paths.live), true);
  return aside;
};
