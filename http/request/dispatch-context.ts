/**
 * What dispatch works with: the parts of one listener, wired once. Types only.
 *
 * facade.ts and admin.ts build one each; call.ts carries it along with every request.
 */
import type { Logger } from 'pino';
import type { PermissionSource } from '../auth/ports.ts';
import type { SessionCache } from '../auth/sessions.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Cors } from '../response/cors.ts';
import type { AnyRoute, App } from '../route.ts';
import type { Exchange } from '../server/exchange.ts';
import type { CompiledRoute } from './check.ts';
import type { Deadlines } from './deadlines.ts';
import type { Matcher } from './match.ts';

export interface RequestMeters {
  /** `index` is the row's position in the table, -1 when no row was found. */
  recordAnswer(index: number, status: number, milliseconds: number): void;
}

/** What a guard sees of a request. */
export interface GuardedCall {
  readonly exchange: Pick<Exchange, 'headers'>;
  readonly clientAddress: string;
  /** Of the monotonic clock. */
  readonly startedMs: number;
}

export interface DispatchContext {
  readonly app: App;
  readonly matcher: Matcher<CompiledRoute>;
  readonly sessions: SessionCache;
  readonly permissions: PermissionSource;
  readonly limiter: Limiter;
  readonly deadlines: Deadlines;
  /** The client's canonical address, from the socket's and what proxies say. */
  readonly toClientAddress: (peer: string, forwardedFor: string) => string;
  readonly meters: RequestMeters;
  readonly logger: Pick<Logger, 'error'>;
  readonly bodyBytesMax: number;
  readonly isDraining: () => boolean;
  /** Every answer closes its connection: the node still works, and is about to go. */
  readonly isLeaving: () => boolean;
  /** Says with every request, before anything else, that the process runs at this steady time. */
  readonly runs?: (steadyMs: number) => void;
  readonly cors: Cors;
  /** Runs before the route is looked for, on every path. Throws a `DomainError`. */
  readonly screen?: (exchange: Pick<Exchange, 'headers'>) => void;
  /** Runs after the route is found: the admin listener's operator check. Throws a `DomainError`. */
  readonly guard?: (route: AnyRoute, call: GuardedCall) => void;
}
