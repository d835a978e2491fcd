/**
 * The private listener: health, metrics, and the operator's operations.
 *
 * It is a second server with its own route table, so the public port cannot reach any of its operations.
 * Every route but `/livez`, `/readyz` and `/metrics` needs the operator token, checked in one place before
 * the handler. It listens on loopback by default, and keeps answering while the public listener drains. Web
 * pages of other origins cannot read it: no reply has CORS headers, and `Host` is checked before anything
 * else.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { DomainError } from '../engine/errors.ts';
import { createHostScreen } from './auth/admin-hosts.ts';
import type { PermissionSource } from './auth/ports.ts';
import type { SessionCache } from './auth/sessions.ts';
import { buildFacade, compileRoutes, defaultDeadlines, type Facade } from './facade.ts';
import { createLimit, createLimiter, defaultLimits } from './limits/limiter.ts';
import { createDeadlines } from './request/deadlines.ts';
import { dispatch } from './request/dispatch.ts';
import type { DispatchContext, GuardedCall } from './request/dispatch-context.ts';
import { sameOriginOnly } from './response/cors.ts';
import type { AnyRoute, App } from './route.ts';
import { buildHealthRoutes } from './routes/admin/health.ts';
import { adminOperations } from './routes/admin/table.ts';
import { createAddressReader } from './server/client-address.ts';
import { createHttpServer } from './server/uws-server.ts';
import type { Metrics } from './telemetry/metrics.ts';
import type { RequestLogger } from './telemetry/rate-limited-log.ts';

export interface AdminOptions {
  readonly app: App;
  readonly metrics: Metrics;
  readonly logger: RequestLogger;
  /** With `''` every operation that needs a token is rejected. */
  readonly operatorToken: string;
  /** Names accepted in `Host`, besides `localhost` and IP addresses. */
  readonly hosts: readonly string[];
  /** Whether the public listener drains, or is about to. */
  readonly isDraining: () => boolean;
  /** Lists current warnings for `/readyz`: guarantees that are weaker than they should be. */
  readonly listWarnings?: () => readonly string[];
  readonly routes?: readonly AnyRoute[];
}

const openRoutes: ReadonlySet<string> = new Set(['livez', 'readyz', 'metrics']);

/** Compares digests in constant time, so that timing reveals nothing about the token. */
const isOperator = (authorization: string, token: string): boolean => {
  if (token === '') return false;
  const presented = authorization.replace(/^(Bearer|Operator) /i, '');
  return timingSafeEqual(hash('sha256', presented, 'buffer'), hash('sha256', token, 'buffer'));
};

/** Per client address. A correct token is never counted, so this cannot lock the operator out. */
const wrongTokens = { requests: 10, seconds: 60, burst: 10 };

/**
 * Creates a guard that throws `token_missing`, `token_invalid` or, after too many wrong tokens,
 * `rate_limited`, unless the route is open or the request carries the operator token.
 */
const createOperatorGuard = (token: string): ((route: AnyRoute, call: GuardedCall) => void) => {
  const countWrong = createLimit('wrong_tokens', wrongTokens);
  return (route, call) => {
    if (openRoutes.has(route.name)) return;
    const { authorization } = call.exchange.headers;
    if (authorization === '') throw new DomainError('token_missing', 'This needs the operator token.');
    if (isOperator(authorization, token)) return;
    countWrong(call.clientAddress, call.startedMs);
    throw new DomainError('token_invalid', 'This is not the operator token.');
  };
};

const noSessions: SessionCache = {
  find: () => null,
  forget: () => {},
  forgetHash: () => {},
  markHashStale: () => {},
  forgetTarget: () => {},
  forgetAll: () => {},
};
const noPermissions: PermissionSource = { findAccess: async () => null };

/** Wires the private listener. Its routes use no sessions: the guard is the only access control. */
export const createAdmin = (options: AdminOptions): Facade => {
  const routes = [
    ...buildHealthRoutes({
      metrics: options.metrics,
      isDraining: options.isDraining,
      listWarnings: options.listWarnings ?? (() => []),
    }),
    ...(options.routes ?? adminOperations.map(({ route }) => route)),
  ];
  const deadlines = createDeadlines(options.app.clock, defaultDeadlines);
  const screenHost = createHostScreen(options.hosts);
  const context: DispatchContext = {
    app: options.app,
    matcher: compileRoutes(routes),
    sessions: noSessions,
    permissions: noPermissions,
    limiter: createLimiter(defaultLimits),
    deadlines,
    toClientAddress: createAddressReader([]),
    meters: { recordAnswer: () => {} },
    logger: options.logger,
    logsAnswers: options.logger.isLevelEnabled('debug'),
    bodyBytesMax: options.app.settings.bodyBytesMax,
    isDraining: () => false,
    isLeaving: () => false,
    cors: sameOriginOnly,
    checkHost: ({ headers }) => screenHost(headers.host),
    guard: createOperatorGuard(options.operatorToken),
  };
  const server = createHttpServer({
    handle: (exchange) => dispatch(context, exchange),
    shared: false,
    requestIdPrefix: 'operator-',
  });
  return buildFacade(server, deadlines);
};
