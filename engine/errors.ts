/**
 * The closed list of error codes, and the two error classes.
 *
 * A `DomainError` goes to the client: a code of this list and a message that says what to do. A
 * `StorageError` comes from a store's adapter: operation, outcome, reason and cause; it never leaves the
 * process. Only `http/response/errors.ts` maps both to replies. Expected refusals (a vote inside its window)
 * are return values, not errors.
 */

/** Every value of `context.code`, with its HTTP status. docs/reference/errors.md says when. */
export const errorStatuses = {
  validation_failed: 400,
  malformed_json: 400,
  malformed_request: 400,
  target_type_unsupported: 400,
  page_invalid: 400,
  range_too_long: 400,
  session_type_unsupported: 400,
  protocol_unsupported: 400,
  login_code_invalid: 400,
  login_state_invalid: 400,
  token_missing: 401,
  token_invalid: 401,
  token_kind_unsupported: 401,
  tokens_disagree: 401,
  forbidden: 403,
  permission_missing: 403,
  user_mismatch: 403,
  banned: 403,
  vote_banned: 403,
  entity_vote_banned: 403,
  proof_required: 403,
  not_found: 404,
  login_not_configured: 404,
  route_not_found: 404,
  method_not_allowed: 405,
  already_exists: 409,
  limit_reached: 409,
  log_restarted: 409,
  last_owner: 409,
  last_data_holder: 409,
  last_member: 409,
  team_not_empty: 409,
  not_votable: 409,
  position_closed: 409,
  bot_not_eligible: 409,
  votes_insufficient: 409,
  shards_inconsistent: 409,
  webhook_disabled: 409,
  no_credit_tiers: 409,
  idempotency_conflict: 409,
  body_too_large: 413,
  content_encoding_unsupported: 415,
  host_not_allowed: 421,
  idempotency_mismatch: 422,
  websocket_version_unsupported: 426,
  rate_limited: 429,
  vote_wait: 429,
  application_wait: 429,
  internal: 500,
  store_unavailable: 503,
  search_unavailable: 503,
  login_unavailable: 503,
  proof_unavailable: 503,
  overloaded: 503,
  deadline_passed: 503,
  draining: 503,
  feed_full: 503,
} as const;
export type ErrorCode = keyof typeof errorStatuses;

/** An error reply; the client reads its message. `context` values are strings (contract §2.1). */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly context: Readonly<Record<string, string>>;
  /** Whole seconds for `Retry-After`, 0 for none. */
  readonly retryAfterSeconds: number;
  /** Header lines the reply adds, each with a leading CRLF; `''` for none. */
  readonly headers: string;

  constructor(
    code: ErrorCode,
    message: string,
    context: Record<string, string> = {},
    retryAfterSeconds = 0,
    headers = '',
  ) {
    super(message);
    this.name = 'DomainError';
    this.code = code;
    this.context = context;
    this.retryAfterSeconds = retryAfterSeconds;
    this.headers = headers;
  }
}

/** Whether a failed call had an effect. */
export type StorageOutcome = 'not_applied' | 'unknown';
/**
 * `unreachable`: no answer; `busy`: answered, try again later (lock, deadlock, loading, read-only);
 * `full`: no room; `row`: a row can never be stored as it is; `uninitialised`: the store lost its data;
 * `damaged`: it found data that it cannot read; `outdated`: the call belongs to an earlier generation;
 * `closed`: this process is shutting down; `bug`: everything else.
 */
export type StorageReason =
  | 'unreachable'
  | 'busy'
  | 'full'
  | 'row'
  | 'uninitialised'
  | 'damaged'
  | 'outdated'
  | 'closed'
  | 'bug';

/** A failed call of a store; `outcome` says whether it may have had an effect. */
export class StorageError extends Error {
  readonly operation: string;
  readonly outcome: StorageOutcome;
  readonly reason: StorageReason;

  constructor(
    operation: string,
    why: { outcome: StorageOutcome; reason: StorageReason; cause?: unknown; detail?: string | undefined },
  ) {
    super(`${operation}: ${why.reason} (${why.outcome})${why.detail ? `: ${why.detail}` : ''}`, {
      cause: why.cause,
    });
    this.name = 'StorageError';
    this.operation = operation;
    this.outcome = why.outcome;
    this.reason = why.reason;
  }
}

/** Creates the error of a call that changed nothing. */
export const createNotAppliedError = (
  operation: string,
  reason: StorageReason,
  detail?: string,
): StorageError => new StorageError(operation, { outcome: 'not_applied', reason, detail });

/** Creates the error of a call that failed before it changed anything, from what was thrown. */
export const toNotAppliedError = (operation: string, reason: StorageReason, cause: unknown): StorageError =>
  new StorageError(operation, { outcome: 'not_applied', reason, cause, detail: String(cause) });

/** Returns the same failure with another outcome. */
export const changeOutcome = (failure: StorageError, outcome: StorageOutcome): StorageError => {
  const { operation, reason, message } = failure;
  return new StorageError(operation, { outcome, reason, cause: failure, detail: message });
};

/** Creates the error for data that a store has and cannot read, named in `detail`; nothing was changed. */
export const createDamageError = (operation: string, detail: string): StorageError =>
  createNotAppliedError(operation, 'damaged', detail);

const awayReasons: readonly StorageReason[] = ['unreachable', 'busy', 'full', 'uninitialised', 'closed'];
/** Whether the store itself is the reason, so that the same call for other data would fail, too. */
export const isStoreAway = (error: unknown): boolean =>
  error instanceof StorageError && awayReasons.includes(error.reason);

/** Returns what was thrown, as an error. */
export const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));
/** Returns the message of what was thrown. */
export const toMessage = (thrown: unknown): string => toError(thrown).message;
