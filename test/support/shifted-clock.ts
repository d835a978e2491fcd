/**
 * A wall clock that a test moves, for one process, by a preloaded library. Monotonic clocks are unchanged, as
 * when an operator or NTP sets the time.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from './folder.ts';
import { buildLibrary, printWith } from './preloaded-library.ts';

export interface ShiftedClock {
  /** For the process whose clock it is. */
  readonly environment: Readonly<Record<string, string>>;
  /** From now on the process reads a time so far from the true one. */
  shift(byMs: number): void;
}
export interface ShiftedClocks {
  create(): ShiftedClock;
  /** When every process that has a clock has ended. */
  close(): void;
}

/** `null` where no such library can be built or preloaded. */
export const openShiftedClocks = (): ShiftedClocks | null => {
  const folder = makeFolder('rollcall-clock-');
  const close = (): void => rmSync(folder, { recursive: true, force: true });
  const library = buildLibrary('clock-shim.c');
  if (library === null || !works(library, folder)) {
    close();
    return null;
  }
  let count = 0;
  const create = (): ShiftedClock => {
    const file = join(folder, `offset-${count++}`);
    write(file, 0);
    return {
      environment: { LD_PRELOAD: library, CLOCK_OFFSET_FILE: file },
      shift: (byMs) => write(file, byMs),
    };
  };
  return { create, close };
};

/** In place: the process has mapped the file. */
const write = (file: string, offsetMs: number): void => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(offsetMs));
  writeFileSync(file, bytes, { flag: existsSync(file) ? 'r+' : 'w' });
};

const works = (library: string, folder: string): boolean => {
  const file = join(folder, 'offset-of-trial');
  write(file, 3_600_000);
  const printed = printWith(library, { CLOCK_OFFSET_FILE: file }, 'Date.now()');
  return Number(printed) - Date.now() > 3_000_000;
};
