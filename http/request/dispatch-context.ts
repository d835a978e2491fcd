/**
 * The parts of one listener that dispatch works with, wired once. Types only.
 *
 * facade.ts builds the public listener's, operator/listener.ts the private one's; every call refers to one.
 */
import type { App } from '../app.ts';
import type { PermissionSource } from '../auth/auth.ts';
import type { SessionCache } from '../auth/sessions.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Cors } from '../response/cors.ts';
import type { AnyRoute } from '../route.ts';
import type { AddressReader } from '../server/client-address.ts';
import type { Exchange, ListenerPhase } from '../server/exchange.ts';
import type { RequestMeters } from '../telemetry/metrics.ts';
import type { RequestLogger } from '../telemetry/rate-limited-log.ts';
import type { CompiledRoute } from './check.ts';
import type { Deadlines } from './deadlines.ts';
import type { Matcher } from './match.ts';

/** The part of a request that a guard sees. */
export interface GuardedCall {
  readonly exchange: Pick<Exchange, 'headers' | 'queryText'>;
  readonly clientAddress: string;
  /** Monotonic time, ms. */
  readonly startedMs: number;
  /** The guard writes the name of the operator here. */
  operator: string;
}

export interface DispatchContext {
  readonly app: App;
  /** The same for one request that may change something (changes.ts). */
  readonly followApp: () => App;
  readonly matcher: Matcher<CompiledRoute>;
  readonly sessions: Pick<SessionCache, 'find'>;
  readonly permissions: PermissionSource;
  readonly limiter: Limiter;
  readonly deadlines: Deadlines;
  /** Reads the client's canonical address, from the peer's address and `X-Forwarded-For`. */
  readonly addresses: Pick<AddressReader, 'read'>;
  readonly meters: RequestMeters;
  readonly logger: RequestLogger;
  /** Whether every answer is logged, at level debug. */
  readonly logsAnswers: boolean;
  readonly bodyBytesMax: number;
  readonly phase: Readonly<ListenerPhase>;
  /** Called first for every request, with its monotonic time (ms), as a sign that the process runs. */
  readonly reportRunning?: (steadyMs: number) => void;
  readonly cors: Cors;
  /** Checks the `Host` header before route matching, on every path. Throws a `DomainError`. */
  readonly checkHost?: (exchange: Pick<Exchange, 'headers'>) => void;
  /** Adds to a 404 what to request instead; only the public listener has paths of other directories. */
  readonly nameSuccessor?: (error: unknown, path: string) => unknown;
  /** The route whose `replaceError` serves a path that no route has. */
  readonly errorRoute?: AnyRoute | undefined;
  /** Runs after route matching: the admin listener's operator check. Throws a `DomainError`. */
  readonly guard?: (route: AnyRoute, call: GuardedCall) => void;
}
