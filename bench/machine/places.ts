/**
 * Decides on which cores a server and its load generator run, so that CPU per request can be compared.
 *
 * - `one-core`, for CPU: server and generator share one core, and the server is scheduled as a batch process
 *   (SCHED_BATCH), which does not interrupt the generator. It runs when the generator has nothing left to
 *   send, and then finds many requests waiting, as a server under full load does; a slow generator only makes
 *   this take longer. Stores have the other cores. Otherwise a fast server would idle between requests, pay
 * one
 *   wake-up for each, and look expensive.
 * - `free`, for requests/s and latency: the system places all processes.
 *
 * Needs `taskset` and `chrt` (util-linux); without them only `free` is measured.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

export const placements = ['one-core', 'free'] as const;
export type Placement = (typeof placements)[number];

const quietly = { stdio: 'ignore' } as const;
/** The cores this process may use, as `0-3,8`: in a container they need not begin at 0. */
const everywhere = (): string => {
  const status = existsSync('/proc/self/status') ? readFileSync('/proc/self/status', 'utf8') : '';
  return /^Cpus_allowed_list:\s+(\S+)$/m.exec(status)?.[1] ?? `0-${availableParallelism() - 1}`;
};
/** The last core, because the system's own work runs mostly on the first. */
export const pickLastCore = (cores: string): string => cores.split(/[,-]/).at(-1) ?? '0';
const sharedCore = (): string => pickLastCore(everywhere());

export const listCores = (placement: Placement): string =>
  placement === 'one-core' ? sharedCore() : everywhere();

/** Whether this machine allows us to place processes. */
export const canPlace = (): boolean => {
  try {
    execFileSync('taskset', ['-c', sharedCore(), 'chrt', '--batch', '0', 'true'], quietly);
    return true;
  } catch {
    return false;
  }
};

/** Moves a running process and its threads there. */
export const placeProcess = (pid: number, placement: Placement, isServer: boolean): void => {
  execFileSync('taskset', ['-a', '-p', '-c', listCores(placement), String(pid)], quietly);
  if (!isServer) return;
  const policy = placement === 'one-core' ? '--batch' : '--other';
  execFileSync('chrt', ['-a', policy, '-p', '0', String(pid)], quietly);
};

/** Lets a process run only while nothing else wants its core (SCHED_IDLE), where this machine allows it. */
export const yieldCores = (pid: number): void => {
  // Where it fails, the figures contain some of what the process takes from others.
  spawnSync('chrt', ['-a', '--idle', '-p', '0', String(pid)], quietly);
};
