/**
 * The errors that handlers throw, and the only place that turns an error into a reply.
 *
 * A `DomainError` already has a message for the client; a `StorageError` becomes a 503 that says whether
 * anything was changed; every other error becomes a 500 that reveals only the request id, and is logged with
 * its stack. Stacks, SQL and addresses are never sent to clients. An error of invalid fields names them by
 * their JSON Pointers: explain.ts uses it for faults that a schema finds, handlers for the others.
 */
import {
  DomainError,
  type ErrorCode,
  errorStatuses,
  StorageError,
  type StorageOutcome,
} from '../../engine/errors.ts';
import { toWaitParts, toWaitSeconds } from '../../engine/rules/waits.ts';

export interface ErrorReply {
  readonly status: number;
  readonly code: ErrorCode;
  /** `{message, context}` as JSON. */
  readonly text: string;
  /** Header lines, each beginning with CR LF. */
  readonly headers: string;
  /** Whether to log it: a fault of ours or of a store. */
  readonly log: boolean;
}

/** What the client can do, by what is known of the outcome. */
export const outcomeAdvice: Readonly<Record<StorageOutcome, string>> = {
  not_applied: 'Nothing was changed: try again.',
  unknown: 'Whether this took effect is not known: look before you send it again.',
};

const damagedAdvice: Readonly<Record<StorageOutcome, string>> = {
  not_applied: 'Nothing was changed: try again when the operator has repaired it.',
  unknown: outcomeAdvice.unknown,
};

/** The storage adapter logs damage once a minute; a line per affected request would hide everything else. */
const isDamage = (error: unknown): boolean =>
  error instanceof StorageError && (error.reason === 'damaged' || isDamage(error.cause));

/** SQLSTATEs of work that lost against other work on the same rows, or waited for it too long. */
const contendedStates: readonly unknown[] = ['40001', '40P01', '55P03'];

/** Whether many requests change the same thing at once: no fault of a store. */
const isContended = (error: unknown): boolean =>
  error instanceof StorageError &&
  (contendedStates.includes((error.cause as { code?: unknown } | undefined)?.code) ||
    isContended(error.cause));

const createInternalError = (): DomainError =>
  new DomainError('internal', 'Something went wrong on our side.');

const convertStorageError = (error: StorageError): DomainError => {
  const { outcome, reason } = error;
  const create = (code: ErrorCode, message: string, retryAfterSeconds: number): DomainError =>
    new DomainError(code, message, { outcome }, retryAfterSeconds);
  const advice = (reason === 'damaged' ? damagedAdvice : outcomeAdvice)[outcome];
  if (isContended(error))
    return create('overloaded', `Others are changing the same thing at the moment. ${advice}`, 1);
  switch (reason) {
    case 'closed':
      return create('draining', 'This node is shutting down. Please try again.', 1);
    case 'full':
      return create('overloaded', `A store has no room for more work at the moment. ${advice}`, 5);
    case 'unreachable':
    case 'busy':
    case 'uninitialised':
    case 'outdated':
      return create('store_unavailable', `A store cannot be reached at the moment. ${advice}`, 1);
    case 'damaged':
      return create('store_unavailable', `A store cannot read a part of its data. ${advice}`, 60);
    case 'row':
    case 'bug':
      return createInternalError();
  }
};

/** Whether a log line for it would say nothing new. */
const isExpected = (error: unknown): boolean =>
  error instanceof DomainError || isDamage(error) || isContended(error);

/** Converts any error to one with a message for the client. */
export const toDomainError = (error: unknown): DomainError => {
  if (error instanceof DomainError) return error;
  if (error instanceof StorageError) return convertStorageError(error);
  return createInternalError();
};

/** Builds the reply of an error. Never throws. */
export const buildErrorReply = (error: unknown, requestId: string): ErrorReply => {
  const domainError = toDomainError(error);
  const status = errorStatuses[domainError.code];
  const context = { ...domainError.context, code: domainError.code, request_id: requestId };
  let headers = '';
  if (domainError.retryAfterSeconds > 0)
    headers += `\r\nRetry-After: ${Math.ceil(domainError.retryAfterSeconds)}`;
  else if (status === 503) headers += '\r\nRetry-After: 1';
  if (domainError.code === 'token_invalid') headers += '\r\nX-Session-Invalid: true';
  return {
    status,
    code: domainError.code,
    text: JSON.stringify({ message: domainError.message, context }),
    headers,
    log: status === 500 || (status > 500 && !isExpected(error)),
  };
};

export const createNotFoundError = (kind: string): DomainError =>
  new DomainError('not_found', `There is no such ${kind}.`);

export const isNotFound = (error: unknown): boolean =>
  error instanceof DomainError && error.code === 'not_found';

/** Returns what was found. Throws `not_found` for `null` or `undefined`. */
export const requireFound = <Found>(found: Found | null | undefined, kind: string): Found => {
  if (found === null || found === undefined) throw createNotFoundError(kind);
  return found;
};

/** `limit` is the maximum that is reached. */
export const createLimitError = (message: string, limit: number): DomainError =>
  new DomainError('limit_reached', message, { limit: String(limit) });

/** The error of what cannot be done at the moment: nothing was changed, and it can be tried again. */
export const createUnavailableError = (
  code: ErrorCode,
  message: string,
  retryAfterSeconds: number,
): DomainError => new DomainError(code, message, { outcome: 'not_applied' }, retryAfterSeconds);

/** The error of a user who has to wait; `what` is what they want to do: `vote again`. */
export const createWaitError = (
  code: 'vote_wait' | 'application_wait',
  what: string,
  waitMs: number,
): DomainError => {
  const { hours, minutes, seconds } = toWaitParts(waitMs);
  return new DomainError(
    code,
    `You can ${what} in ${hours} h ${minutes} min ${seconds} s.`,
    { hours: String(hours), minutes: String(minutes), seconds: String(seconds) },
    Math.max(1, toWaitSeconds(waitMs)),
  );
};

/** Escapes one reference token of a JSON Pointer (RFC 6901, section 3). */
export const escapePointer = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Most faults listed in `context`; further ones are left out. */
export const explainedFieldsMax = 16;

/** The JSON Pointer of the whole (RFC 6901). */
const wholePointer = '';

/** Takes the part of the request and, by pointer, what each field must be. Returns the error to throw. */
export const createValidationError = (
  where: 'body' | 'query' | 'path' | 'header' | 'login',
  messages: Readonly<Record<string, string>>,
): DomainError => {
  const listed = Object.entries(messages).slice(0, explainedFieldsMax);
  const pointers = listed.map(([pointer]) => pointer).join(', ');
  const whole = messages[wholePointer];
  const rule = whole === undefined ? `is not valid: ${pointers}` : whole;
  return new DomainError('validation_failed', `The ${where} ${rule}.`, Object.fromEntries(listed));
};
