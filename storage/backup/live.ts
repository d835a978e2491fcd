/**
 * Copies the embedded stores while the node that owns them runs, and sends the copy over a connection.
 *
 * Both stores are copied while no statement can change SQL, so together they are as a killed process would
 * leave them: the hot store has what is not flushed, and nothing that the copied SQL lacks. The stream is one
 * line of JSON (`StoreCopy`, or `error`), then the bytes of the packs. Empty lines before it keep the
 * connection alive.
 */
import { createReadStream, mkdirSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { checkPack, type PackContents, syncPath } from '../embedded/copy.ts';
import { BackupError } from './manifest.ts';

/** Both parts for a backup; SQL alone for an export. */
export interface StoreCopy {
  readonly sql: PackContents;
  readonly hot?: PackContents;
}
export type CopyParts = 'all' | 'sql';
type Part = keyof StoreCopy;
/** In the order of their bytes. */
const parts: readonly Part[] = ['hot', 'sql'];

export interface CopySource {
  /** Packs the database into a new file; `meanwhile` runs while no statement can change the database. */
  packSql(file: string, meanwhile: () => Promise<void>): Promise<PackContents>;
  /** Copies the hot store, as of one moment within the call, into an empty folder as `data.mdb`. */
  copyHot(folder: string): Promise<void>;
}

const sumBytes = (contents: PackContents | undefined): number =>
  (contents?.files ?? []).reduce((sum, { bytes }) => sum + bytes, 0);

/** Describes one file as a pack: a pack of one file is that file. */
export const describeFile = async (file: string, path: string): Promise<PackContents> => {
  let crc = 0;
  for await (const chunk of createReadStream(file)) crc = crc32(chunk as Buffer, crc);
  return { folders: [''], files: [{ path, bytes: statSync(file).size, crc }] };
};

/** Writes the packs of a copy into `folder`, not synced. */
export const writeStoreCopy = async (
  source: CopySource,
  wanted: CopyParts,
  folder: string,
): Promise<StoreCopy> => {
  const hotFolder = join(folder, 'hot');
  const file = join(folder, 'sql.pack');
  if (wanted === 'sql') return { sql: await source.packSql(file, async () => {}) };
  mkdirSync(hotFolder, { mode: 0o700 });
  const sql = await source.packSql(file, () => source.copyHot(hotFolder));
  await rename(join(hotFolder, 'data.mdb'), join(folder, 'hot.pack'));
  return { hot: await describeFile(join(folder, 'hot.pack'), 'data.mdb'), sql };
};

const aliveEveryMs = 1_000;

/** Creates the sender of a node's copies, one at a time, from drafts in its data folder. */
export const createCopySender = (source: CopySource, dataDir: string) => {
  const draft = join(dataDir, 'copy.unfinished');
  let busy = false;
  async function* copyAndSend(wanted: CopyParts): AsyncGenerator<string | Uint8Array> {
    await rm(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
    const copying = writeStoreCopy(source, wanted, draft).catch((error: unknown) => ({
      error: String(error),
    }));
    let copy: StoreCopy | { readonly error: string } | null = null;
    try {
      while (copy === null) {
        copy = await Promise.race([copying, sleep(aliveEveryMs, null, { ref: false })]);
        if (copy === null) yield '\n';
      }
    } finally {
      await copying; // The client may have left: the draft must not be removed while it is written.
    }
    yield `${JSON.stringify(copy)}\n`;
    if ('error' in copy) return;
    for (const part of parts) {
      if (copy[part] !== undefined) yield* createReadStream(join(draft, `${part}.pack`));
    }
  }
  return async function* sendCopy(wanted: CopyParts): AsyncGenerator<string | Uint8Array> {
    if (busy) {
      yield `${JSON.stringify({ error: 'another backup or export of this node is in progress' })}\n`;
      return;
    }
    busy = true;
    try {
      yield* copyAndSend(wanted);
    } finally {
      await rm(draft, { recursive: true, force: true });
      busy = false;
    }
  };
};

const newline = 0x0a;
/** Names of all files of a copy; a larger header is no header. */
const headerBytesMax = 64 * 1024 * 1024;

const readHeader = async (
  input: AsyncIterator<Uint8Array>,
): Promise<{ copy: StoreCopy; rest: Uint8Array }> => {
  let bytes = Buffer.alloc(0);
  while (bytes.length < headerBytesMax) {
    const { done, value } = await input.next();
    if (done === true) break;
    bytes = Buffer.concat([bytes, value]);
    const start = bytes.findIndex((byte) => byte !== newline);
    const end = start === -1 ? -1 : bytes.indexOf(newline, start);
    if (end === -1) continue;
    const header = JSON.parse(bytes.toString('utf8', start, end)) as StoreCopy & { error?: string };
    if (header.error !== undefined) throw new BackupError(`The node made no copy: ${header.error}.`);
    return { copy: header, rest: bytes.subarray(end + 1) };
  }
  throw new BackupError(brokenOff);
};

const brokenOff = 'The connection to the node ended before the copy was complete. Nothing was written.';

/** Reads `first` and then the input, in pieces of at most `left` bytes. Rejects at its end. */
const createPieceReader = (input: AsyncIterator<Uint8Array>, first: Uint8Array) => {
  let chunk = first;
  return async (left: number): Promise<Uint8Array> => {
    if (chunk.length === 0) {
      const next = await input.next().catch(() => ({ done: true as const, value: undefined }));
      if (next.done === true) throw new BackupError(brokenOff);
      chunk = next.value;
    }
    const piece = chunk.subarray(0, left);
    chunk = chunk.subarray(piece.length);
    return piece;
  };
};

/**
 * Writes the packs of a copy into `folder`, synced and checked. `onBytes` gets the bytes so far and in all.
 * Rejects with a `BackupError` when the copy is incomplete or damaged; the caller removes the folder.
 */
export const receiveCopy = async (
  chunks: AsyncIterable<Uint8Array>,
  folder: string,
  onBytes: (done: number, total: number) => void,
): Promise<StoreCopy> => {
  const input = chunks[Symbol.asyncIterator]();
  const { copy, rest } = await readHeader(input);
  const readPiece = createPieceReader(input, rest);
  const total = sumBytes(copy.hot) + sumBytes(copy.sql);
  let done = 0;
  for (const part of parts) {
    const contents = copy[part];
    if (contents === undefined) continue;
    const path = join(folder, `${part}.pack`);
    const file = await open(path, 'wx', 0o600);
    try {
      for (let left = sumBytes(contents); left > 0; ) {
        const piece = await readPiece(left);
        await file.writeFile(piece);
        left -= piece.length;
        done += piece.length;
        onBytes(done, total);
      }
    } finally {
      await file.close();
    }
    await syncPath(path, false);
    await checkPack(path, contents);
  }
  return copy;
};
