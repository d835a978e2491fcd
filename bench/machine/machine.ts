/**
 * The machine and the time of a result: without them its figures mean nothing.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly node: string;
  readonly date: string;
  /** Short hash of the commit, with `+` when files differ from it; `unknown` outside a checkout. */
  readonly commit: string;
  /** Load average of the last minute before the run began. */
  readonly loadBefore: number;
}

const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

const readCommit = (): string => {
  try {
    const changed = git('status', '--porcelain', '--untracked-files=no') !== '';
    return git('rev-parse', '--short', 'HEAD') + (changed ? '+' : '');
  } catch {
    return 'unknown'; // No git, or a copy without history.
  }
};

export const describeMachine = (): Machine => ({
  processor: cpus()[0]?.model.trim() || 'unknown',
  cores: availableParallelism(),
  memoryGib: Math.round(totalmem() / 2 ** 30),
  system: `${process.platform} ${process.arch}`,
  node: process.versions.node,
  date: new Date().toISOString(),
  commit: readCommit(),
  loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
});
