/**
 * Builds the `App` (everything a handler may use) and the public listener that serves it.
 *
 * Creates the client of the bot look-up service from the settings; the stores, the engine and the other
 * clients come from rollcall.ts, the only caller.
 */
import type { Logger } from 'pino';
import { createBadgeCache } from '../http/api/badges/badge-cache.ts';
import { compatRoutes } from '../http/api/compat.ts';
import { createHistoryCache } from '../http/api/history/history-cache.ts';
import { createVoteProof } from '../http/api/shared/vote-proof.ts';
import { routes } from '../http/api/table.ts';
import { applyVoteLogSetting } from '../http/api/vote-log.ts';
import type { App } from '../http/app.ts';
import type { SessionCache } from '../http/auth/sessions.ts';
import { createFacade, type Facade } from '../http/facade.ts';
import type { DemoAccounts } from '../http/openapi/docs-page.ts';
import { createBotLookup } from '../http/outbound/bot-lookup.ts';
import { createProofVerifier } from '../http/outbound/vote-proof.ts';
import type { AnyRoute } from '../http/route.ts';
import type { Metrics } from '../http/telemetry/metrics.ts';
import { createRateLimitedLog } from '../http/telemetry/rate-limited-log.ts';
import type { KeyHasher } from '../storage/nodes/rates.ts';
import { systemClock } from './clock.ts';
import type { ClusterContext } from './cluster-context.ts';
import { isLocalOnly } from './config/addresses.ts';
import { type Config, toLimitSettings } from './config/config.ts';
import type { VoteWatch } from './jobs/vote-watch.ts';
import type { Webhooks } from './services/webhooks.ts';

/** The `App` of the handlers, with the session cache that authentication reads. */
export type PublicApp = App & { readonly sessions: SessionCache };

/** What handlers use and the composition root makes. */
export interface AppParts
  extends Pick<
    App,
    'engine' | 'push' | 'login' | 'voteLogWaiters' | 'encodeOrigin' | 'noteView' | 'feed' | 'wakeJob'
  > {
  readonly webhooks: Pick<Webhooks, 'access'>;
  readonly isSuspect?: VoteWatch['isSuspect'];
  readonly metrics: Metrics;
  readonly listWarnings: App['listWarnings'];
  readonly isDraining: App['isDraining'];
}

/** Call it once per process: the `App` holds caches. */
export const createApp = (
  { catalogue, sessions, listNodes }: Pick<ClusterContext, 'catalogue' | 'sessions' | 'listNodes'>,
  config: Config,
  parts: AppParts,
): PublicApp => {
  const { engine, push, login, voteLogWaiters, encodeOrigin, noteView, feed, wakeJob } = parts;
  const { webhooks, metrics, listWarnings, isDraining } = parts;
  const botLookup = createBotLookup({
    serviceUrl: config.botLookupUrl,
    platformUrl: config.botLookupFallbackUrl,
    clock: systemClock,
    meters: metrics.outbound,
  });
  return {
    engine,
    catalogue,
    sessions,
    clock: systemClock,
    botLookup,
    push,
    login,
    counts: metrics.counts,
    voteLogWaiters,
    voteProof: openVoteProof(config, metrics, parts.isSuspect),
    encodeOrigin,
    noteView,
    feed,
    webhooks: webhooks.access,
    badges: createBadgeCache(config.badgeMaxAgeSeconds),
    history: createHistoryCache(),
    settings: config,
    listNodes,
    wakeJob,
    listWarnings,
    isDraining,
  };
};

const openVoteProof = (
  config: Config,
  { outbound: meters }: Metrics,
  isSuspect: AppParts['isSuspect'],
): App['voteProof'] => {
  if (config.voteProof === 'off') return null;
  const { proofProvider: provider, proofSiteKey: siteKey, proofSecret: secret } = config;
  const {
    proofVerifyUrl: url,
    proofHostname: hostname,
    proofAction: action,
    proofWhenAway: whenAway,
  } = config;
  const clock = systemClock;
  const verifier = createProofVerifier({ provider, url, secret, hostname, action, clock, meters });
  return createVoteProof({ verifier, provider, siteKey, whenAway, clock, isSuspect });
};

/** The public routes: with COMPAT those for libraries of other directories, too. */
const listRoutes = ({ compat }: Pick<Config, 'compat'>): readonly AnyRoute[] =>
  compat === 'on' ? [...routes, ...compatRoutes] : routes;

/** In the order of the routes: the labels of their metrics. */
export const listRouteNames = (config: Pick<Config, 'compat'>): readonly string[] =>
  listRoutes(config).map(({ name }) => name);

interface PublicParts {
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clusterContext: ClusterContext;
  readonly hashKey: KeyHasher;
  readonly findDemo: () => DemoAccounts | null;
  /** The public address; known when the node listens. */
  readonly readUrl: () => string;
}

/** Creates the public listener. It does not listen yet. */
export const createPublic = (
  app: PublicApp,
  config: Config,
  { metrics, logger, clusterContext, hashKey, findDemo, readUrl }: PublicParts,
): Facade =>
  createFacade({
    app,
    routes: applyVoteLogSetting(listRoutes(config), config.voteLog),
    sessions: app.sessions,
    permissions: app.catalogue,
    meters: metrics.requests,
    logger: createRateLimitedLog(logger, systemClock),
    limits: toLimitSettings(config),
    ...(clusterContext.createRates && { rates: clusterContext.createRates(hashKey) }),
    ...(clusterContext.runs && { reportRunning: clusterContext.runs }),
    trustedProxies: config.trustedProxies,
    shared: config.workers > 1,
    site: { settings: config, readUrl },
    findDemo: isLocalOnly(config) ? findDemo : () => null,
  });
