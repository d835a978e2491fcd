/**
 * Packs a folder of database files into one file, checks a pack, and unpacks it; syncs folders.
 *
 * A pack is one file, because a copy of a thousand small files costs a thousand syncs, and as many again when
 * it is removed. For a backup of a running server `packFolder` runs in the PGlite thread while no statement
 * runs; the main thread syncs and checks the pack later.
 */
import { closeSync, type Dirent, mkdirSync, openSync, readdirSync, readSync, writeSync } from 'node:fs';
import { appendFile, open } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { crc32 } from 'node:zlib';

/** The folders and files of a pack; the files in the order of their bytes. */
export interface PackContents {
  readonly folders: readonly string[];
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly crc: number }[];
}

const chunkBytes = 1024 * 1024;
/** Files synced at once: the disk commits their syncs together. */
const filesAtOnce = 32;

/** Paths of all files below `folder`, and of all folders, parents first; relative and sorted. */
export const listFolder = (folder: string): { files: string[]; folders: string[] } => {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const list = (some: readonly Dirent[]): string[] =>
    some.map(({ parentPath, name }) => relative(folder, join(parentPath, name))).sort();
  return {
    files: list(entries.filter((entry) => entry.isFile())),
    folders: ['', ...list(entries.filter((entry) => entry.isDirectory()))],
  };
};

/** Appends one file to an open pack, through the buffer `chunk`. Returns its length and checksum. */
const packFile = (pack: number, path: string, chunk: Buffer): { bytes: number; crc: number } => {
  const source = openSync(path, 'r');
  try {
    let bytes = 0;
    let crc = 0;
    for (;;) {
      const read = readSync(source, chunk, 0, chunk.length, bytes);
      if (read === 0) return { bytes, crc };
      const part = chunk.subarray(0, read);
      for (let done = 0; done < read; ) done += writeSync(pack, part, done, read - done);
      crc = crc32(part, crc);
      bytes += read;
    }
  } finally {
    closeSync(source);
  }
};

/** Writes all files of `folder` into the new file `into`. Not durable: the caller syncs it. */
export const packFolder = (folder: string, into: string): PackContents => {
  const { files, folders } = listFolder(folder);
  const pack = openSync(into, 'wx', 0o600);
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    return {
      folders,
      files: files.map((path) => ({ path, ...packFile(pack, join(folder, path), chunk) })),
    };
  } finally {
    closeSync(pack);
  }
};

/** Reads the pack and passes each part to `each`. Rejects at the first file that is cut off or changed. */
const readPack = async (
  pack: string,
  contents: PackContents,
  each: (path: string, part: Buffer) => Promise<void>,
): Promise<void> => {
  const handle = await open(pack, 'r');
  const chunk = Buffer.allocUnsafe(chunkBytes);
  try {
    for (const { path, bytes, crc } of contents.files) {
      let sum = 0;
      for (let left = bytes; left > 0; ) {
        const { bytesRead } = await handle.read(chunk, 0, Math.min(left, chunkBytes), null);
        if (bytesRead === 0) throw new Error(`${pack} ends within ${path}`);
        const part = chunk.subarray(0, bytesRead);
        sum = crc32(part, sum);
        await each(path, part);
        left -= bytesRead;
      }
      if (sum !== crc) throw new Error(`${pack} is damaged within ${path}`);
    }
  } finally {
    await handle.close();
  }
};

/** Rejects with an `Error` that names the file if the pack differs from what was written. */
export const checkPack = (pack: string, contents: PackContents): Promise<void> =>
  readPack(pack, contents, async () => {});

/** Throws if a name of the pack leads out of the folder `into`: a manifest may come from anywhere. */
const assertInside = (pack: string, contents: PackContents, into: string): void => {
  for (const path of [...contents.folders, ...contents.files.map((file) => file.path)]) {
    const way = relative(into, resolve(into, path));
    if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) || isAbsolute(path))
      throw new Error(`${pack} is not a pack of Rollcall: it names ${JSON.stringify(path)}, outside of it`);
  }
};

/**
 * Unpacks into the new folder `into`. Rejects if the pack is damaged, and before it writes anything if a name
 * leads out of the folder. Not durable: the caller syncs.
 */
export const unpack = async (pack: string, contents: PackContents, into: string): Promise<void> => {
  assertInside(pack, contents, into);
  for (const folder of contents.folders) mkdirSync(join(into, folder), { recursive: true, mode: 0o700 });
  for (const { path } of contents.files) closeSync(openSync(join(into, path), 'wx', 0o600));
  await readPack(pack, contents, (path, part) => appendFile(join(into, path), part));
};

/** Makes one file, or the names in one folder, durable. Windows cannot sync folders and need not. */
export const syncPath = async (path: string, isFolder: boolean): Promise<void> => {
  if (isFolder && process.platform === 'win32') return;
  const handle = await open(path, isFolder ? 'r' : 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Makes all files and folders below `folder`, and its own name, durable. */
export const syncFolder = async (folder: string): Promise<void> => {
  const { files, folders } = listFolder(folder);
  const remaining = files.values();
  const syncRemaining = async (): Promise<void> => {
    for (const path of remaining) await syncPath(join(folder, path), false);
  };
  await Promise.all(Array.from({ length: filesAtOnce }, syncRemaining));
  for (const path of folders) await syncPath(join(folder, path), true);
  await syncPath(dirname(folder), true);
};
