/**
 * A complete Rollcall in one process, for tests of routes: real facade, engine, LMDB and SQL, on a free port.
 *
 * Only the wall clock is mocked: it starts at a recent Tuesday noon, because vote windows differ at the
 * weekend. Each test file opens and closes its own world. The directory starts empty. Every reply is checked
 * against the published document, so a test of a status also tests the shape.
 */
import '../../support/no-draws.ts';
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { formatWithOptions } from 'node:util';
import webPush from 'web-push';
import { createEngine } from '../../../engine/create.ts';
import type { Engine } from '../../../engine/engine.ts';
import { computeLongestWaitMs } from '../../../engine/entity/votes.ts';
import type { Clock, Ledger, OutboxVote } from '../../../engine/ports.ts';
import { formatToken, type TokenKind } from '../../../engine/rules/token.ts';
import { createOriginEncoder } from '../../../engine/rules/vote-origin.ts';
import { createBadgeCache } from '../../../http/api/badges/badge-cache.ts';
import { createHistoryCache } from '../../../http/api/history/history-cache.ts';
import { createVoteLogWaiters, type VoteLogWaiters } from '../../../http/api/shared/vote-log-waiters.ts';
import { routes } from '../../../http/api/table.ts';
import type { App, FacadeSettings } from '../../../http/app.ts';
import type { Login } from '../../../http/auth/login-state.ts';
import { createSessionCache, type SessionCache } from '../../../http/auth/sessions.ts';
import { createFacade, type Facade, type FacadeOptions } from '../../../http/facade.ts';
import { createFeed, type FeedSettings } from '../../../http/feed/feed.ts';
import type { Feed } from '../../../http/feed/interface.ts';
import { defaultLimits } from '../../../http/limits/limiter.ts';
import { type BotLookupOptions, createBotLookup } from '../../../http/outbound/bot-lookup.ts';
import { createPushClient, type PushClient, type PushOptions } from '../../../http/outbound/push.ts';
import type { WebhookSenderOptions } from '../../../http/outbound/webhooks/send.ts';
import { createMetrics } from '../../../http/telemetry/metrics.ts';
import { systemClock } from '../../../ops/clock.ts';
import { createVoidPlansJob } from '../../../ops/jobs/void-plans.ts';
import { openWebhooks, type Webhooks } from '../../../ops/services/webhooks.ts';
import { type Catalogue, createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import type { EmbeddedSql } from '../../../storage/embedded/pglite.ts';
import { openLmdbStore } from '../../../storage/hot/lmdb/store.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { connectSql, type Sql } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { findDatabase, makeDatabase } from '../../support/alone.ts';
import { makeFolder } from '../../support/folder.ts';
import { countReply, printReplies } from '../../support/reply-count.ts';
import { usualRules } from '../../support/rules.ts';
import { openMigratedSql } from '../../support/sql-template.ts';
import { plainSite } from '../plain-site.ts';
import { judgeReply } from '../published.ts';
import { silentLogger } from '../silent-logger.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The last Tuesday noon (UTC) that is at least a day ago. */
const tuesdayNoon = (nowMs: number): number => {
  const noon = Math.floor(nowMs / dayMs) * dayMs + 12 * hourMs;
  const daysSince = (new Date(noon).getUTCDay() + 5) % 7;
  return noon - (daysSince === 0 ? 7 : daysSince) * dayMs;
};

export interface TestClock extends Clock {
  /** Moves the wall clock; timers are not affected. */
  skip(milliseconds: number): void;
}

const createClock = (): TestClock => {
  let offsetMs = tuesdayNoon(Date.now()) - Date.now();
  return {
    ...systemClock,
    nowMs: () => Date.now() + offsetMs,
    skip: (milliseconds) => {
      offsetMs += milliseconds;
    },
  };
};

const rules = { ...usualRules, visitorsMax: 1_000 };
const encodeOrigin = createOriginEncoder(randomBytes(32));
const silent = (): void => {};
const metrics = createMetrics([], { version: '1.2.3', commit: 'unknown' });
const { counts, engine: engineMeters, webhooks: webhookMeters, feed } = metrics;
export const feedCounts = feed;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** For direct queries by tests. */
  readonly json: ReturnType<typeof JSON.parse>;
}
/** The status and the error code of a refused request. */
export const codeOf = ({ status, json }: Pick<Answer, 'status' | 'json'>): readonly [number, string] => [
  status,
  json.context.code,
];
export interface AskOptions {
  readonly token?: string;
  readonly body?: unknown;
  /** The body as text, if it must not be serialised again. */
  readonly text?: string;
  readonly headers?: Record<string, string>;
}
export interface TokenFields {
  readonly permLimits?: readonly string[];
  readonly type?: 'login' | 'api';
  readonly lastsSeconds?: number;
}
export interface WorldOptions {
  /** If absent, messages may go to any address, including loopback. */
  readonly push?: Partial<PushOptions>;
  /** The client that sends webhooks; it may send to any address, including loopback. */
  readonly webhooks?: Partial<WebhookSenderOptions>;
  /** Settings of the feed that differ from the defaults. */
  readonly feed?: Partial<FeedSettings>;
  /** If absent, totals and votes reach SQL each second. */
  readonly flushIntervalMs?: number;
  /** If absent, there is no login. */
  readonly login?: Login;
  /** If absent, voters need no proof of a human. */
  readonly voteProof?: App['voteProof'];
  /** If absent, where votes come from is kept. */
  readonly keepsOrigins?: false;
  /** Gets votes that were flushed. */
  readonly onVotes?: ((votes: readonly OutboxVote[]) => void) | undefined;
  /** If absent, no bot is looked up. */
  readonly botLookup?: Partial<BotLookupOptions>;
  /** If absent, this machine is a trusted proxy, so a test can act as many visitors. */
  readonly trustedProxies?: readonly string[];
  /** If absent, those of the product. Replies of others are not compared with the published document. */
  readonly routes?: FacadeOptions['routes'];
  /** If absent, the site has the default settings. */
  readonly site?: FacadeOptions['site'];
  /** If absent, failures are written to standard error. */
  readonly logger?: FacadeOptions['logger'];
}
export interface World {
  readonly port: number;
  readonly sql: Sql;
  readonly engine: Engine;
  readonly catalogue: Catalogue;
  readonly clock: TestClock;
  readonly push: PushClient;
  readonly webhooks: Webhooks;
  /** The app of the routes, for a second listener. */
  readonly app: App;
  /** Mints a session in SQL and returns its token. */
  token(kind: TokenKind, id: string, fields?: TokenFields): Promise<string>;
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>;
  close(): Promise<void>;
}

interface Parts extends Omit<World, 'port' | 'token' | 'ask' | 'close'> {
  readonly folder: string;
  readonly facade: Facade;
  readonly closeStores: () => Promise<void>;
}

const settings: FacadeSettings = {
  secretsKey: '',
  sessionsPerEntityMax: 5,
  bodyBytesMax: 1_048_576,
  teamsPerUserMax: 50,
  membersPerTeamMax: 200,
  packsPerUserMax: 100,
  remindersPerUserMax: 5,
  pushSubscriptionsPerUserMax: 3,
  webhooks: 'on',
  webhooksPerEntityMax: 3,
  webhookAddresses: 'any',
  historyFineMinutes: 5,
  historyFineHours: 48,
  historyHourDays: 30,
};

const feedSettings: FeedSettings = {
  feedConnectionsMax: 1_000,
  feedConnectionsPerAddressMax: 50,
  feedFrameMs: 50,
  voteLog: 'public',
};

/** Tests send nothing to the internet. */
const noSending = { resolve: async () => ['127.0.0.1'] };

const openWebhooksOn = (
  sql: Sql,
  parts: { readonly clock: TestClock; readonly sending: Partial<WebhookSenderOptions> },
): Promise<Webhooks> =>
  openWebhooks(
    { ...parts, sql, shared: false, meters: webhookMeters, windows: rules.windows, log: silent },
    {
      webhooks: 'on',
      webhookAddresses: 'any',
      webhookTimeoutSeconds: 5,
      webhookDisableDays: 5,
      secretsKey: '',
    },
  );

interface Flushing {
  readonly sql: Sql;
  readonly webhooks: Webhooks;
  readonly onVotes: WorldOptions['onVotes'];
  readonly getListeners: () => { readonly feed: Feed; readonly voteLogWaiters: VoteLogWaiters };
}
const createFlushedLedger = ({ sql, webhooks, onVotes, getListeners }: Flushing): Ledger =>
  createLedger(sql, {
    onVotes: ({ incarnations, votes, deliveries }) => {
      onVotes?.(votes);
      const { feed, voteLogWaiters } = getListeners();
      voteLogWaiters.wake(incarnations);
      feed.wake(incarnations);
      if (deliveries > 0) webhooks.wake();
    },
  });

/** Shows what a handler threw, with its stack, where a test fails. */
const printFailure = (...line: unknown[]): void => {
  process.stderr.write(`${formatWithOptions({ depth: 6 }, ...line.reverse())}\n`);
};

const createFacadeOf = (app: App, sessions: SessionCache, options: WorldOptions): Facade =>
  createFacade({
    app,
    routes: options.routes ?? routes,
    sessions,
    permissions: app.catalogue,
    meters: { recordAnswer: (_, status) => countReply(status) },
    logger: options.logger ?? { ...silentLogger, error: printFailure },
    limits: {
      ...defaultLimits,
      auth_test: { requests: 1_000, seconds: 1, burst: 1_000 },
      webhook_edit: { requests: 1_000, seconds: 1, burst: 1_000 },
      webhook_view: { requests: 1_000, seconds: 1, burst: 1_000 },
      feed: { requests: 1_000, seconds: 1, burst: 1_000 },
      search: { requests: 1_000, seconds: 1, burst: 1_000 },
    },
    trustedProxies: options.trustedProxies ?? ['127.0.0.1'],
    shared: false,
    site: options.site ?? plainSite,
    findDemo: () => null,
  });

const createFeedOn = (
  { engine, catalogue, clock }: Pick<Parts, 'engine' | 'catalogue' | 'clock'>,
  options: WorldOptions,
): Feed =>
  createFeed({
    engine,
    voteLog: catalogue.voteLog,
    clock,
    counts: feedCounts,
    settings: { ...feedSettings, ...options.feed },
    shared: false,
  });

const createSessionsOn = ({ sessions: source }: Catalogue, clock: Clock): SessionCache =>
  createSessionCache({ source, clock, entriesMax: 1_000, freshMs: 60_000 });

/** On `DATABASE_URL` alone where a test file requests it, see support/alone.ts. */
const openWorldSql = async (folder: string): Promise<Pick<EmbeddedSql, 'sql' | 'close'>> => {
  if (!makeDatabase(folder)) return openMigratedSql(join(folder, 'sql'));
  const sql = connectSql(findDatabase(folder).DATABASE_URL ?? '');
  await migrate(sql);
  return { sql, close: () => sql.end() };
};

const openParts = async (options: WorldOptions): Promise<Parts> => {
  const folder = makeFolder('rollcall-routes-');
  const clock = createClock();
  const embedded = await openWorldSql(folder);
  const hot = await openLmdbStore({ path: join(folder, 'hot'), clock: clock.nowMs });
  const catalogue = createCatalogue(embedded.sql, { snapshotAgeMaxMs: 1 });
  const webhooks = await openWebhooksOn(embedded.sql, { clock, sending: options.webhooks ?? noSending });
  const engine = createEngine({
    hot,
    ledger: createFlushedLedger({
      sql: embedded.sql,
      webhooks,
      onVotes: options.onVotes,
      getListeners: () => ({ feed, voteLogWaiters }),
    }),
    clock,
    meters: engineMeters,
    producer: `test-${randomUUID()}`,
    rules,
    visitorSecret: randomBytes(32),
    newId: () => randomUUID(),
    flushIntervalMs: options.flushIntervalMs ?? 1_000,
    actorsMax: 1_000,
  });
  const feed = createFeedOn({ engine, catalogue, clock }, options);
  const waitersParts = { engine, clock, readHeads: catalogue.voteLog.heads, lookEveryMs: 20 };
  const voteLogWaiters = createVoteLogWaiters(waitersParts);
  await engine.start();
  const sessions = createSessionsOn(catalogue, clock);
  const push = createPushClient({
    keys: webPush.generateVAPIDKeys(),
    contact: 'mailto:test@example.org',
    reach: 'any',
    ...options.push,
  });
  const botLookup = createBotLookup({ serviceUrl: '', platformUrl: '', clock, ...options.botLookup });
  const parts = { engine, catalogue, sessions, clock, botLookup, push, login: options.login ?? null };
  const voidPlans = createVoidPlansJob({ ...parts, voteWaitMsMax: computeLongestWaitMs(rules.windows) });
  const app: App = {
    ...parts,
    counts,
    voteLogWaiters,
    voteProof: options.voteProof ?? null,
    encodeOrigin: options.keepsOrigins === false ? null : encodeOrigin,
    noteView: null,
    feed,
    webhooks: webhooks.access,
    badges: createBadgeCache(300),
    history: createHistoryCache(),
    settings,
    listNodes: () => [],
    wakeJob: () => void voidPlans.run(new AbortController().signal).catch(silent),
    listWarnings: () => ['sql_away: Postgres is away'],
    isDraining: () => false,
  };
  const facade = createFacadeOf(app, sessions, options);
  const closeStores = (): Promise<void> => hot.close().then(() => embedded.close());
  return { folder, sql: embedded.sql, engine, catalogue, clock, push, webhooks, app, facade, closeStores };
};

const mint = async (
  { catalogue }: Parts,
  target: { kind: TokenKind; id: string },
  fields: TokenFields,
): Promise<string> => {
  const token = formatToken(target, randomBytes(32));
  const session = {
    id: randomUUID(),
    target,
    type: fields.type ?? 'api',
    name: 'test',
    permLimits: fields.permLimits ?? [],
    tokenHash: hash('sha256', token, 'buffer'),
    lastsSeconds: fields.lastsSeconds ?? 30 * (dayMs / 1_000),
    mintedBy: '',
    mintedWith: null,
  } as const;
  await catalogue.sessions.insert(session, { apiSessionsMax: 1_000 });
  return token;
};

const ask = async (url: string, method: string, options: AskOptions): Promise<Answer> => {
  const { token, body } = options;
  const sent = options.text ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { ...(token === undefined ? {} : { authorization: token }), ...options.headers },
    ...(sent === undefined ? {} : { body: sent }),
  });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json') && text !== '';
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : null };
};

export const openWorld = async (options: WorldOptions = {}): Promise<World> => {
  const parts = await openParts(options);
  const port = await parts.facade.listen('127.0.0.1', 0);
  const { sql, engine, catalogue, clock, push, webhooks, app } = parts;
  const isPublished = options.routes === undefined;
  return {
    port,
    sql,
    engine,
    catalogue,
    clock,
    push,
    webhooks,
    app,
    token: (kind, id, fields = {}) => mint(parts, { kind, id }, fields),
    ask: async (method, path, options = {}) => {
      const answer = await ask(`http://127.0.0.1:${port}${path}`, method, options);
      const { status, headers, text } = answer;
      const contentType = headers.get('content-type') ?? '';
      if (isPublished) judgeReply({ method, path, status, contentType, text, headers: headers.keys() });
      return answer;
    },
    close: async () => {
      await app.feed.leave();
      await parts.facade.drain(1_000);
      await webhooks.close(1_000);
      await engine.drain(clock.monotonicMs() + 2_000);
      printReplies();
      await parts.closeStores();
      rmSync(parts.folder, { recursive: true, force: true });
    },
  };
};
