/**
 * What a child process writes, and how it ends.
 */
import type { ChildProcess } from 'node:child_process';

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** Both streams, as they came. */
  readonly output: string;
}
export interface WatchedChild {
  /** Both streams so far. */
  output(): string;
  /** Rejects when the process could not be started. */
  readonly ended: Promise<Ended>;
}

/** Collects the output of a process that was just started. */
export const watchChild = (child: ChildProcess): WatchedChild => {
  const texts = { out: '', err: '', output: '' };
  const collect = (name: 'out' | 'err') => (chunk: string) => {
    texts[name] += chunk;
    texts.output += chunk;
  };
  child.stdout?.setEncoding('utf8').on('data', collect('out'));
  child.stderr?.setEncoding('utf8').on('data', collect('err'));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...texts }));
  });
  return { output: () => texts.output, ended };
};
