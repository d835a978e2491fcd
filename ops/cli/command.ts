/**
 * What commands share: where they write, how they are stopped, and how they fail in words.
 */
import type { ProgressStream } from './progress.ts';

export interface Terminal {
  /** Results alone. */
  readonly out: ProgressStream;
  /** Progress, notes and failures. */
  readonly err: ProgressStream;
  /** Aborted by the operator: finish the step under way and stop. */
  readonly signal: AbortSignal;
}

/** Ends a command with words for the operator; 1 is a failure, 2 words that were not understood. */
export class CommandError extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}

/** What a shell reports for a command ended by Ctrl-C. */
export const interruptedExitCode = 130;

/** `1 234 567`, readable in any language. */
export const formatCount = (count: number): string => count.toLocaleString('en').replaceAll(',', ' ');

/** `1 bot`, `2 bots`. */
export const formatCounted = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
