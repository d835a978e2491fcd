/**
 * Wires the public HTTP facade from a table of routes.
 *
 * Owns only the parts it creates and the order in which they close.
 */
import { randomBytes } from 'node:crypto';
import { limits } from '../engine/limits.ts';
import { createLimiter, type LimitSettings, type SharedRates } from './limits/limiter.ts';
import type { DemoAccounts } from './openapi/docs-page.ts';
import { buildDocsRoutes } from './openapi/docs-routes.ts';
import { createFollower } from './request/changes.ts';
import { compileRoute } from './request/check.ts';
import { createDeadlines, type Deadlines, type DeadlineTimes } from './request/deadlines.ts';
import { dispatch } from './request/dispatch.ts';
import type { DispatchContext } from './request/dispatch-context.ts';
import { loadValidators } from './request/explain.ts';
import { createMatcher } from './request/match.ts';
import { nameSuccessor } from './request/retired-paths.ts';
import { publicCors } from './response/cors.ts';
import type { AnyRoute } from './route.ts';
import { createAddressReader, parseTrustedProxies } from './server/client-address.ts';
import type { ServerOptions } from './server/uws-exchange.ts';
import { createHttpServer, type HttpServer } from './server/uws-server.ts';
import { noteCards } from './site/card-routes.ts';
import { addSite } from './site/routes.ts';
import { createSite, type SiteOptions } from './site/site.ts';

/** `sessions` is from `createSessionCache`, and `app` holds the same, so that a revocation counts at once. */
export interface FacadeOptions
  extends Pick<DispatchContext, 'app' | 'sessions' | 'permissions' | 'meters' | 'logger' | 'reportRunning'> {
  readonly routes: readonly AnyRoute[];
  readonly limits: LimitSettings;
  /** Counts rate limits over all nodes, where they share a store. */
  readonly rates?: SharedRates;
  /** Addresses and networks of proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  /** `defaultDeadlines` if absent. */
  readonly deadlines?: DeadlineTimes;
  /** Whether several workers share the port. */
  readonly shared: boolean;
  /** The names, colours and address of the pages for people. */
  readonly site: SiteOptions;
  /** The accounts that the documentation page fills in for a visitor on this machine; `null` for none. */
  readonly findDemo: () => DemoAccounts | null;
}

export const defaultDeadlines: DeadlineTimes = {
  readingMs: 10_000,
  // Longer than the engine's own deadline, whose error says whether anything was counted.
  workingMs: limits.requestDeadlineMs + 3 * limits.deadlineSweepMs,
  outboundMs: limits.outboundDeadlineMs,
  listeningMs: limits.longPollDeadlineMs,
  sweepMs: limits.deadlineSweepMs,
};

/** Compiles routes into a matcher. Throws on duplicate paths, or a path that its schema contradicts. */
export const compileRoutes = (routes: readonly AnyRoute[]) => createMatcher(routes.map(compileRoute));

/** Wires the facade; nothing listens yet. */
export const createFacade = (options: FacadeOptions): Facade => {
  const deadlines = createDeadlines(options.app.clock, options.deadlines ?? defaultDeadlines);
  const phase = { leaving: false, draining: false };
  const proxies = parseTrustedProxies(options.trustedProxies);
  const addresses = createAddressReader(proxies);
  const site = createSite(options.site);
  noteCards(site, options.app);
  const matcher = compileRoutes([
    ...addSite(options.routes, site),
    ...buildDocsRoutes(options.routes, options.findDemo),
  ]);
  const context: DispatchContext = {
    app: options.app,
    followApp: createFollower(options.app),
    matcher,
    sessions: options.sessions,
    permissions: options.permissions,
    limiter: createLimiter(options.limits, options.rates),
    deadlines,
    addresses,
    meters: options.meters,
    logger: options.logger,
    logsAnswers: options.logger.isLevelEnabled('debug'),
    bodyBytesMax: options.app.settings.bodyBytesMax,
    phase,
    ...(options.reportRunning && { reportRunning: options.reportRunning }),
    cors: publicCors,
    nameSuccessor,
    errorRoute: options.routes.find(({ replacesErrorsBelow }) => replacesErrorsBelow !== undefined),
  };
  const server = createHttpServer({
    handle: dispatch.bind(null, context),
    phase,
    shared: options.shared,
    ...(proxies.length > 0 && { onConnection: addresses.recordConnection }),
    requestIdPrefix: `${randomBytes(4).toString('hex')}-`,
    sockets: { path: '/feed', protocol: 'rollcall.v1' },
    readAddress: addresses.read,
    onCut: createCutReporter(options),
  });
  return buildFacade(server, deadlines);
};

/** Records connections that are closed because their clients do not read. */
export const createCutReporter =
  ({ app, logger }: Pick<FacadeOptions, 'app' | 'logger'>): NonNullable<ServerOptions['onCut']> =>
  (reason, { unsentBytes, ...details }) => {
    app.counts.cutReaders[reason] += 1;
    logger.warn({ ...details, reason, unsent_bytes: unsentBytes }, 'closed a connection that does not read');
  };

/** Combines a server and its deadlines into a facade; `end` ends what else a drain would wait for. */
export const buildFacade = (
  server: HttpServer,
  deadlines: Pick<Deadlines, 'close'>,
  end = (): void => {},
) => ({
  /**
   * From here on every response closes its connection, so that clients reconnect to other nodes. Nothing is
   * rejected yet.
   */
  startLeaving: server.startLeaving,
  /** Resolves to the port. Rejects with a message for the operator. */
  listen: async (host: string, port: number): Promise<number> => {
    const boundPort = await server.listen(host, port);
    setImmediate(loadValidators);
    return boundPort;
  },
  /**
   * From here on new requests are answered 503 `draining`. Requests in flight are answered, then all
   * connections are closed. Resolves after `deadlineMs` at the latest.
   */
  drain: async (deadlineMs: number): Promise<void> => {
    end();
    await server.drain(deadlineMs);
    deadlines.close();
  },
  get inFlight() {
    return server.inFlight;
  },
});
export type Facade = ReturnType<typeof buildFacade>;
