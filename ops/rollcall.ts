/**
 * The composition root: opens stores, engine and listeners, and closes them in reverse order.
 *
 * Start order: folder lock → look whether the ports are free → stores → schema and number of shards → shared
 * secrets → engine → demo → private listener → public listener. No request is answered before the engine has
 * compared the two stores. Stop order: `/readyz` answers 503 (on shared stores for a while before the rest),
 * the public listener refuses new work and finishes requests in flight, the engine flushes, the stores close,
 * the private listener closes last.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { createVisitorHasher, deriveSecret } from '../engine/actors/visitors.ts';
import { createEngine } from '../engine/create.ts';
import type { Engine } from '../engine/engine.ts';
import type { CommitRules } from '../engine/entity/items.ts';
import { computeLongestWaitMs } from '../engine/entity/votes.ts';
import { StorageError } from '../engine/errors.ts';
import { assignShards } from '../engine/flush/shard-assignment.ts';
import type { EntityRef, Shard } from '../engine/ids.ts';
import type { HotStore, Ledger } from '../engine/ports.ts';
import { createVoteLogWaiters } from '../http/api/shared/vote-log-waiters.ts';
import type { App } from '../http/app.ts';
import { createFeed } from '../http/feed/feed.ts';
import { watchFigures } from '../http/telemetry/figures.ts';
import { createMetrics } from '../http/telemetry/metrics.ts';
import { createRateLimitedLog } from '../http/telemetry/rate-limited-log.ts';
import { explainFullDisk } from '../storage/disk-room.ts';
import { createLedger } from '../storage/ledger/ledger.ts';
import { getOrCreateSecret, openMembership } from '../storage/nodes/membership.ts';
import type { KeyHasher } from '../storage/nodes/rates.ts';
import type { Stores } from '../storage/open.ts';
import { prepareStores } from '../storage/prepare.ts';
import { startInterval } from '../storage/timers.ts';
import { listRouteNames } from './app.ts';
import { readSystemMs, systemClock } from './clock.ts';
import { type ClusterContext, openClusterContext } from './cluster-context.ts';
import { type Config, toCommitRules } from './config/config.ts';
import { listHomeDefaults } from './config/home-defaults.ts';
import { readOperatorToken } from './config/operator-token.ts';
import type { DemoFile } from './demo/demo.ts';
import { createJobs } from './jobs/jobs.ts';
import type { Schedule } from './jobs/schedule.ts';
import { createVoteWatch, type VoteWatch } from './jobs/vote-watch.ts';
import { createListeners } from './listeners.ts';
import { createLogger, selectLogForm } from './log/log.ts';
import { createRepeatedLog } from './log/repeated-log.ts';
import { type NodeStores, openNodeStores } from './open-stores.ts';
import { openLogin } from './services/login.ts';
import { openPush } from './services/push.ts';
import { openWebhooks } from './services/webhooks.ts';
import { type ClockInput, checkClock } from './start-clock.ts';
import { createStop } from './stop.ts';
import { formatVersion, readVersion } from './version.ts';
import { createVoteIds } from './vote-ids.ts';
import { createNoteLog } from './watch/note-log.ts';
import { openWatches } from './watch/watches.ts';

export interface StartInput extends Hooks {
  /** Default: the log of these settings on standard output. */
  readonly logger?: Logger;
  /** Its stores, where the caller has begun to open them. */
  readonly opening?: Promise<NodeStores>;
  /** Times in the stores that lie ahead of the clock are set to it, and reported line by line. */
  readonly acceptClock?: { readonly report: (line: string) => void } | undefined;
  /** The clock of the system, ms; tests give another one. */
  readonly systemMs?: number;
}

/** Wrap the stores before the engine gets them: for the faults and crash points of tests. */
export interface Hooks {
  readonly hot?: (hot: HotStore) => HotStore;
  readonly ledger?: (ledger: Ledger) => Ledger;
}

/** A started node. */
export interface Running {
  readonly url: string;
  readonly adminUrl: string;
  readonly demo: DemoFile | null;
  readonly engine: Engine;
  /** Notes for the operator from the start, such as weaker durability. */
  readonly notes: readonly string[];
  /** The names of the other live nodes on the same stores, when this one started. */
  readonly otherNodes: readonly string[];
  /**
   * Resolves with the reason, for the operator, when this process cannot continue because the embedded SQL
   * has ended. Then stop it and let a supervisor start a new process.
   */
  readonly lost: Promise<string>;
  /** Drains and closes everything. Idempotent. */
  stop(): Promise<void>;
}

const heartbeatMs = 30_000;
/** A node that has sent a heartbeat within this time is named at the start of another one. */
const nodeAliveMs = 40_000;
const sweepMs = 60_000;
/** Listings whose last votes wait to be restored. */
const restoredMax = 10_000;
const notesMs = 1_000;

const createOwnLogger = (config: Config): Logger =>
  createLogger({ level: config.logLevel, form: selectLogForm(config) });

/** Starts one node. On failure it closes everything and rejects with a message for the operator. */
export const start = async (config: Config, input: StartInput = {}): Promise<Running> => {
  const { logger = createOwnLogger(config), systemMs = readSystemMs(), acceptClock, ...rest } = input;
  const { opening = openNodeStores(config, { logger, nowMs: systemMs }), ...hooks } = rest;
  const { stores, loss, onWarning, diskFull } = await opening;
  let clusterContext: ClusterContext | null = null;
  try {
    const clusterConfig = { redisUrl: config.redisUrl, checkRules: toCommitRules(config, []).uptime };
    clusterContext = await openClusterContext(stores, clusterConfig, onWarning);
    const starting = startOn(stores, config, {
      ...{ hooks, logger, loss, onWarning, clusterContext },
      clock: {
        nowMs: systemMs,
        accept: acceptClock !== undefined,
        report: acceptClock?.report ?? (() => {}),
      },
    });
    return await Promise.race([starting, diskFull]);
  } catch (error) {
    const warnings = stores.listWarnings();
    await clusterContext?.close();
    await stores.close();
    const explained = explainDamage(error, warnings);
    // With an owner, what is full may be the disk of Postgres.
    throw stores.owner === null ? explainFullDisk(config.dataDir, explained) : explained;
  }
};

/** Appends the warnings of the stores, which say what to do, to an error about damaged data. */
const explainDamage = (error: unknown, warnings: readonly string[]): unknown =>
  error instanceof StorageError && error.reason === 'damaged'
    ? new Error([error.message, ...warnings].join('\n'), { cause: error })
    : error;

/** What the start was given, with the telemetry of the node. */
interface StartContext extends Telemetry, Pick<NodeStores, 'loss' | 'onWarning'> {
  readonly hooks: Hooks;
  readonly logger: Logger;
  readonly clusterContext: ClusterContext;
  readonly clock: ClockInput;
}

/** Starts the node on open stores: one step after the other, each with what those before have made. */
const startOn = async (stores: Stores, config: Config, options: Omit<StartContext, keyof Telemetry>) => {
  const context = { ...options, ...(await openTelemetry(stores, config)) };
  await prepareStores(stores);
  await checkClock(stores, context.clock);
  const fleet = await enterFleet(stores, config);
  const operatorToken = config.adminToken || readOperatorToken(config.dataDir);
  const services = await openServices(stores, config, context);
  const counting = await startEngine(stores, config, { ...context, ...fleet, services });
  const parts = { ...context, ...fleet, ...services, ...counting, stores, operatorToken };
  let jobs: Schedule | null = null;
  const listeners = createListeners(config, { ...parts, wakeJob: (job) => jobs?.wake(job) });
  const opened = await listeners.open();
  const notes = [...listHomeDefaults(config), ...stores.notes, ...context.watches.listNotes()];
  const logNotes = createNoteLog(listeners.listNotes, options.logger, notes);
  const cancelTimers = startTimers({ ...parts, logNotes });
  jobs = startJobs(parts, config);
  followFleet(parts, opened.adminUrl);
  const stop = createStop({ ...parts, ...listeners, config, cancelTimers, jobs });
  const { otherNodes } = fleet;
  return { ...opened, engine: counting.engine, notes, otherNodes, lost: options.loss.reported, stop };
};

type Telemetry = Awaited<ReturnType<typeof openTelemetry>>;

/** What the node counts, and what it watches on its machine. Rejects when Redis may evict counters. */
const openTelemetry = async (stores: Stores, config: Config) => {
  const version = readVersion();
  const figures = watchFigures(createMetrics(listRouteNames(config), version), systemClock);
  const { metrics } = figures;
  return { version, figures, metrics, watches: await openWatches(stores, metrics) };
};

type Fleet = Awaited<ReturnType<typeof enterFleet>>;

/** Registers this node with the others on the same stores. */
const enterFleet = async (stores: Stores, config: Config) => {
  const node = createNodeName(stores, config);
  const membership = await openMembership(stores.sql, { node, checkMs: config.uptimeCheckMinutes * 60_000 });
  const nodes = stores.shared ? await membership.listNodes(nodeAliveMs) : [];
  // The shards that this node flushes: all until the first heartbeat, beside the others.
  const assignment = { shards: null as readonly Shard[] | null };
  const program = getProgramName(config);
  const isOther = (name: string): boolean => name !== node && !`${name}.`.startsWith(`${program}.`);
  return { node, membership, assignment, otherNodes: nodes.filter(isOther) };
};

/** The host and the port, which all workers of a program share. */
const getProgramName = ({ port }: Config): string => `${hostname()}.${port}`;

/**
 * The same after each start, since other nodes know this node by it. The port separates nodes of one host,
 * the operator's port the workers of one program.
 */
const createNodeName = (stores: Stores, config: Config): string => {
  if (!stores.shared) return hostname();
  if (config.port === 0) return `${hostname()}.${randomUUID().slice(0, 8)}`;
  return config.workers > 1 ? `${getProgramName(config)}.${config.adminPort}` : getProgramName(config);
};

/** Tells the other nodes of this one, and divides the shards among the nodes that flush. */
const followFleet = (
  parts: StartContext & Fleet & Services & Counting & { readonly stores: Stores },
  adminUrl: string,
): void =>
  parts.clusterContext.join({
    name: parts.node,
    adminUrl,
    version: formatVersion(parts.version),
    readFigures: parts.figures.read,
    engine: parts.engine,
    onFlushers: (names) => {
      parts.assignment.shards = assignShards(parts.node, names);
    },
    refreshWebhooks: parts.webhooks.refresh,
  });

/** Starts the scheduled jobs. */
const startJobs = (parts: StartContext & Fleet & Services & Counting, config: Config): Schedule => {
  const { metrics, logger } = parts;
  const log = createRepeatedLog(logger.error.bind(logger), systemClock);
  const { catalogue } = parts.clusterContext;
  const jobs = createJobs({
    ...config,
    ...parts,
    catalogue,
    log,
    clock: systemClock,
    writesDeliveries: config.webhooks === 'on',
    meters: metrics.jobs,
    historyMeters: metrics.history,
    voteWaitMsMax: computeLongestWaitMs(toCommitRules(config, []).windows),
    onLogged: (votes) => {
      metrics.counts.loggedVotes += votes;
    },
    onSuccess: (job, ms) => logger.info({ job, ms: Math.round(ms) }, 'job done'),
  });
  jobs.start();
  return jobs;
};

type Services = Awaited<ReturnType<typeof openServices>>;

const openServices = async ({ sql, shared }: Stores, config: Config, { logger, metrics }: StartContext) => {
  const { windows } = toCommitRules(config, []);
  const log = (message: string, details: object): void => logger.warn(details, message);
  const failures = createRateLimitedLog(logger, systemClock);
  const report = (reason: string): void => failures.error({}, reason);
  return {
    push: await openPush(sql, config),
    login: await openLogin(sql, config, { report, meters: metrics.outbound }),
    webhooks: await openWebhooks(
      { sql, shared, meters: metrics.webhooks, windows, clock: systemClock, log },
      config,
    ),
  };
};

type Counting = Pick<App, 'engine' | 'feed' | 'voteLogWaiters'> & VoteWatch & { readonly hashKey: KeyHasher };

const startEngine = async (
  stores: Stores,
  config: Config,
  parts: StartContext & Fleet & { readonly services: Services },
): Promise<Counting> => {
  const { hooks, onWarning, clusterContext, membership, metrics, assignment, services } = parts;
  const rules: CommitRules = toCommitRules(config, await membership.listDowntimes());
  const visitorSecret = Buffer.from(await getOrCreateSecret(stores.sql, 'visitor_secret'), 'hex');
  const { webhooks } = services;
  const ledger = createLedger(stores.sql, {
    writesDeliveries: config.webhooks === 'on',
    isWebhookBacklogFull: webhooks.isBacklogFull,
    onVotes: ({ incarnations, votes, deliveries, logged }) => {
      watch.noteVotes(votes);
      metrics.counts.loggedVotes += logged;
      voteLogWaiters.wake(incarnations);
      feed.wake(incarnations);
      if (deliveries > 0) webhooks.wake();
    },
  });
  const watch = createVoteWatch(stores.sql, visitorSecret, config);
  const engine = createEngine({
    hot: hooks.hot?.(stores.hot) ?? stores.hot,
    ledger: hooks.ledger?.(ledger) ?? ledger,
    clock: systemClock,
    meters: metrics.engine,
    producer: `${hostname()}.${randomUUID()}`,
    rules,
    visitorSecret,
    newId: createVoteIds(),
    flushIntervalMs: config.flushIntervalMs,
    actorsMax: config.actorsMax,
    shared: stores.shared,
    flushShards: () => assignment.shards,
    onPoll: () => clusterContext.runs?.(systemClock.monotonicMs()),
    onFlushFailed: (error) => onWarning('a flush to SQL failed', error),
  });
  const feed = createFeed({
    engine,
    voteLog: clusterContext.catalogue.voteLog,
    clock: systemClock,
    counts: metrics.feed,
    settings: config,
    shared: stores.shared,
  });
  const { heads: readHeads } = clusterContext.catalogue.voteLog;
  const voteLogWaiters = createVoteLogWaiters({ engine, clock: systemClock, readHeads });
  await engine.start();
  const hashKey = createVisitorHasher(deriveSecret(visitorSecret, 'rate limits'));
  return { engine, feed, voteLogWaiters, hashKey, ...watch };
};

/** Sweeps the hot store, and restores last votes that somebody deleted there; else after the next sweep. */
const createSweep = ({ hot }: Stores, engine: Engine) => {
  let lost: readonly EntityRef[] = [];
  return async (): Promise<void> => {
    lost = [...lost, ...(await hot.sweep(systemClock.nowMs()))].slice(0, restoredMax);
    for (const ref of lost) {
      await engine.restoreVoters(ref);
      lost = lost.slice(1);
    }
  };
};

const startTimers = (
  parts: StartContext &
    Fleet & { readonly stores: Stores; readonly engine: Engine; readonly logNotes: () => void },
): (() => void) => {
  const { stores, membership, watches, onWarning } = parts;
  const logFailure = (task: string) => (error: Error) => onWarning(`${task} failed`, error);
  const cancels = [
    ...watches.start(logFailure),
    startInterval(notesMs, async () => parts.logNotes(), logFailure('the log of notes')),
    startInterval(heartbeatMs, () => membership.writeHeartbeat(), logFailure('the heartbeat')),
    startInterval(sweepMs, createSweep(stores, parts.engine), logFailure('the sweep of old windows')),
  ];
  return () => {
    for (const cancel of cancels) cancel();
    parts.logNotes();
  };
};
