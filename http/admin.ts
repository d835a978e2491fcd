/**
 * The private listener: health, metrics, and the operator's operations.
 *
 * It is a second server with its own table, so nothing of it can be reached from the public port.
 * Everything but `/livez`, `/readyz` and `/metrics` needs the operator token, checked in one place before
 * the handler. It listens on loopback unless told otherwise, and goes on answering while the public side
 * drains. Web pages of other origins read nothing here: no reply carries CORS headers, and `Host` is checked
 * before anything else.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { DomainError } from '../engine/errors.ts';
import { createHostScreen } from './admin-hosts.ts';
import type { PermissionSource } from './auth/ports.ts';
import type { SessionCache } from './auth/sessions.ts';
import { createAddressReader } from './client-address.ts';
import type { DispatchContext, GuardedCall } from './context.ts';
import { sameOriginOnly } from './cors.ts';
import { createDeadlines } from './deadlines.ts';
import { dispatch } from './dispatch.ts';
import { compileTable, defaultDeadlines, type Facade, facadeOver } from './facade.ts';
import { createLimit, createLimiter, defaultLimits } from './limits/limiter.ts';
import type { Metrics } from './metrics.ts';
import type { AnyRow, App } from './route.ts';
import { healthRows } from './routes/admin/health.ts';
import { operations } from './routes/admin/table.ts';
import { createServer } from './server.ts';

export interface AdminOptions {
  readonly app: App;
  readonly metrics: Metrics;
  readonly logger: Pick<Logger, 'error' | 'info'>;
  /** `''` refuses every operation that needs a token. */
  readonly operatorToken: string;
  /** Names that `Host` may be, besides `localhost` and IP addresses. */
  readonly hosts: readonly string[];
  /** Whether the public side drains, or is about to. */
  readonly draining: () => boolean;
  /** What is weaker than it should be, for `/readyz`. */
  readonly troubles?: () => readonly string[];
  readonly rows?: readonly AnyRow[];
}

const openRows: ReadonlySet<string> = new Set(['livez', 'readyz', 'metrics']);

/** Compares digests, so that time tells nothing about the token. */
const isOperator = (authorization: string, token: string): boolean => {
  if (token === '') return false;
  const given = authorization.replace(/^(Bearer|Operator) /i, '');
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'));
};

/** Per client address. A right token is never counted, so this cannot keep the operator out. */
const wrongTokens = { requests: 10, seconds: 60, burst: 10 };

/**
 * Throws `token_missing`, `token_invalid` or, after too many wrong tokens, `rate_limited` unless the row is
 * open or the operator asks.
 */
const operatorGuard = (token: string): ((row: AnyRow, call: GuardedCall) => void) => {
  const countWrong = createLimit('wrong_tokens', wrongTokens);
  return (row, call) => {
    if (openRows.has(row.name)) return;
    const { authorization } = call.exchange.headers;
    if (authorization === '') throw new DomainError('token_missing', 'This needs the operator token.');
    if (isOperator(authorization, token)) return;
    countWrong(call.clientAddress, call.startedMs);
    throw new DomainError('token_invalid', 'This is not the operator token.');
  };
};

const nobody: SessionCache = {
  find: () => null,
  forget: () => {},
  forgetHash: () => {},
  doubtHash: () => {},
  forgetTarget: () => {},
  forgetAll: () => {},
};
const nothing: PermissionSource = { permissionsOn: async () => null };

/** Wires the private listener. Its rows know no sessions: the guard is the only door. */
export const createAdmin = (options: AdminOptions): Facade => {
  const rows = [
    ...healthRows({
      metrics: options.metrics,
      draining: options.draining,
      troubles: options.troubles ?? (() => []),
    }),
    ...(options.rows ?? operations.map(({ row }) => row)),
  ];
  const deadlines = createDeadlines(options.app.clock, defaultDeadlines);
  const screenHost = createHostScreen(options.hosts);
  const context: DispatchContext = {
    app: options.app,
    matcher: compileTable(rows),
    sessions: nobody,
    permissions: nothing,
    limiter: createLimiter(defaultLimits),
    deadlines,
    addressOf: createAddressReader([]),
    meters: { answered: () => {} },
    logger: options.logger,
    bodyBytesMax: options.app.settings.bodyBytesMax,
    draining: () => false,
    leaving: () => false,
    cors: sameOriginOnly,
    screen: ({ headers }) => screenHost(headers.host),
    guard: operatorGuard(options.operatorToken),
  };
  const server = createServer({
    handle: (exchange) => dispatch(context, exchange),
    shared: false,
    requestIdPrefix: 'operator-',
  });
  return facadeOver(server, deadlines);
};
