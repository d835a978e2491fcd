/**
 * Zeros ahead of the records of a journal file.
 *
 * An append that makes a file longer needs two writes at its sync: the record, and the file's new length. So
 * zeros for some hundred records are written ahead in the background, and records overwrite them. If zeros
 * cannot be written, nothing fails: the file then grows with its records. Zeros are written through a
 * descriptor of their own. The system reports a failed write once per descriptor, so the journal's own
 * descriptor still reports every failure that concerns records.
 */
import { type FileHandle, open } from 'node:fs/promises';

export interface ZeroedFile {
  readonly path: string;
  /** Bytes of records. */
  bytes: number;
  /** The end of the zeros that are on disk behind the records. */
  zerosEnd: number;
  /** Settles when the running portion is written; `null` when none runs. */
  filling: Promise<void> | null;
  /** A portion failed: this file gets no more. */
  failed: boolean;
}

/** Bytes of zeros written at a time. The next portion begins when half of this is left. */
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
 * Cuts the zeros off before a further file follows, because earlier versions take zeros in an older file for
 * half a record. Never rejects, because this version reads zeros as the end. Call while no append runs.
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
