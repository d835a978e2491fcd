/**
 * What handlers may reach, and the public facade over it: the part of the composition root that knows the
 * interface.
 *
 * A client of the outside (login provider, look-up service, push) is made here from the settings and put into
 * the `App`. Called by rollcall.ts; the stores and the engine are made there.
 */
import type { Logger } from 'pino';
import type { SessionCache } from '../http/auth/sessions.ts';
import { createBotLookup } from '../http/clients/bot-lookup.ts';
import { createFacade, type Facade } from '../http/facade.ts';
import type { Metrics } from '../http/metrics.ts';
import type { App } from '../http/route.ts';
import { createSparingLog } from '../http/sparing-log.ts';
import { rows } from '../http/table.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import type { Plane } from './fleet.ts';
import { limitSettingsOf } from './limit-settings.ts';

/** The handlers' world, with the session cache that authentication reads. */
export type PublicApp = App & { readonly sessions: SessionCache };

/** Holds caches, so one per process. */
export const createApp = (
  { catalogue, sessions }: Pick<Plane, 'catalogue' | 'sessions'>,
  config: Config,
  { engine, push, login, metrics }: Pick<App, 'engine' | 'push' | 'login'> & { readonly metrics: Metrics },
): PublicApp => {
  const botLookup = createBotLookup({
    serviceUrl: config.botLookupUrl,
    platformUrl: config.botLookupFallbackUrl,
    clock: systemClock,
    meters: metrics.outside,
  });
  return { engine, catalogue, sessions, clock: systemClock, botLookup, push, login, settings: config };
};

/** The public listener, not listening yet. */
export const createPublic = (
  app: PublicApp,
  config: Config,
  { metrics, logger, plane }: { readonly metrics: Metrics; readonly logger: Logger; readonly plane: Plane },
): Facade =>
  createFacade({
    app,
    rows,
    sessions: app.sessions,
    permissions: app.catalogue,
    meters: metrics.requests,
    logger: createSparingLog(logger, systemClock),
    limits: limitSettingsOf(config),
    ...(plane.rates && { rates: plane.rates }),
    ...(plane.runs && { runs: plane.runs }),
    trustedProxies: config.trustedProxies,
    shared: config.workers > 1,
  });
