/**
 * Zeros ahead of the records of a journal file.
 *
 * The sync of an append that makes a file longer writes twice: the record, and what the file system notes
 * about the file. So a file gets zeros ahead, some hundred records at once and in the background, and a
 * record overwrites them. Zeros that cannot be written are no failure: the file then grows with its records.
 * They have a descriptor of their own, because the system tells each descriptor once of a failed write, and
 * the one of the records must hear of it.
 */
import { type FileHandle, open } from 'node:fs/promises';

export interface ZeroedFile {
  readonly path: string;
  /** Bytes of records. */
  bytes: number;
  /** Where zeros behind the records end that are on disk. */
  zerosEnd: number;
  /** Settles when the running portion is written; `null` when none runs. */
  filling: Promise<void> | null;
  /** A portion failed: this file gets no more. */
  failed: boolean;
}

/** Half of it is left when the next one begins. */
const portionBytes = 128 * 1_024;
/** Linux would cache a larger write as one unit, and count all of it for each record in it. */
const pageBytes = 4_096;
const zeros = Buffer.alloc(pageBytes);

/** After a failure the file gets no more zeros. */
const changeFile = async (file: ZeroedFile, change: (handle: FileHandle) => Promise<void>): Promise<void> => {
  try {
    const handle = await open(file.path, 'r+');
    try {
      await change(handle);
    } finally {
      await handle.close();
    }
  } catch {
    file.failed = true;
  }
};

const writeZeros = async (file: ZeroedFile): Promise<void> => {
  const from = Math.max(file.bytes, file.zerosEnd);
  await changeFile(file, async (handle) => {
    let end = from;
    while (end < from + portionBytes)
      end += (await handle.write(zeros, 0, pageBytes - (end % pageBytes), end)).bytesWritten;
    await handle.datasync();
    file.zerosEnd = end;
  });
  file.filling = null;
};

/** Begins the next portion in the background when little is left. */
export const fillAhead = (file: ZeroedFile): void => {
  if (file.failed || file.filling !== null || file.zerosEnd - file.bytes > portionBytes / 2) return;
  file.filling = writeZeros(file);
};

/** Resolves when so many bytes may follow the records: a running portion must not overwrite them. */
export const awaitZeros = async (file: ZeroedFile, bytes: number): Promise<void> => {
  if (file.bytes + bytes > file.zerosEnd) await file.filling;
};

/**
 * Cuts the zeros off before another file follows: versions without them take zeros for half a record there.
 * Never rejects: this version reads zeros as the end. Call while no append runs.
 */
export const cutZeros = async (file: ZeroedFile): Promise<void> => {
  await file.filling;
  if (file.zerosEnd <= file.bytes) return;
  await changeFile(file, async (handle) => {
    await handle.truncate(file.bytes);
    await handle.datasync();
    file.zerosEnd = 0;
  });
};
