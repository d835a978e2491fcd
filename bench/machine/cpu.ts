/**
 * CPU time of a server process: from /proc on Linux, elsewhere from the process itself.
 *
 * Times are in microseconds, user and system together, of all threads; `mainUs` is the thread that runs the
 * event loop (0 where that is unknown). They are exact where the kernel counts the time of each thread
 * (`schedstat`); elsewhere, and for ended children, they come in ticks of 10 ms.
 */
import type { ChildProcess } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

export interface CpuTime {
  readonly totalUs: number;
  readonly mainUs: number;
}

export const hasProc = existsSync('/proc/self/stat');
/** USER_HZ, which is 100 on every Linux that Node runs on. */
const tickUs = 10_000;

/** The times of one `stat` file. The name in brackets may contain blanks, so fields are counted after it. */
const parseTicks = (text: string): number => {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
};

const readTicksUs = (path: string): number => parseTicks(readFileSync(path, 'utf8')) * tickUs;

/** Of one thread; 0 when it has just ended. */
const threadUs = (folder: string): number => {
  try {
    return Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ', 1)[0]) / 1_000;
  } catch {
    return 0;
  }
};
const countsThreads = threadUs('/proc/thread-self') > 0;

/** Of live threads: a server's threads live as long as it does. */
const threadsUs = (pid: number): CpuTime => {
  const folder = `/proc/${pid}/task`;
  const all = readdirSync(folder).map((thread) => threadUs(`${folder}/${thread}`));
  return { totalUs: all.reduce((sum, one) => sum + one, 0), mainUs: threadUs(`${folder}/${pid}`) };
};

/** CPU time used so far. Rejects when the process is gone. */
export const readCpuTime = async (child: ChildProcess): Promise<CpuTime> => {
  const { pid } = child;
  if (!hasProc || pid === undefined) return askForCpu(child);
  if (countsThreads) return threadsUs(pid);
  const totalUs = readTicksUs(`/proc/${pid}/stat`);
  return { totalUs, mainUs: readTicksUs(`/proc/${pid}/task/${pid}/stat`) };
};

const askForCpu = (child: ChildProcess): Promise<CpuTime> =>
  new Promise((resolve, reject) => {
    child.once('message', (message: { readonly cpu: NodeJS.CpuUsage }) => {
      resolve({ totalUs: message.cpu.user + message.cpu.system, mainUs: 0 });
    });
    child.send('cpu', (error) => {
      if (error) reject(error);
    });
  });

/** User and system time of a process so far, all threads; 0 when it is gone or where there is no /proc. */
export const readProcessUs = (pid: number): number => {
  try {
    return countsThreads ? threadsUs(pid).totalUs : readTicksUs(`/proc/${pid}/stat`);
  } catch {
    return 0;
  }
};

/** A process and its living children. */
export const listTree = (pid: number): readonly number[] => {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    return [pid, ...children.filter((word) => word !== '').map(Number)];
  } catch {
    return [];
  }
};

/** Bytes that a process has sent to the disk so far; 0 where that is unknown. */
export const readWrittenBytes = (pid: number): number => {
  try {
    return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
};

/** The same of a process, its living children, and those it has waited for. */
export const readTreeUs = (pid: number): number => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const gone = (Number(fields[13]) + Number(fields[14])) * tickUs;
    return gone + listTree(pid).reduce((sum, one) => sum + readProcessUs(one), 0);
  } catch {
    return 0;
  }
};

/** One line of a process's `status`, which is in kB, in bytes; 0 where that is unknown. */
const readStatusBytes = (pid: number, name: string): number => {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1_024;
  } catch {
    return 0;
  }
};

/** Resident memory in bytes; 0 where that is unknown. */
export const readResidentBytes = (pid: number): number => readStatusBytes(pid, 'VmRSS');

/** The part of it that is pages of files, which the kernel takes back when it needs them. */
export const readFilePagesBytes = (pid: number): number => readStatusBytes(pid, 'RssFile');

/** Memory of a process, with its share of what several have; 0 where that is unknown. */
export const readProportionalBytes = (pid: number): number => {
  try {
    const found = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
    return Number(found?.[1] ?? 0) * 1_024;
  } catch {
    return 0;
  }
};
