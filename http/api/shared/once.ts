/**
 * `Idempotency-Key` of the four creations (docs/behaviour/requests.md): reads it with what a
 * repeat must have in common with the first request, and turns refusals into errors.
 */
import { createHash } from 'node:crypto';
import { DomainError } from '../../../engine/errors.ts';
import { limits } from '../../../engine/limits.ts';
import type { KeyRefusal, Once, OnceResult } from '../../../storage/catalogue/shared/once.ts';
import type { Caller } from '../../auth/auth.ts';
import { requireCaller } from '../../auth/authorise.ts';
import { createLimitError, createValidationError } from '../../response/errors.ts';
import type { Reply } from '../../response/reply.ts';

/** What a creation reads of its request. */
export interface KeyedRequest {
  readonly caller: Caller | null;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly headers: { readonly idempotencyKey: string | null };
}

/** A structured string, or the same without its quotes. */
const keyShape = /^(?:"((?:[ !#-[\]-~]|\\["\\]){1,255})"|([!#-~][ -~]{0,254}))$/;

const parseKey = (header: string): string => {
  const [, quoted, bare] = keyShape.exec(header) ?? [];
  const key = quoted?.replace(/\\(.)/g, '$1') ?? bare;
  if (key !== undefined) return key;
  const rule = header.includes('\n') ? 'must be sent once' : 'must be 1 to 255 printable ASCII characters';
  throw createValidationError('header', { 'Idempotency-Key': rule });
};

/** JSON in which the order of members makes no difference. */
const toCanonicalJson = (value: unknown): string =>
  JSON.stringify(value, (_, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );

const computeHash = (value: unknown): Buffer => createHash('sha256').update(toCanonicalJson(value)).digest();

/** Throws `validation_failed` for a header that is no key. */
export const checkKey = ({ headers }: Pick<KeyedRequest, 'headers'>): void => {
  if (headers.idempotencyKey !== null) parseKey(headers.idempotencyKey);
};

/** The key of a request, `undefined` for none. Throws `validation_failed`. */
export const readOnce = (operation: string, request: KeyedRequest): Once | undefined => {
  const { idempotencyKey } = request.headers;
  if (idempotencyKey === null) return undefined;
  const { kind, id } = requireCaller(request);
  const { params, query, body } = request;
  return {
    scope: computeHash([kind, id, operation, parseKey(idempotencyKey)]),
    caller: `${kind} ${id}`,
    fingerprint: computeHash([params, query, body ?? null]),
  };
};

const toKeyError = (refusal: KeyRefusal): DomainError => {
  switch (refusal.kind) {
    case 'key_mismatch':
      return new DomainError('idempotency_mismatch', 'The Idempotency-Key belongs to another request.');
    case 'key_in_use':
      return new DomainError(
        'idempotency_conflict',
        'A request with this Idempotency-Key is being worked on. Send it again in a moment.',
        {},
        1,
      );
    case 'keys_full':
      return createLimitError(
        'Too many keys of the last 24 hours. Send no Idempotency-Key.',
        limits.idempotencyKeysMax,
      );
  }
};

const isRefusal = (outcome: { readonly kind: string }): outcome is KeyRefusal =>
  outcome.kind === 'key_mismatch' || outcome.kind === 'key_in_use' || outcome.kind === 'keys_full';

/** Throws the error of a key that was refused. */
export const requireOutcome = <Result extends { readonly kind: string }>(
  outcome: OnceResult<Result>,
): Result & { readonly replayed?: true } => {
  if (isRefusal(outcome)) throw toKeyError(outcome);
  return outcome as Result & { readonly replayed?: true };
};

const replayedHeaders = { 'Idempotency-Replayed': 'true' };

/** The reply of a creation; `outcome` says whether an earlier request did the work. */
export const markReplayed = (outcome: { readonly replayed?: true }, reply: Reply): Reply =>
  outcome.replayed ? { ...reply, headers: replayedHeaders } : reply;
