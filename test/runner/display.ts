/**
 * Shows the progress of the tests: on a terminal one updating line below the finished files, elsewhere a
 * plain line per file and a periodic progress line.
 */
import type { Outcome } from './test-process.ts';

const moveMs = 200;
const plainMs = 30_000;

export interface Display {
  started(file: string): void;
  finished(outcome: Outcome): void;
  end(): void;
}

export const createDisplay = (total: number): Display => {
  const terminal = process.stdout.isTTY === true;
  const active = new Map<string, number>();
  let done = 0;
  const status = (): string => {
    const files = [...active].map(([file, sinceMs]) => `${file} ${secondsSince(sinceMs)} s`);
    return `${done}/${total}  ${files.join('  ')}`;
  };
  const clear = (): void => {
    if (terminal) process.stdout.write('\r\x1b[2K');
  };
  const draw = (): void => {
    if (terminal) process.stdout.write(`\r\x1b[2K${status().slice(0, (process.stdout.columns || 80) - 1)}`);
    else console.log(`… ${status()}`);
  };
  const drawing = setInterval(draw, terminal ? moveMs : plainMs);
  return {
    started: (file) => active.set(file, performance.now()),
    finished: (outcome) => {
      active.delete(outcome.file);
      done += 1;
      clear();
      console.log(lineOf(outcome));
    },
    end: () => {
      clearInterval(drawing);
      clear();
    },
  };
};

const secondsSince = (sinceMs: number): number => Math.round((performance.now() - sinceMs) / 1_000);

const lineOf = ({ file, failures, counts, seconds, cpuSeconds }: Outcome): string => {
  const time = `${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU`;
  const failed = failures === 0 ? '' : ` (${failures} failed)`;
  return `${failures === 0 ? '✓' : '✘'} ${file}  ${counts?.passed ?? 0}${failed}  ${time}`;
};
