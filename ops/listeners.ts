/**
 * The two listeners of a node: the public one, and the private one of the operators.
 *
 * The private one opens first, so that a health check can see the node before clients do. The demo directory
 * is loaded before both, unless the system chooses the ports: demo.json names the addresses.
 */
import type { Logger } from 'pino';
import type { Note } from '../engine/tools/notes.ts';
import { routes } from '../http/api/table.ts';
import type { Facade } from '../http/facade.ts';
import { judgeHealth } from '../http/operator/health.ts';
import { createAdmin } from '../http/operator/listener.ts';
import type { WatchedFigures } from '../http/telemetry/figures.ts';
import type { Metrics, NodeHealth } from '../http/telemetry/metrics.ts';
import type { KeyHasher } from '../storage/nodes/rates.ts';
import type { Stores } from '../storage/open.ts';
import { type AppParts, createApp, createPublic } from './app.ts';
import { systemClock } from './clock.ts';
import type { ClusterContext } from './cluster-context.ts';
import { type ServerAddresses, toAddresses } from './config/addresses.ts';
import { type Config, findCommandStart, isDemoWanted } from './config/config.ts';
import { listHomeDefaults } from './config/home-defaults.ts';
import { listOperators } from './config/operators.ts';
import type { DemoFile } from './demo/demo.ts';
import type { Stoppable } from './stop.ts';
import { createStoreAccess } from './store-access.ts';
import { formatVersion } from './version.ts';

const waitingRoutes = new Set(routes.filter(({ longPoll }) => longPoll).map(({ name }) => name));

interface ListenersParts
  extends Omit<AppParts, 'listWarnings' | 'isDraining' | 'webhooks'>,
    Pick<Stoppable, 'loss'> {
  readonly stores: Stores;
  readonly clusterContext: ClusterContext;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly figures: WatchedFigures;
  readonly node: string;
  readonly hashKey: KeyHasher;
  readonly operatorToken: string;
  readonly version: Parameters<typeof formatVersion>[0];
  readonly watches: { readonly listNotes: () => readonly Note[] };
  readonly webhooks: AppParts['webhooks'] & { readonly listNotes: () => readonly Note[] };
}

/** Creates both. `open` resolves when clients are served; `state.draining` makes `/readyz` answer 503. */
export const createListeners = (config: Config, parts: ListenersParts) => {
  const { stores, metrics, logger, loss, figures, node, version, webhooks, operatorToken } = parts;
  const expected = toAddresses(config, config.port, config.adminPort);
  const state = { draining: false, demo: null as DemoFile | null, url: expected.url };
  const settingNotes = listHomeDefaults(config);
  const listWarnings = () =>
    [
      settingNotes,
      stores.listWarnings(),
      parts.watches.listNotes(),
      webhooks.listNotes(),
      listFurther(parts),
    ].flat();
  const isDraining = (): boolean => state.draining || loss.reason !== '';
  const app = createApp(parts.clusterContext, config, { ...parts, listWarnings, isDraining });
  const [findDemo, readUrl] = [() => state.demo, () => state.url];
  const facade = createPublic(app, config, { ...parts, findDemo, readUrl });
  const admin = createAdmin({
    app,
    metrics,
    logger,
    operators: listOperators(config, operatorToken),
    commandStart: findCommandStart(),
    stores: createStoreAccess(stores, config.dataDir),
    hosts: [config.adminHost, ...config.adminHosts],
    live: { figures, waitingRoutes, node, version: formatVersion(version), listNodes: app.listNodes },
  });
  const listNotes = (): readonly Note[] => judgeHealth(app).notes;
  metrics.watchHealth(() => ({ ...readNodeHealth(parts, isDraining), notes: listNotes() }));
  metrics.watchBoards({ find: app.catalogue.boards.find, nowMs: systemClock.nowMs });
  const open = async (): Promise<ServerAddresses & { readonly demo: DemoFile | null }> => {
    const prepareDemo = createDemoLoader(stores, config, operatorToken);
    const earlyDemo = await prepareDemo(expected);
    const { url, adminUrl } = await listen(config, facade, admin);
    state.url = url;
    const isExpected = url === expected.url && adminUrl === expected.adminUrl;
    state.demo = isExpected ? earlyDemo : await prepareDemo({ url, adminUrl });
    return { url, adminUrl, demo: state.demo };
  };
  return { state, facade, admin, listNotes, open };
};

/** Notes of work that needs both stores, without those that only follow from the absence of one. */
const listFurther = ({ engine, stores, metrics, clusterContext }: ListenersParts): readonly Note[] => {
  const notes = [...clusterContext.listNotes(), ...metrics.counts.notes.list()];
  const isUp = engine.readHealth().hotStoreUp && stores.isSqlUp();
  return isUp ? notes : notes.filter((note) => !/^(job|pubsub)_fails:/.test(note));
};

/** The node's health for its metrics; the same as `/readyz` says. */
const readNodeHealth = (
  { engine, stores, loss }: Pick<Stoppable, 'engine' | 'stores' | 'loss'>,
  isDraining: () => boolean,
): Omit<NodeHealth, 'notes'> => {
  const { ready, hotStoreUp } = engine.readHealth();
  const sql = stores.isSqlUp() && loss.reason === '';
  const weakServers = stores.redis?.durability.countWeak() ?? 0;
  const mended = stores.redis?.mended ?? {};
  return { ready: ready && !isDraining(), hot: hotStoreUp, sql, weakServers, mended };
};

/** Returns a function that loads the demo directory, if wanted, and writes these addresses to demo.json. */
const createDemoLoader =
  ({ sql }: Stores, config: Config, operatorToken: string) =>
  async (addresses: ServerAddresses): Promise<DemoFile | null> => {
    if (!isDemoWanted(config)) return null;
    const { prepareDemo } = await import('./demo/demo.ts');
    return prepareDemo(sql, {
      directory: config.dataDir,
      addresses: { url: addresses.url, admin_url: addresses.adminUrl, admin_token: operatorToken },
      nowMs: systemClock.nowMs(),
    });
  };

/** Opens the private listener first, so that a health check can see the node before clients do. */
const listen = async (config: Config, facade: Facade, admin: Facade): Promise<ServerAddresses> => {
  const adminPort = await admin.listen(config.adminHost, config.adminPort);
  const port = await facade.listen(config.host, config.port).catch(async (error: unknown) => {
    await admin.drain(0);
    throw error;
  });
  return toAddresses(config, port, adminPort);
};
