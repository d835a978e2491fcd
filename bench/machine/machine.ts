/**
 * The machine and the time of a result: without them its figures mean nothing.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

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

export const describeMachine = () => ({
  processor: cpus()[0]?.model.trim() || 'unknown',
  cores: availableParallelism(),
  memoryGib: Math.round(totalmem() / 2 ** 30),
  system: `${process.platform} ${process.arch}`,
  node: process.versions.node,
  date: new Date().toISOString(),
  /** Short hash of the commit, with `+` when files differ from it; `unknown` outside a checkout. */
  commit: readCommit(),
  /** Load average of the last minute before the run began. */
  loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
});
export type Machine = ReturnType<typeof describeMachine>;
