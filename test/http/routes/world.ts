/**
 * A whole Rollcall in one process, for tests of the rows: real facade, engine, LMDB and SQL, on a free port.
 *
 * Nothing is mocked but the wall clock, which runs at its own pace from a Tuesday noon not long ago: vote
 * windows differ at the weekend. Each test file opens one and closes it. The directory starts empty. Every
 * reply is judged by the published document, so a test of a status is also one of the shape.
 */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import webPush from 'web-push';
import { createEngine } from '../../../engine/create.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { CommitRules } from '../../../engine/entity/items.ts';
import type { EngineMeters } from '../../../engine/meters.ts';
import type { Clock } from '../../../engine/ports.ts';
import { formatToken, type TokenKind } from '../../../engine/rules/token.ts';
import type { Login } from '../../../http/auth/login-state.ts';
import { createSessionCache } from '../../../http/auth/sessions.ts';
import { createFacade, type Facade, type FacadeOptions } from '../../../http/facade.ts';
import { defaultLimits } from '../../../http/limits/limiter.ts';
import { type BotLookupOptions, createBotLookup } from '../../../http/outbound/bot-lookup.ts';
import { createPushClient, type PushClient, type PushOptions } from '../../../http/outbound/push.ts';
import type { App, FacadeSettings } from '../../../http/route.ts';
import { routes } from '../../../http/routes/table.ts';
import { systemClock } from '../../../ops/clock.ts';
import { type Catalogue, createCatalogue } from '../../../storage/catalogue/catalogue.ts';
import { openLmdbStore } from '../../../storage/hot/lmdb/store.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { openMigratedSql } from '../../support/sql-template.ts';
import { judgeReply } from '../published.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The last Tuesday noon (UTC) that is at least a day ago. */
const tuesdayNoon = (nowMs: number): number => {
  const noon = Math.floor(nowMs / dayMs) * dayMs + 12 * hourMs;
  const daysSince = (new Date(noon).getUTCDay() + 5) % 7;
  return noon - (daysSince === 0 ? 7 : daysSince) * dayMs;
};

export interface TestClock extends Clock {
  /** Moves the wall clock; timers stay as they are. */
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

const rules: CommitRules = {
  windows: {
    standard: { waitMs: 12 * hourMs, perUser: 1 },
    premium: { waitMs: 4 * hourMs, perUser: 1 },
    weekend: { waitMs: 6 * hourMs, perUser: 2 },
  },
  uptime: { checkMs: 300_000, freshMs: 900_000, downtimes: [] },
  visitorsMax: 1_000,
};
const silent = (): void => {};
const meters: EngineMeters = {
  recordCommit: silent,
  recordGateWait: silent,
  recordCommitFailure: silent,
  recordPending: silent,
  recordActors: silent,
  recordFlush: silent,
  recordFlushFailure: silent,
  recordBacklog: silent,
  recordDeadLetters: silent,
  recordContinuityLoss: silent,
  recordRetransmitBytes: silent,
  recordResends: silent,
  recordResendOutcome: silent,
  recordVersionPoll: silent,
};

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Looked into freely by tests. */
  readonly json: ReturnType<typeof JSON.parse>;
}
export interface AskOptions {
  readonly token?: string;
  readonly body?: unknown;
  /** The body as text, when it must not be re-serialised. */
  readonly text?: string;
  readonly headers?: Record<string, string>;
}
export interface TokenFields {
  readonly permLimits?: readonly string[];
  readonly type?: 'login' | 'api';
  readonly lastsSeconds?: number;
}
export interface WorldOptions {
  /** Otherwise messages may go anywhere, also to loopback. */
  readonly push?: Partial<PushOptions>;
  /** Otherwise there is no login. */
  readonly login?: Login;
  /** Otherwise nobody is looked up. */
  readonly botLookup?: Partial<BotLookupOptions>;
  /** Otherwise this machine is one, and a test can be many visitors. */
  readonly trustedProxies?: readonly string[];
  /** Otherwise failures are written to the standard error. */
  readonly logger?: FacadeOptions['logger'];
}
export interface World {
  readonly port: number;
  readonly sql: Sql;
  readonly engine: Engine;
  readonly catalogue: Catalogue;
  readonly clock: TestClock;
  readonly push: PushClient;
  /** What the rows reach, for a second listener over it. */
  readonly app: App;
  /** Mints a session in SQL and returns its token. */
  token(kind: TokenKind, id: string, fields?: TokenFields): Promise<string>;
  ask(method: string, path: string, options?: AskOptions): Promise<Asked>;
  close(): Promise<void>;
}

interface Parts {
  readonly folder: string;
  readonly sql: Sql;
  readonly engine: Engine;
  readonly catalogue: Catalogue;
  readonly clock: TestClock;
  readonly push: PushClient;
  readonly app: App;
  readonly facade: Facade;
  readonly closeStores: () => Promise<void>;
}

const settings: FacadeSettings = {
  sessionsPerEntityMax: 5,
  bodyBytesMax: 1_048_576,
  teamsPerUserMax: 50,
  membersPerTeamMax: 200,
  packsPerUserMax: 100,
  remindersPerUserMax: 5,
  pushSubscriptionsPerUserMax: 3,
};

const openParts = async (options: WorldOptions): Promise<Parts> => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-routes-'));
  const clock = createClock();
  const embedded = await openMigratedSql(join(folder, 'sql'));
  const hot = await openLmdbStore({ path: join(folder, 'hot'), clock: clock.nowMs });
  const catalogue = createCatalogue(embedded.sql, { snapshotAgeMaxMs: 1 });
  const engine = createEngine({
    hot,
    ledger: createLedger(embedded.sql),
    clock,
    meters,
    producer: `test-${randomUUID()}`,
    rules: () => rules,
    visitorSecret: randomBytes(32),
    newId: () => randomUUID(),
    flushIntervalMs: 1_000,
    actorsMax: 1_000,
    reflush: false,
  });
  await engine.start();
  const sessions = createSessionCache({
    source: catalogue.sessions,
    clock,
    entriesMax: 1_000,
    freshMs: 60_000,
  });
  const push = createPushClient({
    keys: webPush.generateVAPIDKeys(),
    contact: 'mailto:test@example.org',
    reach: 'any',
    ...options.push,
  });
  const botLookup = createBotLookup({ serviceUrl: '', platformUrl: '', clock, ...options.botLookup });
  const login = options.login ?? null;
  const app: App = { engine, catalogue, sessions, clock, botLookup, push, login, settings };
  const facade = createFacade({
    app,
    routes,
    sessions,
    permissions: catalogue,
    meters: { recordAnswer: silent },
    logger: options.logger ?? {
      error: (...line: unknown[]) => process.stderr.write(`${line.map(String).join(' ')}\n`),
      info: silent,
    },
    limits: { ...defaultLimits, auth_test: { requests: 1_000, seconds: 1, burst: 1_000 } },
    trustedProxies: options.trustedProxies ?? ['127.0.0.1'],
  });
  const closeStores = async (): Promise<void> => {
    await hot.close();
    await embedded.close();
  };
  return { folder, sql: embedded.sql, engine, catalogue, clock, push, app, facade, closeStores };
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
    lastsSeconds: fields.lastsSeconds ?? 3_600,
    mintedBy: '',
    mintedWith: null,
  } as const;
  await catalogue.sessions.insert(session, 1_000);
  return token;
};

const ask = async (url: string, method: string, options: AskOptions): Promise<Asked> => {
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
  const { sql, engine, catalogue, clock, push, app } = parts;
  return {
    port,
    sql,
    engine,
    catalogue,
    clock,
    push,
    app,
    token: (kind, id, fields = {}) => mint(parts, { kind, id }, fields),
    ask: async (method, path, options = {}) => {
      const asked = await ask(`http://127.0.0.1:${port}${path}`, method, options);
      const contentType = asked.headers.get('content-type') ?? '';
      judgeReply({ method, path, status: asked.status, contentType, text: asked.text });
      return asked;
    },
    close: async () => {
      await parts.facade.drain(1_000);
      await engine.drain(clock.monotonicMs() + 2_000);
      await parts.closeStores();
      rmSync(parts.folder, { recursive: true, force: true });
    },
  };
};
