/**
 * The disk of one node, by a preloaded library: its writes and syncs below a folder fail or wait as a test
 * says, from one moment to the next.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from './folder.ts';
import { buildLibrary, printWith } from './preloaded-library.ts';

const controlBytes = 4_096;
const folderAt = 20;
/** Behind the faults are the lock and the counter of the record. */
const faultsEndAt = folderAt + 1_024;

type ErrorCode = 'EIO' | 'ENOSPC' | 'EDQUOT';
export interface DiskFaults {
  /** Every write fails. */
  readonly writeError?: ErrorCode;
  /** Writes behind the end of a file are done in part, then fail, as on a full disk. */
  readonly growthError?: ErrorCode;
  readonly syncError?: ErrorCode;
  /** Each sync takes so much longer. */
  readonly syncDelayMs?: number;
}
export interface FaultyDisk {
  /** For the process whose disk it is. */
  readonly environment: Readonly<Record<string, string>>;
  /** The same for a process whose changes below the planted folder are recorded (disk-record.ts). */
  recordInto(file: string): Readonly<Record<string, string>>;
  /** From now on; `{}` ends all faults. */
  plant(folder: string, faults: DiskFaults): void;
  /** Writes and syncs that failed since the last `plant`. */
  countRefused(): number;
}

const numberOf = (code: ErrorCode | undefined): number =>
  code === undefined ? 0 : constants.errno[code as 'EIO'];

const createDisk = (library: string): FaultyDisk => {
  const file = join(makeFolder('rollcall-faulty-'), 'control');
  writeFileSync(file, Buffer.alloc(controlBytes));
  const environment = { LD_PRELOAD: library, DISK_CONTROL: file };
  return {
    environment,
    recordInto: (record) => {
      writeFileSync(record, '');
      return { ...environment, DISK_RECORD: record };
    },
    plant: (folder, { writeError, growthError, syncError, syncDelayMs = 0 }) => {
      const page = Buffer.alloc(faultsEndAt);
      const numbers = [numberOf(writeError), numberOf(growthError), numberOf(syncError), syncDelayMs];
      for (const [index, number] of numbers.entries()) page.writeInt32LE(number, index * 4);
      page.write(folder, folderAt);
      // In place: the process has mapped the file.
      writeFileSync(file, page, { flag: 'r+' });
    },
    countRefused: () => readFileSync(file).readInt32LE(16),
  };
};

/** `null` where no such library can be built or preloaded. */
export const openFaultyDisk = (): FaultyDisk | null => {
  const library = buildLibrary('disk-shim.c');
  if (library === null) return null;
  const disk = createDisk(library);
  const folder = makeFolder('rollcall-faulty-');
  disk.plant(folder, { writeError: 'EIO' });
  const write = `try { fs.writeFileSync('${folder}/trial', 'x') } catch ({ code }) { code }`;
  const works = printWith(library, disk.environment, write).trim() === 'EIO';
  disk.plant(folder, {});
  return works ? disk : null;
};
