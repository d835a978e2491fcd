/**
 * The composition root: opens the stores, starts the engine, listens; and stops all that in reverse.
 *
 * Start order: folder lock → stores → schema → shared secrets → demo → engine → private listener → public
 * one. Nothing is counted before the engine has compared the stores, and nobody is answered before that. Stop
 * order: the private listener says 503 (on shared stores a while before), the public one takes no new
 * work and answers what is in flight, the engine flushes, the stores close (the embedded one takes its
 * snapshot), the private listener goes last.
 * Called by main.ts, by tests and by benches; `hooks` is for tests that put a fault between two parts.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type Logger, pino } from 'pino';
import { createEngine } from '../engine/create.ts';
import type { Engine } from '../engine/engine.ts';
import type { CommitRules } from '../engine/entity/items.ts';
import { StorageError } from '../engine/errors.ts';
import { assignShards } from '../engine/flush/shard-assignment.ts';
import type { Shard } from '../engine/ids.ts';
import { assertLimits } from '../engine/limits.ts';
import type { HotStore, Ledger } from '../engine/ports.ts';
import { createAdmin } from '../http/admin.ts';
import type { Facade } from '../http/facade.ts';
import { routes } from '../http/routes/table.ts';
import { findPortFault } from '../http/server/listen-fault.ts';
import { createMetrics, type Metrics } from '../http/telemetry/metrics.ts';
import { createLedger } from '../storage/ledger/ledger.ts';
import { getOrCreateSecret, type Membership, openMembership } from '../storage/nodes/membership.ts';
import { openStores, type Stores } from '../storage/open.ts';
import { migrate } from '../storage/sql/migrate.ts';
import { formatAddress } from './addresses.ts';
import { createApp, createPublic } from './app.ts';
import { systemClock } from './clock.ts';
import { type ClockWatch, clockLookEveryMs, createClockWatch } from './clock-watch.ts';
import { type ClusterContext, openClusterContext } from './cluster-context.ts';
import { type Config, isDemoWanted, toCommitRules } from './config.ts';
import type { DemoFile } from './demo/access.ts';
import { createEvictionWatch, type EvictionWatch, evictionLookEveryMs } from './eviction-watch.ts';
import { createJobs } from './jobs/jobs.ts';
import type { Schedule } from './jobs/schedule.ts';
import { createLoginReporter, openLogin } from './login.ts';
import { readOperatorToken } from './operator-token.ts';
import { openPush } from './push.ts';
import { startInterval } from './timers.ts';
import { createVoteIds } from './vote-ids.ts';

/** Puts something between the engine and its stores: faults and crash points of tests. */
export interface Hooks {
  readonly hot?: (hot: HotStore) => HotStore;
  readonly ledger?: (ledger: Ledger) => Ledger;
}

export interface Running {
  readonly url: string;
  readonly adminUrl: string;
  readonly demo: DemoFile | null;
  readonly engine: Engine;
  /** What the operator should know: weaker durability, a restored snapshot. */
  readonly notes: readonly string[];
  /**
   * Resolves, to words for the operator, when this process cannot go on (the embedded SQL ended): stop it and
   * let a supervisor start a new one. Most nodes never see it.
   */
  readonly lost: Promise<string>;
  /** Drains and closes everything. Idempotent. */
  stop(): Promise<void>;
}

const heartbeatMs = 30_000;
/** Where several nodes share the flushing, one that stops is missed soon. */
const sharedHeartbeatMs = 2_000;
const nodeAliveMs = 8_000;
const sweepMs = 60_000;
/** Without SQL there is nowhere to flush to, and a new process is wanted soon. */
const lostDrainMsMax = 1_000;

/** Starts one node. Rejects with words for the operator, leaving nothing open. */
export const start = async (config: Config, hooks: Hooks = {}): Promise<Running> => {
  assertLimits();
  const logger: Logger = pino({ name: 'rollcall', level: config.logLevel });
  const loss = createLoss();
  const stores = await openStores(config, {
    clock: systemClock.nowMs,
    onWarning: (words, error) => logger.error({ error: String(error) }, words),
    onLost: (words, error) => {
      logger.fatal({ error: String(error) }, words);
      loss.report(`${words}: ${String(error)}`);
    },
  });
  const onTrouble = (words: string, error: unknown) => logger.error({ error: String(error) }, words);
  let clusterContext: ClusterContext | null = null;
  try {
    clusterContext = await openClusterContext(stores, config, onTrouble);
    const running = await startOn(stores, config, { hooks, logger, loss, plane: clusterContext });
    // Of a first start, with its generations and, where one is wanted, the demo directory.
    stores.protect();
    return running;
  } catch (error) {
    const troubles = stores.listWarnings();
    await clusterContext?.close();
    await stores.close();
    throw explained(error, troubles);
  }
};

/** A start that met damage ends with what to do about it. */
const explained = (error: unknown, troubles: readonly string[]): unknown =>
  error instanceof StorageError && error.reason === 'damaged'
    ? new Error([error.message, ...troubles].join('\n'), { cause: error })
    : error;

interface LossReport {
  /** `''` while all is well. */
  reason: string;
  readonly reported: Promise<string>;
  report(words: string): void;
}

const createLoss = (): LossReport => {
  let resolve: (words: string) => void;
  const reported = new Promise<string>((fulfil) => {
    resolve = fulfil;
  });
  const loss: LossReport = {
    reason: '',
    reported,
    report: (words) => {
      loss.reason = words;
      resolve(words);
    },
  };
  return loss;
};

/** Who this node is in the fleet, and which shards are its to flush. */
interface FlushShares {
  readonly node: string;
  mine: readonly Shard[] | null;
}

interface StartOptions {
  readonly hooks: Hooks;
  readonly logger: Logger;
  readonly loss: LossReport;
  readonly plane: ClusterContext;
}

/** The same after every start, as the fleet knows its nodes by it; the port tells nodes of one host apart. */
const createNodeName = (stores: Stores, { port }: Config): string => {
  if (!stores.shared) return hostname();
  return `${hostname()}.${port === 0 ? randomUUID().slice(0, 8) : port}`;
};

const startOn = async (stores: Stores, config: Config, extras: StartOptions): Promise<Running> => {
  const { sql } = stores;
  await assertFree(config);
  const metrics = createMetrics(routes.map((route) => route.name));
  const watches = await openWatches(stores, { metrics, logger: extras.logger });
  await migrate(sql);
  const node = createNodeName(stores, config);
  const membership = await openMembership(sql, { node, checkMs: config.uptimeCheckMinutes * 60_000 });
  const shares: FlushShares = { node, mine: null };
  if (stores.shared) shares.mine = assignShards(node, await membership.listNodes(nodeAliveMs));
  const operatorToken = config.adminToken || readOperatorToken(config.dataDir);
  const engine = await startEngine(stores, config, { ...extras, fleet: membership, metrics, shares });
  const push = await openPush(sql, config);
  const { loss, plane: clusterContext, logger } = extras;
  const login = await openLogin(sql, config, {
    report: createLoginReporter(logger),
    meters: metrics.outbound,
  });
  const app = createApp(clusterContext, config, { engine, push, login, metrics });
  const facade = createPublic(app, config, { ...extras, metrics });
  const state = { draining: false };
  const admin = createAdmin({
    app,
    metrics,
    logger: extras.logger,
    operatorToken,
    hosts: [config.adminHost, ...config.adminHosts],
    isDraining: () => state.draining || extras.loss.reason !== '',
    listWarnings: () => [...stores.listWarnings(), ...watches.notes()],
  });
  const prepare = createDemoLoader(stores, config, operatorToken);
  const expected = toAddresses(config, config.port, config.adminPort);
  const early = await prepare(expected);
  const { url, adminUrl } = await listen(config, facade, admin);
  const known = url === expected.url && adminUrl === expected.adminUrl;
  const demo = known ? early : await prepare({ url, adminUrl });
  const cancelTimers = startTimers({ stores, fleet: membership, shares, watches, logger: extras.logger });
  const jobs = createJobs({
    engine,
    catalogue: app.catalogue,
    push,
    clock: systemClock,
    meters: metrics.jobs,
    node,
    log: (words, details) => extras.logger.error(details, words),
  });
  jobs.start();
  clusterContext.join({ name: node, adminUrl, engine });
  const closing = { fleet: membership, plane: clusterContext, stores, config, cancelTimers, jobs, loss };
  const parts = { state, facade, admin, engine, ...closing };
  const notes = [...stores.notes, ...watches.notes()];
  return { url, adminUrl, demo, engine, notes, lost: loss.reported, stop: createStop(parts) };
};

interface Watches {
  readonly clock: ClockWatch;
  readonly eviction: EvictionWatch;
  notes(): readonly string[];
}

/** Rejects when the hot store may evict what is counted. */
const openWatches = async (
  { storeClocks, memorySettings }: Stores,
  { metrics, logger }: { readonly metrics: Metrics; readonly logger: Logger },
): Promise<Watches> => {
  const log = {
    error: (words: string) => logger.error(words),
    warn: (words: string) => logger.warn(words),
    info: (words: string) => logger.info(words),
  };
  const clock = createClockWatch({
    storeClocks,
    clock: systemClock,
    onMeasured: metrics.recordClockAhead,
    log,
  });
  const eviction = createEvictionWatch({ memorySettings, measured: metrics.recordEvictingServers, log });
  await eviction.demandNone();
  return { clock, eviction, notes: () => [...clock.listNotes(), ...eviction.notes()] };
};

/** Prepares the demo directory for the addresses it will be reached at, where one is wanted. */
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

interface ServerAddresses {
  readonly url: string;
  readonly adminUrl: string;
}

const toAddresses = (config: Config, port: number, adminPort: number): ServerAddresses => ({
  url: config.publicUrl || formatAddress(config.host, port),
  adminUrl: formatAddress(config.adminHost, adminPort),
});

/** A taken port is told before schema and demo are made. Workers of one machine share the public one. */
const assertFree = async ({ workers, host, port, adminHost, adminPort }: Config): Promise<void> => {
  const fault = await findPortFault(adminHost, adminPort);
  if (fault !== null) throw fault;
  const taken = workers > 1 ? null : await findPortFault(host, port);
  if (taken !== null) throw taken;
};

/** The private listener first, so that a probe sees the node before clients do. */
const listen = async (config: Config, facade: Facade, admin: Facade): Promise<ServerAddresses> => {
  const adminPort = await admin.listen(config.adminHost, config.adminPort);
  const port = await facade.listen(config.host, config.port).catch(async (error: unknown) => {
    await admin.drain(0);
    throw error;
  });
  return toAddresses(config, port, adminPort);
};

interface EngineContext {
  readonly fleet: Membership;
  readonly metrics: Metrics;
  readonly shares: FlushShares;
}

const startEngine = async (
  stores: Stores,
  config: Config,
  { hooks, fleet: membership, metrics, shares }: StartOptions & EngineContext,
): Promise<Engine> => {
  const rules: CommitRules = toCommitRules(config, await membership.listDowntimes());
  const visitorSecret = await getOrCreateSecret(stores.sql, 'visitor_secret');
  const ledger = createLedger(stores.sql);
  const engine = createEngine({
    hot: hooks.hot?.(stores.hot) ?? stores.hot,
    ledger: hooks.ledger?.(ledger) ?? ledger,
    clock: systemClock,
    meters: metrics.engine,
    producer: `${hostname()}.${randomUUID()}`,
    rules: () => rules,
    visitorSecret: Buffer.from(visitorSecret, 'hex'),
    newId: createVoteIds(),
    flushIntervalMs: config.flushIntervalMs,
    actorsMax: config.actorsMax,
    reflush: stores.reflush,
    shared: stores.shared,
    flushShards: () => shares.mine,
  });
  await engine.start();
  stores.markReflushed();
  return engine;
};

const startTimers = (parts: {
  readonly stores: Stores;
  readonly fleet: Membership;
  readonly shares: FlushShares;
  readonly watches: Watches;
  readonly logger: StartOptions['logger'];
}): (() => void) => {
  const { stores, fleet: membership, shares, watches } = parts;
  const beat = async (): Promise<void> => {
    await membership.writeHeartbeat();
    if (stores.shared) shares.mine = assignShards(shares.node, await membership.listNodes(nodeAliveMs));
  };
  const failed = (what: string) => (error: Error) =>
    parts.logger.error({ error: error.message }, `${what} failed`);
  void watches.clock.look();
  const cancels = [
    startInterval(clockLookEveryMs, watches.clock.look, failed('looking at the clock')),
    startInterval(evictionLookEveryMs, watches.eviction.look, failed('looking at the memory settings')),
    startInterval(stores.shared ? sharedHeartbeatMs : heartbeatMs, beat, failed('heartbeat')),
    startInterval(sweepMs, () => stores.hot.sweep(systemClock.nowMs()), failed('sweep')),
  ];
  return () => {
    for (const cancel of cancels) cancel();
  };
};

interface Stoppable {
  readonly state: { draining: boolean };
  readonly facade: Facade;
  readonly admin: Facade;
  readonly engine: Engine;
  readonly fleet: Membership;
  readonly plane: ClusterContext;
  readonly stores: Stores;
  readonly config: Config;
  readonly cancelTimers: () => void;
  readonly jobs: Pick<Schedule, 'stop'>;
  readonly loss: LossReport;
}

const createStop = (parts: Stoppable): (() => Promise<void>) => {
  let stopping: Promise<void> | null = null;
  return () => {
    stopping ??= stop(parts);
    return stopping;
  };
};

/** A job that does not end in time fails when the stores close, and another node takes its run over. */
const endJobs = ({ jobs }: Stoppable, withinMs: number): Promise<void> =>
  new Promise((resolve) => {
    const cancel = systemClock.after(withinMs, resolve);
    void jobs.stop().then(() => {
      cancel();
      resolve();
    });
  });

/** Works on for a while with `/readyz` at 503: who sends requests here learns it before any is refused. */
const leave = ({ facade, config }: Stoppable): Promise<void> => {
  facade.startLeaving();
  return new Promise((resolve) => void systemClock.after(config.leaveMs, resolve));
};

const stop = async (parts: Stoppable): Promise<void> => {
  const { loss } = parts;
  const drainMs = loss.reason === '' ? parts.config.drainMs : Math.min(parts.config.drainMs, lostDrainMsMax);
  parts.state.draining = true;
  if (parts.stores.shared && loss.reason === '') await leave(parts);
  parts.cancelTimers();
  await Promise.all([parts.facade.drain(drainMs), endJobs(parts, drainMs)]);
  await parts.engine.drain(systemClock.monotonicMs() + drainMs);
  await parts.fleet.leave().catch(() => {
    // SQL is away: the mark stays older than it could be, and the silence counts from it.
  });
  await parts.plane.close();
  await parts.stores.close();
  await parts.admin.drain(0);
};
