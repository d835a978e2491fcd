/**
 * What handlers may reach, and the public facade over it: the part of the composition root that knows the
 * interface.
 *
 * A client of the outside (login provider, look-up service, push) is made here from the settings and put into
 * the `App`. Called by rollcall.ts; the stores and the engine are made there.
 */
import type { Logger } from 'pino';
import type { SessionCache } from '../http/auth/sessions.ts';
import { createFacade, type Facade } from '../http/facade.ts';
import { createBotLookup } from '../http/outbound/bot-lookup.ts';
import type { App } from '../http/route.ts';
import { routes } from '../http/routes/table.ts';
import type { Metrics } from '../http/telemetry/metrics.ts';
import { createRateLimitedLog } from '../http/telemetry/rate-limited-log.ts';
import { systemClock } from './clock.ts';
import type { ClusterContext } from './cluster-context.ts';
import type { Config } from './config.ts';
import { toLimitSettings } from './limit-settings.ts';

/** The handlers' world, with the session cache that authentication reads. */
export type PublicApp = App & { readonly sessions: SessionCache };

/** Holds caches, so one per process. */
export const createApp = (
  { catalogue, sessions }: Pick<ClusterContext, 'catalogue' | 'sessions'>,
  config: Config,
  { engine, push, login, metrics }: Pick<App, 'engine' | 'push' | 'login'> & { readonly metrics: Metrics },
): PublicApp => {
  const botLookup = createBotLookup({
    serviceUrl: config.botLookupUrl,
    platformUrl: config.botLookupFallbackUrl,
    clock: systemClock,
    meters: metrics.outbound,
  });
  return { engine, catalogue, sessions, clock: systemClock, botLookup, push, login, settings: config };
};

/** The public listener, not listening yet. */
export const createPublic = (
  app: PublicApp,
  config: Config,
  {
    metrics,
    logger,
    plane: clusterContext,
  }: { readonly metrics: Metrics; readonly logger: Logger; readonly plane: ClusterContext },
): Facade =>
  createFacade({
    app,
    routes,
    sessions: app.sessions,
    permissions: app.catalogue,
    meters: metrics.requests,
    logger: createRateLimitedLog(logger, systemClock),
    limits: toLimitSettings(config),
    ...(clusterContext.rates && { rates: clusterContext.rates }),
    ...(clusterContext.runs && { runs: clusterContext.runs }),
    trustedProxies: config.trustedProxies,
    shared: config.workers > 1,
  });
