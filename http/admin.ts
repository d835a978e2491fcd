/**
 * The private listener: health, metrics, and the operator's operations.
 *
 * It is a second server with its own table, so nothing of it can be reached from the public port.
 * Everything but `/livez`, `/readyz` and `/metrics` needs the operator token, checked in one place before
 * the handler. It listens on loopback unless told otherwise, and goes on answering while the public side
 * drains.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import { DomainError } from '../engine/errors.ts';
import type { PermissionSource } from './auth/ports.ts';
import type { SessionCache } from './auth/sessions.ts';
import { canonicalAddress } from './client-address.ts';
import { createDeadlines } from './deadlines.ts';
import { dispatch } from './dispatch.ts';
import type { Exchange } from './exchange.ts';
import { compileTable, defaultDeadlines, type Facade, facadeOver } from './facade.ts';
import { createLimiter, defaultLimits } from './limits/limiter.ts';
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

/** Throws `token_missing` or `token_invalid` unless the row is open or the operator asks. */
const operatorGuard =
  (token: string) =>
  (row: AnyRow, exchange: Pick<Exchange, 'headers'>): void => {
    if (openRows.has(row.name)) return;
    const { authorization } = exchange.headers;
    if (authorization === '') throw new DomainError('token_missing', 'This needs the operator token.');
    if (!isOperator(authorization, token)) {
      throw new DomainError('token_invalid', 'This is not the operator token.');
    }
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
  const context = {
    app: options.app,
    matcher: compileTable(rows),
    sessions: nobody,
    permissions: nothing,
    limiter: createLimiter(defaultLimits),
    deadlines,
    addressOf: canonicalAddress,
    meters: { answered: () => {} },
    logger: options.logger,
    bodyBytesMax: options.app.settings.bodyBytesMax,
    draining: () => false,
    leaving: () => false,
    guard: operatorGuard(options.operatorToken),
  };
  const server = createServer({
    handle: (exchange) => dispatch(context, exchange),
    shared: false,
    requestIdPrefix: 'operator-',
  });
  return facadeOver(server, deadlines);
};
