/**
 * Power cuts under the embedded database: of a simulated disk only what was synced is certain to be there.
 * Cut around each sync, the folder opens and has every commit that was answered.
 *
 * Own process: it replaces functions of `node:fs`.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { syncFiles } from '../../../storage/embedded/background-syncs.ts';
import { openEmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { createSyncedFiles } from '../../../storage/embedded/synced-files.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('power cuts');
const root = makeFolder('rollcall-cut-');
const live = join(root, 'live');
const base = join(root, 'base');
const sectorBytes = 512;
/** Every so many syncs the disk is cut. */
const cutEvery = 17;

interface Inode {
  /** Path in `base` of the content at the beginning; `''` for a new file. */
  readonly origin: string;
  /** What is certain to be on disk, once it differs from the origin. */
  synced: Buffer | null;
  writes: { at: number; bytes: Buffer }[];
}
type Names = Map<string, Inode | 'folder'>;

const disk = {
  tracing: false,
  names: new Map() as Names,
  syncedNames: new Map() as Names,
  /** Changes of names in each folder since its last sync, in order. */
  changes: [] as { folder: string; apply: (names: Names) => void }[],
  descriptors: new Map<number, string>(),
  syncs: 0,
  answered: 0,
  cuts: [] as { folder: string; answered: number }[],
};
let seed = 7;
const random = (): number => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return seed / 2_147_483_648;
};

const isInside = (path: unknown): path is string => typeof path === 'string' && path.startsWith(live);
const contentOf = (inode: Inode): Buffer =>
  inode.synced ?? (inode.origin ? original.readFileSync(join(base, inode.origin)) : Buffer.alloc(0));
const writeInto = (content: Buffer, at: number, bytes: Buffer): Buffer => {
  const grown =
    content.length >= at + bytes.length
      ? content
      : Buffer.concat([content, Buffer.alloc(at + bytes.length - content.length)]);
  bytes.copy(grown, at);
  return grown;
};
const original = { ...fs };

const changeNames = (folder: string, apply: (names: Names) => void): void => {
  apply(disk.names);
  disk.changes.push({ folder, apply });
};
const syncFile = (path: string): void => {
  const inode = disk.names.get(path);
  if (inode === 'folder') {
    for (const { apply } of disk.changes.filter(({ folder }) => folder === path)) apply(disk.syncedNames);
    disk.changes = disk.changes.filter(({ folder }) => folder !== path);
  } else if (inode !== undefined) {
    let content: Buffer = Buffer.from(contentOf(inode));
    content = writeInto(
      content,
      Math.max(0, ...inode.writes.map(({ at, bytes }) => at + bytes.length)),
      Buffer.alloc(0),
    );
    for (const { at, bytes } of inode.writes)
      content = at < 0 ? content.subarray(0, -at - 1) : writeInto(content, at, bytes);
    inode.synced = content;
    inode.writes = [];
  }
};
/** Some of what is not synced may be on disk, too: any sectors, and the first changes of names. */
const cut = (share: number): void => {
  const folder = join(root, `cut-${disk.cuts.length}`);
  const names = new Map(disk.syncedNames);
  for (const { apply } of disk.changes.slice(0, Math.floor(random() * share * (disk.changes.length + 1))))
    apply(names);
  original.mkdirSync(folder);
  const entries = [...names].sort(([left], [right]) => (left < right ? -1 : 1));
  for (const [path, inode] of entries) {
    const target = join(folder, relative(live, path));
    if (inode === 'folder') original.mkdirSync(target, { recursive: true });
    else if (inode.synced === null && inode.writes.length === 0 && inode.origin)
      original.copyFileSync(join(base, inode.origin), target);
    else {
      let content: Buffer = Buffer.from(contentOf(inode));
      if (share > 0)
        content = writeInto(
          content,
          Math.max(0, ...inode.writes.map(({ at, bytes }) => at + bytes.length)),
          Buffer.alloc(0),
        );
      for (const { at, bytes } of inode.writes) {
        for (let done = 0; at >= 0 && done < bytes.length; done += sectorBytes)
          if (random() < share)
            content = writeInto(content, at + done, bytes.subarray(done, done + sectorBytes));
      }
      original.writeFileSync(target, content);
    }
  }
  disk.cuts.push({ folder, answered: disk.answered });
};
const aroundSync = (path: string | undefined): void => {
  if (!disk.tracing || path === undefined) return;
  disk.syncs += 1;
  const isCut = disk.syncs % cutEvery === 0;
  if (isCut) cut([0, 0.5, 1][disk.cuts.length % 3] ?? 0);
  syncFile(path);
  if (isCut && random() < 0.5) cut(0);
};

const replaced = fs as unknown as Record<string, unknown>;

const replaceFileFunctions = (): void => {
  replaced.openSync = (path: string, flags: never, mode: never) => {
    const descriptor = original.openSync(path, flags, mode);
    if (isInside(path)) disk.descriptors.set(descriptor, path);
    return descriptor;
  };
  replaced.closeSync = (descriptor: number) => {
    disk.descriptors.delete(descriptor);
    original.closeSync(descriptor);
  };
  replaced.writeSync = (
    descriptor: number,
    bytes: Uint8Array,
    offset = 0,
    length = bytes.length,
    position = 0,
  ) => {
    const inode = disk.names.get(disk.descriptors.get(descriptor) ?? '');
    if (disk.tracing && inode !== undefined && inode !== 'folder')
      inode.writes.push({ at: position, bytes: Buffer.from(bytes.slice(offset, offset + length)) });
    return original.writeSync(descriptor, bytes, offset, length, position);
  };
  replaced.ftruncateSync = (descriptor: number, length: number) => {
    const inode = disk.names.get(disk.descriptors.get(descriptor) ?? '');
    if (disk.tracing && inode !== undefined && inode !== 'folder')
      inode.writes.push({ at: -length - 1, bytes: Buffer.alloc(0) });
    original.ftruncateSync(descriptor, length);
  };
  replaced.writeFileSync = (path: string, data: string, options: never) => {
    const fresh: Inode = { origin: '', synced: null, writes: [] };
    if (disk.tracing && isInside(path)) changeNames(dirname(path), (names) => names.set(path, fresh));
    original.writeFileSync(path, data, options);
  };
};

const replaceNameFunctions = (): void => {
  replaced.mkdirSync = (path: string, options: never) => {
    if (disk.tracing && isInside(path)) changeNames(dirname(path), (names) => names.set(path, 'folder'));
    return original.mkdirSync(path, options);
  };
  replaced.renameSync = (from: string, to: string) => {
    const inode = disk.names.get(from);
    if (disk.tracing && inode !== undefined)
      changeNames(dirname(to), (names) => {
        names.delete(from);
        names.set(to, inode);
      });
    for (const [descriptor, path] of disk.descriptors)
      if (path === from) disk.descriptors.set(descriptor, to);
    original.renameSync(from, to);
  };
  replaced.unlinkSync = (path: string) => {
    if (disk.tracing && isInside(path)) changeNames(dirname(path), (names) => names.delete(path));
    original.unlinkSync(path);
  };
};

const replaceFunctions = (): void => {
  replaceFileFunctions();
  replaceNameFunctions();
  replaced.fdatasyncSync = replaced.fsyncSync = (descriptor: number) =>
    aroundSync(disk.descriptors.get(descriptor));
  replaced.fdatasync = (descriptor: number, done: (error: null) => void) => {
    const path = disk.descriptors.get(descriptor);
    setImmediate(() => {
      aroundSync(path);
      done(null);
    });
  };
  syncBuiltinESMExports();
};

const restoreFunctions = (): void => {
  for (const [name, value] of Object.entries(original))
    if (typeof value === 'function') (fs as unknown as Record<string, unknown>)[name] = value;
  syncBuiltinESMExports();
};

const beginTracing = (): void => {
  for (const entry of original.readdirSync(base, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const inode: Inode = { origin: relative(base, path), synced: null, writes: [] };
    disk.names.set(join(live, relative(base, path)), entry.isDirectory() ? 'folder' : inode);
  }
  disk.names.set(live, 'folder');
  disk.syncedNames = new Map(disk.names);
  disk.tracing = true;
};

/** Commits of all sizes, checkpoints on their way meanwhile, new tables, and a vacuum. */
const work = async (): Promise<void> => {
  const files = createSyncedFiles(live, {
    syncFiles,
    onFailure: (error) => {
      throw error;
    },
    onDiskFull: () => {},
    onCheckpointDue: () => {},
  });
  const startParams = PGlite.defaultStartParams.filter((parameter) => parameter !== '-F');
  const database = await PGlite.create({
    fs: files.fileSystem,
    startParams: [
      ...startParams,
      '-c',
      'wal_sync_method=fsync',
      '-c',
      'shared_buffers=16MB',
      '-c',
      'max_active_replication_origins=0',
    ],
  });
  await files.awaitCheckpoint();
  files.markOpened();
  for (let number = 1; number <= 160; number++) {
    const rows = number % 10 === 0 ? 3_000 : 1;
    await database.exec(`begin; insert into numbers values (${number});
      insert into texts select ${number}, repeat(md5(n::text), 9) from generate_series(1, ${rows}) n;
      update latest set number = ${number}; commit`);
    disk.answered = number;
    if (number % 60 === 30) await database.exec(`create table made_${number} as select * from numbers`);
    // From 80 on each begins before the one before counts.
    if (number % (number < 80 ? 40 : 8) === (number < 80 ? 20 : 4)) await database.exec('checkpoint');
    if (number % 100 === 99) await database.exec('vacuum texts');
    if (number % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await database.close();
  await files.awaitCheckpoint();
};

const readNumbers = async (folder: string): Promise<{ count: number; latest: number; texts: number }> => {
  const { sql, close } = await openEmbeddedSql({ directory: folder });
  try {
    const [row] = await sql<{ count: number; latest: number; texts: number }[]>`
      select (select count(*) from numbers) as count, (select number from latest) as latest,
        (select count(distinct number) from texts) as texts`;
    return row ?? { count: 0, latest: 0, texts: 0 };
  } finally {
    await close();
  }
};

test('every commit that was answered is there, and none by half', async () => {
  const { sql, close } = await openEmbeddedSql({ directory: base });
  await sql`create table numbers (number bigint primary key)`;
  await sql`create table latest (number bigint)`;
  await sql`create table texts (number bigint, body text)`;
  await sql`insert into latest values (0)`;
  await close();
  fs.cpSync(base, live, { recursive: true });
  replaceFunctions();
  beginTracing();
  await work();
  disk.tracing = false;
  restoreFunctions();

  assert.ok(disk.cuts.length > 15, `${disk.cuts.length} cuts in ${disk.syncs} syncs`);
  for (const { folder, answered } of disk.cuts) {
    const { count, latest, texts } = await readNumbers(folder).catch((error: Error) => {
      throw new Error(`${folder}, ${answered} answered: ${error.message}`);
    });
    assert.ok(count >= answered, `${folder} has ${count} of ${answered}`);
    assert.equal([latest, texts], [count, count], folder);
    fs.rmSync(folder, { recursive: true });
  }
});

test.run();
