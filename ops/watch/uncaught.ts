/**
 * Handles an uncaught exception or rejection.
 *
 * The memory of the process may be wrong afterwards. So the error is logged, the process drains as for a
 * normal stop, within a deadline, and exits with 1, so that a supervisor starts a new process.
 */
import type { Logger } from 'pino';
import { toError } from '../../engine/errors.ts';

export interface UncaughtParts {
  /** Drains the process. Called once; may reject. */
  readonly stop: () => Promise<unknown>;
  /** The process exits after this time even if `stop` has not ended. */
  readonly limitMs: number;
  readonly logger: Pick<Logger, 'fatal'>;
}

export interface Uncaught {
  /** Whether an uncaught error ends this process: it then exits with 1, whatever else stops it. */
  readonly happened: boolean;
}

/** Installs the handler. */
export const endOnUncaught = ({ stop, limitMs, logger }: UncaughtParts): Uncaught => {
  const uncaught = { happened: false };
  const end = (): never => process.exit(1);
  process.on('uncaughtException', (error: unknown, origin) => {
    const cause = toError(error);
    const isFirst = !uncaught.happened;
    uncaught.happened = true;
    logger.fatal({ err: cause, origin }, 'uncaught error: this process ends');
    if (!isFirst) return;
    setTimeout(end, limitMs);
    stop().then(end, end);
  });
  return uncaught;
};
