/**
 * How long a process had a core, and how long it was ready to run but had none.
 *
 * On a busy machine the second makes up most of the slowest requests, and says nothing about what is
 * measured. Of the main thread alone. Linux only.
 */
import { readFileSync } from 'node:fs';

export interface CoreTime {
  readonly cpuMs: number;
  readonly waitMs: number;
}

/** Of a process, `self`, or `PID/task/THREAD`. */
export const readCoreTime = (process: number | string): CoreTime => {
  const [cpuNs, waitNs] = readFileSync(`/proc/${process}/schedstat`, 'utf8').split(' ').map(Number);
  return { cpuMs: (cpuNs ?? 0) / 1e6, waitMs: (waitNs ?? 0) / 1e6 };
};

export interface TimedWork {
  readonly ms: number;
  /** Without the time that this process or the server waited for a core. */
  readonly ownMs: number;
}

/** Times work that this process and one process of a server do by turns. */
export const timeWork = async (serverPid: number, work: () => Promise<unknown>): Promise<TimedWork> => {
  const readWaits = (): number => readCoreTime('self').waitMs + readCoreTime(serverPid).waitMs;
  const [waitsMs, startedMs] = [readWaits(), performance.now()];
  await work();
  const ms = performance.now() - startedMs;
  return { ms, ownMs: ms - (readWaits() - waitsMs) };
};

/** Of values in any order. */
export const computeQuantile = (values: readonly number[], share: number): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? 0;
