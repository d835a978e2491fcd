/**
 * What handlers may reach, and the public facade over it: the part of the composition root that knows the
 * interface.
 *
 * A client of the outside (login provider, look-up service, push) is made here from the settings and put into
 * the `App`. Called by rollcall.ts; the stores and the engine are made there.
 */
import type { Logger } from 'pino';
import { createSessionCache } from '../http/auth/sessions.ts';
import { createBotLookup } from '../http/clients/bot-lookup.ts';
import { createFacade, type Facade } from '../http/facade.ts';
import type { Metrics } from '../http/metrics.ts';
import type { App } from '../http/route.ts';
import { createSparingLog } from '../http/sparing-log.ts';
import { rows } from '../http/table.ts';
import { createCatalogue } from '../storage/catalogue/catalogue.ts';
import type { Stores } from '../storage/open.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { limitSettingsOf } from './limit-settings.ts';

/** The handlers' world, with the session cache that authentication reads. */
export type PublicApp = App & { readonly sessions: ReturnType<typeof createSessionCache> };

/** Holds caches, so one per process. */
export const createApp = (
  stores: Stores,
  config: Config,
  { engine, push, login }: Pick<App, 'engine' | 'push' | 'login'>,
): PublicApp => {
  const catalogue = createCatalogue(stores.sql);
  const sessions = createSessionCache({
    source: catalogue.sessions,
    clock: systemClock,
    entriesMax: sessionsCachedMax,
    keepMs: sessionsKeptMs,
  });
  const botLookup = createBotLookup({
    serviceUrl: config.botLookupUrl,
    platformUrl: config.botLookupFallbackUrl,
    clock: systemClock,
  });
  return { engine, catalogue, sessions, clock: systemClock, botLookup, push, login, settings: config };
};

const sessionsCachedMax = 100_000;
const sessionsKeptMs = 60_000;

/** The public listener, not listening yet. */
export const createPublic = (
  app: PublicApp,
  config: Config,
  { metrics, logger }: { readonly metrics: Metrics; readonly logger: Logger },
): Facade =>
  createFacade({
    app,
    rows,
    sessions: app.sessions,
    permissions: app.catalogue,
    meters: metrics.requests,
    logger: createSparingLog(logger, systemClock),
    limits: limitSettingsOf(config),
    trustedProxies: config.trustedProxies,
  });
