/**
 * What all commands share: the output streams, the stop signal, the error, and the format of numbers.
 */
import type { ProgressStream } from './progress.ts';

export interface Terminal {
  /** Where answers to questions, and the lines of `import -`, come from; absent if there is none. */
  readonly input?: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** For results only. */
  readonly out: ProgressStream;
  /** For progress, notes and errors. */
  readonly err: ProgressStream;
  /** Aborted when the operator presses Ctrl-C: finish the current step and stop. */
  readonly signal: AbortSignal;
}

/** The exit code of a command that was ended by Ctrl-C, as in a shell. */
export const interruptedExitCode = 130;

type FailureExitCode = 1 | 2 | typeof interruptedExitCode;

/** Ends a command with a message. Exit code 1: failure; 2: invalid arguments; 130: interrupted. */
export class CommandError extends Error {
  readonly exitCode: FailureExitCode;

  constructor(message: string, exitCode: FailureExitCode = 1) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
  }
}
