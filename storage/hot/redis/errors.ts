/**
 * What a failed call to Redis means: had it an effect, and why did it fail.
 *
 * An error *answer* is definite: our functions check everything before their first write and Redis refuses
 * before it runs them, with one exception they report themselves (`HALFWRITTEN`). A lost connection or a
 * time-out after the command may have been sent is unknown. The table is tested word by word.
 */
import type { StorageOutcome, StorageReason } from '../../../engine/errors.ts';
import { StorageError } from '../../../engine/errors.ts';

export interface ErrorMeaning {
  readonly outcome: StorageOutcome;
  readonly reason: StorageReason;
}

const toRefused = (reason: StorageReason): ErrorMeaning => ({ outcome: 'not_applied', reason });
const toUnknown = (reason: StorageReason): ErrorMeaning => ({ outcome: 'unknown', reason });

/**
 * By the first word of an error answer. What is not here but is an answer is a `bug`, and definite as well.
 */
const answers: Readonly<Record<string, ErrorMeaning>> = {
  LOADING: toRefused('busy'),
  READONLY: toRefused('busy'),
  MASTERDOWN: toRefused('busy'),
  NOREPLICAS: toRefused('busy'),
  CLUSTERDOWN: toRefused('busy'),
  BUSY: toRefused('busy'),
  TRYAGAIN: toRefused('busy'),
  MOVED: toRefused('busy'),
  ASK: toRefused('busy'),
  OOM: toRefused('full'),
  MISCONF: toRefused('full'),
  NOAUTH: toRefused('bug'),
  WRONGPASS: toRefused('bug'),
  NOPERM: toRefused('bug'),
  HALFWRITTEN: toUnknown('bug'),
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
export const classifyError = (error: Error): ErrorMeaning => {
  const { message } = error;
  const last = redirectedTooOften.exec(message)?.[1];
  if (last !== undefined) return classifyError({ name: 'ReplyError', message: last });
  if (error.name === 'ReplyError') {
    if (isFunctionMissing(error)) return toRefused('busy');
    return answers[message.slice(0, message.search(/ |$/))] ?? toRefused('bug');
  }
  if (notSent.test(message)) return toRefused('unreachable');
  return toUnknown(lost.test(message) ? 'unreachable' : 'bug');
};

/** Wraps a rejection of the client. */
export const toStorageError = (operation: string, cause: unknown): StorageError => {
  if (cause instanceof StorageError) return cause;
  const error = cause instanceof Error ? cause : new Error(String(cause));
  return new StorageError(operation, { ...classifyError(error), cause, detail: error.message });
};

/** Wraps the failure to open: whatever it was, nothing was written. */
export const toOpenError = (cause: unknown): StorageError => {
  const { reason, message } = toStorageError('open', cause);
  return new StorageError('open', { outcome: 'not_applied', reason, cause, detail: message });
};
