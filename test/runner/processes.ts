/**
 * Finds and ends processes that a test file left behind. Every child of a test inherits a mark in its
 * environment, so they are found even when they started a group or session of their own. Where there is no
 * /proc, only the test's own process group is ended.
 */
import { readdirSync, readFileSync } from 'node:fs';

export const markVariable = 'ROLLCALL_TEST_FILE';
/** Pid of the runner, for the process it started itself. */
export const parentVariable = 'ROLLCALL_TEST_PARENT';

/** Living processes that carry the mark: pid and command line. */
export const marked = (mark: string): { pid: number; command: string }[] =>
  processIds().flatMap((pid) => {
    const environment = readProcessFile(pid, 'environ').split('\0');
    if (!environment.includes(`${markVariable}=${mark}`)) return [];
    return [{ pid, command: readProcessFile(pid, 'cmdline').replaceAll('\0', ' ').trim().slice(0, 160) }];
  });

/** Ends the group of `leader` and everything that carries the mark, at once. */
export const endAll = (leader: number | undefined, mark: string): void => {
  if (leader !== undefined) signal(-leader);
  for (const { pid } of marked(mark)) signal(pid);
};

const signal = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};

const processIds = (): number[] => {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
};

/** Empty for processes that are gone by now, or somebody else's. */
const readProcessFile = (pid: number, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
};
