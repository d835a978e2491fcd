/**
 * Wires the public facade: rows in, a listening server out.
 *
 * Owns nothing at run time but the parts it creates and their order of closing. Called by ops/main.ts, by
 * tests and by benchmarks.
 */
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { limits } from '../engine/limits.ts';
import type { PermissionSource } from './auth/ports.ts';
import type { SessionCache } from './auth/sessions.ts';
import { type CompiledRow, compileRow } from './check.ts';
import { createAddressReader, parseTrustedProxies } from './client-address.ts';
import type { DispatchContext, RequestMeters } from './context.ts';
import { publicCors } from './cors.ts';
import { createDeadlines, type Deadlines, type DeadlineTimes } from './deadlines.ts';
import { dispatch } from './dispatch.ts';
import { docsRows } from './docs/rows.ts';
import { createLimiter, defaultLimits, type LimitSettings, type SharedRates } from './limits/limiter.ts';
import { createMatcher } from './match.ts';
import type { AnyRow, App } from './route.ts';
import { createServer, type Server } from './server.ts';

export interface FacadeOptions {
  readonly app: App;
  readonly rows: readonly AnyRow[];
  /** From `createSessionCache`; the same one is in `app`, so that a revoke is felt at once. */
  readonly sessions: SessionCache;
  readonly permissions: PermissionSource;
  readonly meters: RequestMeters;
  readonly logger: Pick<Logger, 'error' | 'info'>;
  readonly limits?: LimitSettings;
  /** Counts the limits of all nodes together, where they share a store. */
  readonly rates?: SharedRates;
  /** Addresses and networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: readonly string[];
  readonly deadlines?: DeadlineTimes;
  /** Says with every request that the process runs at this steady time. */
  readonly runs?: (steadyMs: number) => void;
  /** Several workers share the port. */
  readonly shared?: boolean;
}

export interface Facade {
  /** Resolves to the port; rejects with words for the operator. */
  listen(host: string, port: number): Promise<number>;
  /**
   * From here on every answer closes its connection, so that clients come back elsewhere; nothing is refused.
   */
  leave(): void;
  /**
   * New requests are answered 503 `draining` from here on; what is in flight is answered, then all is
   * closed.
   */
  drain(deadlineMs: number): Promise<void>;
  readonly draining: boolean;
  readonly inFlight: number;
}

export const defaultDeadlines: DeadlineTimes = {
  readingMs: 10_000,
  // After the engine's own deadline, which knows better whether something was counted.
  workingMs: limits.requestDeadlineMs + 4 * limits.deadlineSweepMs,
  askingMs: limits.outsideDeadlineMs,
  sweepMs: limits.deadlineSweepMs,
};

/** Compiles rows for a matcher. Throws on two rows of one path, or a path that its schema does not name. */
export const compileTable = (rows: readonly AnyRow[]) => {
  const compiled: CompiledRow[] = rows.map(compileRow);
  return createMatcher(
    compiled.map((entry) => ({ method: entry.row.method, path: entry.row.path, row: entry })),
  );
};

/** Wires the facade; nothing listens yet. */
export const createFacade = (options: FacadeOptions): Facade => {
  const deadlines = createDeadlines(options.app.clock, options.deadlines ?? defaultDeadlines);
  const state = { leaving: false };
  const context: DispatchContext = {
    app: options.app,
    matcher: compileTable([...options.rows, ...docsRows(options.rows)]),
    sessions: options.sessions,
    permissions: options.permissions,
    limiter: createLimiter(options.limits ?? defaultLimits, options.rates),
    deadlines,
    addressOf: createAddressReader(parseTrustedProxies(options.trustedProxies ?? [])),
    meters: options.meters,
    logger: options.logger,
    bodyBytesMax: options.app.settings.bodyBytesMax,
    draining: () => server.draining,
    leaving: () => state.leaving || server.draining,
    ...(options.runs && { runs: options.runs }),
    cors: publicCors,
  };
  const server = createServer({
    handle: (exchange) => dispatch(context, exchange),
    shared: options.shared ?? false,
    requestIdPrefix: `${randomBytes(4).toString('hex')}-`,
  });
  return facadeOver(server, deadlines, state);
};

/** A server and its deadlines as one thing that listens and drains. */
export const facadeOver = (
  server: Server,
  deadlines: Pick<Deadlines, 'close'>,
  state: { leaving: boolean } = { leaving: false },
): Facade => ({
  leave: () => {
    state.leaving = true;
  },
  listen: (host, port) => server.listen(host, port),
  drain: async (deadlineMs) => {
    await server.drain(deadlineMs);
    deadlines.close();
  },
  get draining() {
    return server.draining;
  },
  get inFlight() {
    return server.inFlight;
  },
});
