/**
 * Classifies a failed call to Redis: whether it may have had an effect, and why it failed.
 *
 * An error *answer* is definite: Redis refuses before it runs our functions, and the functions check
 * everything before their first write. The one exception they report themselves (`HALFWRITTEN`). Whatever
 * Redis refuses (a right, a command, a password, a key of another type), an operator can mend: it counts as
 * `busy`. Only an error that Lua raises in our own code is a `bug`. After a lost connection or a time-out the
 * outcome is unknown if the command may have been sent. Tests cover every entry of the tables.
 */
import { StorageError, type StorageOutcome, type StorageReason, toError } from '../../../engine/errors.ts';

export interface ErrorMeaning {
  readonly outcome: StorageOutcome;
  readonly reason: StorageReason;
}

const toRefused = (reason: StorageReason): ErrorMeaning => ({ outcome: 'not_applied', reason });
const toUnknown = (reason: StorageReason): ErrorMeaning => ({ outcome: 'unknown', reason });

/** First words of refusals that pass by themselves. */
const passingAnswers = /^(LOADING|READONLY|MASTERDOWN|NOREPLICAS|CLUSTERDOWN|BUSY|TRYAGAIN|MOVED|ASK)(?= |$)/;
const fullAnswers = /^(OOM|MISCONF)(?= |$)/;
const halfWritten = /^HALFWRITTEN(?= |$)/;
/** What Lua raises itself begins with a line of the code; what a command answers there does not. */
const luaFault = /^(HALFWRITTEN )?(ERR )?@?user_(function|script):/;

/** Messages of the client itself, given before anything is written to a socket. */
const notSent =
  /isn't writeable and enableOfflineQueue|isn't ready and enableOfflineQueue|Failed to refresh slots/;
const lostMessages = [
  'Connection is closed',
  'Connection is ended',
  'max retries per request',
  'timed out',
  'timeout',
  'connection close',
  'ECONN',
  'EPIPE',
  'ETIMEDOUT',
];
const lost = new RegExp(lostMessages.join('|'), 'i');
const redirectedTooOften = /^Too many Cluster redirections\. Last error: (?:\w*Error: )?(.*)$/s;

/** Whether the server does not know the function: our library is not loaded there. */
export const isFunctionMissing = (error: Error): boolean => /^ERR Function not found/i.test(error.message);

/** Whether the call was redirected until the client gave up: each node refused, so it had no effect. */
export const isRedirectedTooOften = (error: Error): boolean => redirectedTooOften.test(error.message);

/** Classifies one error of the client. */
export const classifyError = (error: Error): ErrorMeaning => {
  const { message } = error;
  const last = redirectedTooOften.exec(message)?.[1];
  if (last !== undefined) return classifyError({ name: 'ReplyError', message: last });
  if (error.name === 'ReplyError') {
    const reason = luaFault.test(message) ? 'bug' : 'busy';
    if (halfWritten.test(message)) return toUnknown(reason);
    return toRefused(fullAnswers.test(message) ? 'full' : reason);
  }
  if (notSent.test(message)) return toRefused('unreachable');
  return toUnknown(lost.test(message) ? 'unreachable' : 'bug');
};

/**
 * Resolves to `none` if the server refuses the question as such, because it forbids or does not know it.
 * Rejects if there is no answer at all, or none for now.
 */
export const readUnlessRefused = async <Answer>(question: Promise<Answer>, none: Answer): Promise<Answer> => {
  try {
    return await question;
  } catch (error) {
    const { name = '', message = '' } = error instanceof Error ? error : {};
    if (name === 'ReplyError' && !passingAnswers.test(message) && !fullAnswers.test(message)) return none;
    throw error;
  }
};

/** Wraps a rejection of the client; a `StorageError` passes through. */
export const toStorageError = (operation: string, cause: unknown): StorageError => {
  if (cause instanceof StorageError) return cause;
  const error = toError(cause);
  return new StorageError(operation, { ...classifyError(error), cause, detail: error.message });
};

/** Wraps a failure to open the store: the outcome is definite, because opening writes no data. */
export const toOpenError = (cause: unknown): StorageError => {
  const { reason, message } = toStorageError('open', cause);
  return new StorageError('open', { outcome: 'not_applied', reason, cause, detail: message });
};
