/**
 * The last resort of a process: an exception or rejection that nothing caught.
 *
 * What the process knows may be wrong from then on, so it is logged, the work that was begun is ended as
 * for a stop, within a deadline, and the process ends with 1: a supervisor starts the next one. Called by
 * main.ts, once per process.
 */
import { pino } from 'pino';

export interface UncaughtParts {
  /** Ends the work that was begun. Called once; may reject. */
  readonly stop: () => Promise<unknown>;
  /** The process ends after this also when `stop` does not. */
  readonly limitMs: number;
}

/** Whether the process is ending because of such a fault: then it ends with 1, whatever else stops it. */
export interface Uncaught {
  readonly happened: boolean;
}

/** Watches from now on. */
export const endOnUncaught = ({ stop, limitMs }: UncaughtParts): Uncaught => {
  const uncaught = { happened: false };
  const end = (): never => process.exit(1);
  process.on('uncaughtException', (error: unknown, origin) => {
    const cause = error instanceof Error ? error : new Error(String(error));
    const isFirst = !uncaught.happened;
    uncaught.happened = true;
    pino({ name: 'rollcall' }).fatal(
      { err: cause, origin },
      'an error that nothing caught: this process ends',
    );
    if (!isFirst) return;
    setTimeout(end, limitMs);
    stop().then(end, end);
  });
  return uncaught;
};
