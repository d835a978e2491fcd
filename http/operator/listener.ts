/**
 * The private listener: health, metrics, and the operator's operations.
 *
 * It is a second server with its own route table, so the public port cannot reach any of its operations.
 * Every route but `/livez`, `/readyz` and `/metrics` needs an operator's token, checked in one place before
 * the handler. It listens on loopback by default, and keeps answering while the public listener drains. Web
 * pages of other origins cannot read it: no reply has CORS headers, and `Host` is checked before anything
 * else.
 */
import { isIP } from 'node:net';
import { Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import type { App } from '../app.ts';
import { buildFacade, compileRoutes, createCutReporter, defaultDeadlines, type Facade } from '../facade.ts';
import { createLimiter, defaultLimits } from '../limits/limiter.ts';
import { createFollower } from '../request/changes.ts';
import { usualBodyLimits } from '../request/check.ts';
import { createDeadlines } from '../request/deadlines.ts';
import { dispatch } from '../request/dispatch.ts';
import type { DispatchContext } from '../request/dispatch-context.ts';
import { sameOriginOnly } from '../response/cors.ts';
import { createUnavailableError } from '../response/errors.ts';
import { type AnyRoute, defineRoute } from '../route.ts';
import { createAddressReader } from '../server/client-address.ts';
import { createHttpServer } from '../server/uws-server.ts';
import { createLive, type Live, type LiveOptions, streamsMax } from '../telemetry/live.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RequestLogger } from '../telemetry/rate-limited-log.ts';
import { buildHealthRoutes, judgeHealth } from './health.ts';
import { createOperatorGuard, type Operator } from './operators.ts';
import { buildPageRoutes } from './page.ts';
import { buildStoreRoutes, importBytesMax, type StoreAccess } from './stores.ts';
import { adminOperations } from './table.ts';

export interface AdminOptions {
  readonly app: App;
  readonly metrics: Metrics;
  readonly logger: RequestLogger;
  /** Whose tokens are accepted; without any, every operation that needs a token is rejected. */
  readonly operators: readonly Operator[];
  /** How an operator's commands begin in this installation: `npm run ops --`. */
  readonly commandStart: string;
  /** Names accepted in `Host`, besides `localhost` and IP addresses. */
  readonly hosts: readonly string[];
  /** The whole stores of the node. */
  readonly stores: StoreAccess;
  /** What the live frames show. */
  readonly live: Omit<LiveOptions, 'clock' | 'readHealth' | 'requestCounts'>;
}

/** Only the lines of an import may be longer than other bodies. */
const withBodyLimit = (route: AnyRoute, bytesMax: number): AnyRoute =>
  route.bodyLimits === undefined ? { ...route, bodyLimits: { ...usualBodyLimits, bytesMax } } : route;

/** Wires the private listener. Its routes use no sessions: the guard is the only access control. */
export const createAdmin = (options: AdminOptions): Facade => {
  const { app, metrics } = options;
  const live = openLive(options);
  const routes = [
    ...buildHealthRoutes(metrics),
    buildLiveRoute(live),
    ...buildPageRoutes(adminOperations, options),
    ...adminOperations.map(({ route }) => route),
    ...buildStoreRoutes(options.stores),
  ].map((route) => withBodyLimit(route, app.settings.bodyBytesMax));
  const deadlines = createDeadlines(app.clock, defaultDeadlines);
  const screenHost = createHostScreen(options.hosts);
  const context: DispatchContext = {
    app,
    followApp: createFollower(app),
    matcher: compileRoutes(routes),
    sessions: { find: () => null },
    permissions: { findAccess: async () => null },
    limiter: createLimiter(defaultLimits),
    deadlines,
    addresses: createAddressReader([]),
    meters: { recordAnswer: () => {} },
    logger: options.logger,
    logsAnswers: options.logger.isLevelEnabled('debug'),
    bodyBytesMax: Math.max(app.settings.bodyBytesMax, importBytesMax),
    // It answers until it is closed.
    phase: { leaving: false, draining: false },
    cors: sameOriginOnly,
    checkHost: ({ headers }) => screenHost(headers.host),
    guard: createOperatorGuard(options.operators),
  };
  const server = createHttpServer({
    handle: dispatch.bind(null, context),
    phase: { leaving: false, draining: false },
    shared: false,
    requestIdPrefix: 'operator-',
    onCut: createCutReporter(options),
  });
  // Streams are requests in flight.
  return buildFacade(server, deadlines, live.close);
};

const openLive = ({ app, metrics, live }: AdminOptions): Live => {
  const readHealth = () => {
    const { status, notes } = judgeHealth(app);
    return { ready: status === 'ready', notes };
  };
  return createLive({ ...live, readHealth, clock: app.clock, requestCounts: metrics.requestCounts });
};

/** The host without its port, `''` when the text is not a valid `Host`. IPv6 addresses are in brackets. */
const hostWithoutPort = (host: string): string => /^(\[[^\]]*\]|[^:[\]]*)(?::[0-9]*)?$/.exec(host)?.[1] ?? '';

/** Host names are compared without regard to case and to the trailing dot of the root. */
const normaliseName = (name: string): string => name.toLowerCase().replace(/\.$/, '');

const isAddress = (host: string): boolean =>
  host.startsWith('[') ? isIP(host.slice(1, -1)) === 6 : isIP(host) === 4;

/**
 * Throws `host_not_allowed` unless `Host` is an IP address, `localhost` or one of `names`, at any port. This
 * stops DNS rebinding: an attacker's page points its own host name at the listener's address, and the browser
 * then treats the two as one origin. An IP address in `Host` cannot be rebound.
 */
export const createHostScreen = (names: readonly string[]): ((host: string) => void) => {
  const allowed = new Set(['localhost', ...names.map(normaliseName)]);
  return (host) => {
    const name = hostWithoutPort(host);
    if (isAddress(name) || allowed.has(normaliseName(name))) return;
    throw new DomainError(
      'host_not_allowed',
      'Address this listener by an IP address, by localhost, or by a name listed in ADMIN_HOSTS.',
    );
  };
};

/** What the node does, once a second, as server-sent events: the operator's page reads it. */
const buildLiveRoute = (live: Pick<Live, 'hasRoom' | 'stream'>): AnyRoute =>
  defineRoute('live', 'GET /live', {
    summary: 'Streams what the node does: a frame a second.',
    auth: { kind: 'public' },
    replies: { 200: Type.String() },
    handle: () => {
      if (!live.hasRoom()) {
        const message = `${streamsMax} live streams of this node are open already: close a page.`;
        throw createUnavailableError('overloaded', message, 5);
      }
      return { status: 200, stream: live.stream(), headers: { 'Content-Type': 'text/event-stream' } };
    },
  });
