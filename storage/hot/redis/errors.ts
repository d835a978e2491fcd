/**
 * What a failed call to Redis means: had it an effect, and why did it fail.
 *
 * An error *answer* is definite: our functions check everything before their first write and Redis refuses
 * before it runs them, with one exception they report themselves (`HALFWRITTEN`). A lost connection or a
 * time-out after the command may have been sent is unknown. The table is tested word by word.
 */
import type { StorageOutcome, StorageReason } from '../../../engine/errors.ts';
import { StorageError } from '../../../engine/errors.ts';

export interface Meaning {
  readonly outcome: StorageOutcome;
  readonly reason: StorageReason;
}

const refused = (reason: StorageReason): Meaning => ({ outcome: 'not_applied', reason });
const unknown = (reason: StorageReason): Meaning => ({ outcome: 'unknown', reason });

/**
 * By the first word of an error answer. What is not here but is an answer is a `bug`, and definite as well.
 */
const answers: Readonly<Record<string, Meaning>> = {
  LOADING: refused('busy'),
  READONLY: refused('busy'),
  MASTERDOWN: refused('busy'),
  NOREPLICAS: refused('busy'),
  CLUSTERDOWN: refused('busy'),
  BUSY: refused('busy'),
  TRYAGAIN: refused('busy'),
  MOVED: refused('busy'),
  ASK: refused('busy'),
  OOM: refused('full'),
  MISCONF: refused('full'),
  NOAUTH: refused('bug'),
  WRONGPASS: refused('bug'),
  NOPERM: refused('bug'),
  HALFWRITTEN: unknown('bug'),
};

/** Said by the client itself before anything was written to a socket. */
const notSent =
  /isn't writeable and enableOfflineQueue|isn't ready and enableOfflineQueue|Failed to refresh slots/;
const lostWords = [
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
const lost = new RegExp(lostWords.join('|'), 'i');
const redirectedTooOften = /^Too many Cluster redirections\. Last error: (?:\w*Error: )?(.*)$/s;

export const isFunctionMissing = (error: Error): boolean => /^ERR Function not found/i.test(error.message);

/** Sent from node to node until the client gave up: each of them refused, so nothing was done. */
export const isRedirectedTooOften = (error: Error): boolean => redirectedTooOften.test(error.message);

/** The meaning of one error of the client. */
export const meaningOf = (error: Error): Meaning => {
  const { message } = error;
  const last = redirectedTooOften.exec(message)?.[1];
  if (last !== undefined) return meaningOf({ name: 'ReplyError', message: last });
  if (error.name === 'ReplyError') {
    if (isFunctionMissing(error)) return refused('busy');
    return answers[message.slice(0, message.search(/ |$/))] ?? refused('bug');
  }
  if (notSent.test(message)) return refused('unreachable');
  return unknown(lost.test(message) ? 'unreachable' : 'bug');
};

/** Wraps a rejection of the client. */
export const toStorageError = (operation: string, cause: unknown): StorageError => {
  if (cause instanceof StorageError) return cause;
  const error = cause instanceof Error ? cause : new Error(String(cause));
  return new StorageError(operation, { ...meaningOf(error), cause, detail: error.message });
};

/** Wraps the failure to open: whatever it was, nothing was written. */
export const toOpenError = (cause: unknown): StorageError => {
  const { reason, message } = toStorageError('open', cause);
  return new StorageError('open', { outcome: 'not_applied', reason, cause, detail: message });
};
