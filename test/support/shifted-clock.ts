/**
 * A wall clock that a test moves, for one process: a small library of C is built and preloaded into it.
 *
 * Where it cannot be built (no compiler, not Linux) there is none, and the calling test must report that it
 * skipped something. Monotonic clocks are unchanged, as when an operator or NTP sets the time.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from './folder.ts';

const source = fileURLToPath(new URL('./clock-shim.c', import.meta.url));

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
  if (process.platform !== 'linux') return null;
  const folder = makeFolder('rollcall-clock-');
  const close = (): void => rmSync(folder, { recursive: true, force: true });
  const library = join(folder, 'clock-shim.so');
  if (!isBuilt(library) || !works(library, folder)) {
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

const isBuilt = (library: string): boolean => {
  try {
    execFileSync('gcc', ['-O1', '-shared', '-fPIC', '-o', library, source], { stdio: 'ignore' });
    return true;
  } catch {
    // No compiler, or one that cannot do this.
    return false;
  }
};

/** A Node of ours must really read the other time: one that is linked statically would not. */
const works = (library: string, folder: string): boolean => {
  const file = join(folder, 'offset-of-trial');
  write(file, 3_600_000);
  const env = { ...process.env, LD_PRELOAD: library, CLOCK_OFFSET_FILE: file };
  const said = execFileSync(process.execPath, ['-p', 'Date.now()'], { env, encoding: 'utf8' });
  return Number(said) - Date.now() > 3_000_000;
};
