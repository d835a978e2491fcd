/**
 * On which cores servers and generator run.
 */
import { execFileSync } from 'node:child_process';
import { setPriority } from 'node:os';

export type Placement = 'free' | 'shared' | 'apart';

export interface Places {
  readonly words: string;
  /** Puts a server where it is to run. */
  settle(pid: number | undefined): void;
}

export const placesOf = (placement: Placement): Places => ({
  words: placement,
  settle: (pid) => {
    if (placement === 'free' || pid === undefined) return;
    execFileSync('taskset', ['-a', '-p', '-c', '0', String(pid)], { stdio: 'ignore' });
    if (placement === 'shared') setPriority(pid, 19);
  },
});
