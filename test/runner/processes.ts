/**
 * Finds and ends processes that a test file left behind. Every child of a test inherits a marker in its
 * environment, so they are found even when they started a group or session of their own; Redis and Postgres
 * overwrite theirs, so children of marked processes count, too. Where there is no /proc, only the test's own
 * process group is ended.
 */
import { readdirSync, readFileSync } from 'node:fs';

export const markVariable = 'ROLLCALL_TEST_FILE';

interface Found {
  readonly pid: number;
  readonly parent: number;
  readonly marked: boolean;
}

/** Running processes with the marker, and all their descendants: pid and command line. */
export const familyOf = (mark: string): { pid: number; command: string }[] => {
  const all = processIds().map((pid) => look(pid, mark));
  const family = new Set(all.filter((one) => one.marked).map(({ pid }) => pid));
  // Iterating over a set includes elements added meanwhile: this reaches grandchildren.
  for (const pid of family) for (const one of all) if (one.parent === pid) family.add(one.pid);
  return [...family].map((pid) => ({ pid, command: commandOf(pid) }));
};

const look = (pid: number, mark: string): Found => ({
  pid,
  // The program's name precedes it and may contain anything, also blanks and parentheses.
  parent: Number(/.*\) \S (\d+)/s.exec(readProcessFile(pid, 'stat'))?.[1]),
  marked: readProcessFile(pid, 'environ').split('\0').includes(`${markVariable}=${mark}`),
});

const commandOf = (pid: number): string =>
  readProcessFile(pid, 'cmdline').replaceAll('\0', ' ').trim().slice(0, 160);

/**
 * Ends the group of `leader` and everything of its family, at once. The leader itself, who may be calling,
 * goes last; what it started meanwhile is looked for once more.
 */
export const endAll = (leader: number | undefined, mark: string): void => {
  for (const { pid } of familyOf(mark)) if (pid !== leader) signal(pid);
  if (leader !== undefined) signal(-leader);
  for (const { pid } of familyOf(mark)) signal(pid);
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

/** Empty for processes that have ended or belong to another user. */
const readProcessFile = (pid: number, name: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
};
