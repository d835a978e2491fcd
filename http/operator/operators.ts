/**
 * Finds out which operator sends a request to the private listener, by the operator's token.
 *
 * The settings name the operators. Each request compares the digest of its token with all of them, in the
 * same time whichever is right.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { DomainError } from '../../engine/errors.ts';
import { createTokensDisagreeError } from '../auth/authorise.ts';
import { createLimit } from '../limits/limiter.ts';
import type { GuardedCall } from '../request/dispatch-context.ts';
import { createValidationError } from '../response/errors.ts';
import type { AnyRoute } from '../route.ts';

export interface Operator {
  /** Written to the audit record with each change. */
  readonly name: string;
  readonly token: string;
  /** Operations that change something are refused, and so are copies of the stores. */
  readonly readOnly: boolean;
}

/** Health, and the files of the page, which contain no data. */
const openRoutes: ReadonlySet<string> = new Set(['livez', 'readyz', 'metrics', 'page', 'pageFile']);

/** Per client address. A correct token is never counted, so this cannot lock an operator out. */
const wrongTokens = { requests: 10, seconds: 60, burst: 10 };

const computeDigest = (token: string): Buffer => hash('sha256', token, 'buffer');

/** Compares with every token, so that timing reveals neither a token nor an operator. */
const createFinder = (operators: readonly Operator[]): ((authorization: string) => Operator | null) => {
  const digests = operators.map((operator) => ({ operator, digest: computeDigest(operator.token) }));
  return (authorization) => {
    const presented = computeDigest(authorization.replace(/^(Bearer|Operator) /i, ''));
    const found = digests.filter(({ digest }) => timingSafeEqual(digest, presented));
    return found[0]?.operator ?? null;
  };
};

/** Throws when a preview is requested of an operation that has none: it would do its work. */
const checkPreview = ({ method, query }: AnyRoute, queryText: string): void => {
  if (method === 'GET' || query?.properties.dry_run !== undefined) return;
  if (new URLSearchParams(queryText).has('dry_run'))
    throw createValidationError('query', { '/dry_run': 'is refused here: this operation has no preview' });
};

/**
 * Creates a guard that names the operator in the call, unless the route is open. It throws `token_missing`,
 * `token_invalid`, `tokens_disagree`, `forbidden` for a change with a token that may only read, or, after too
 * many wrong tokens, `rate_limited`; and `validation_failed` for a preview that there is not.
 */
export const createOperatorGuard = (
  operators: readonly Operator[],
): ((route: AnyRoute, call: GuardedCall) => void) => {
  const findOperator = createFinder(operators.filter(({ token }) => token !== ''));
  const wrong = createLimit('wrong_tokens', wrongTokens);
  return (route, call) => {
    if (openRoutes.has(route.name)) return;
    const { authorization, authRepeated } = call.exchange.headers;
    if (authRepeated) throw createTokensDisagreeError();
    if (authorization === '') throw new DomainError('token_missing', 'This needs an operator token.');
    const operator = findOperator(authorization);
    if (operator === null) {
      wrong.take(call.clientAddress, call.startedMs);
      throw new DomainError('token_invalid', 'This is not the token of an operator.');
    }
    if (operator.readOnly && route.method !== 'GET') {
      throw new DomainError('forbidden', `The token of ${operator.name} may only read.`);
    }
    checkPreview(route, call.exchange.queryText);
    call.operator = operator.name;
  };
};
