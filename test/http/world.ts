/**
 * A small world for tests of the facade: sample routes on a real server, sessions from a map, raw sockets.
 *
 * No module of the product is mocked: the routes and the server are real. Each test file opens and closes its
 * own world.
 */

import '../support/no-draws.ts';
import { hash } from 'node:crypto';
import { formatToken, type TokenKind } from '../../engine/rules/token.ts';
import type { App } from '../../http/app.ts';
import type { PermissionSource, SessionSource } from '../../http/auth/auth.ts';
import { createSessionCache } from '../../http/auth/sessions.ts';
import { createFacade, type Facade, type FacadeOptions } from '../../http/facade.ts';
import { defaultLimits } from '../../http/limits/limiter.ts';
import { systemClock } from '../../ops/clock.ts';
import type { SessionOfToken } from '../../storage/catalogue/people/sessions.ts';
import { countReply, printReplies } from '../support/reply-count.ts';
import { plainSite } from './plain-site.ts';
import { type Seen, sampleRows } from './sample-routes.ts';
import { silentLogger } from './silent-logger.ts';

/** The product's clock, which reads the machine's time. */
export const realClock = systemClock;

export interface World {
  readonly port: number;
  readonly facade: Facade;
  readonly seen: Seen[];
  readonly logged: unknown[];
  readonly answered: { index: number; status: number }[];
  /** Mints a token and its session. */
  token(kind: TokenKind, id: string, rest?: Partial<SessionOfToken>): string;
  /** Lets the requests that wait at the barrier continue. */
  release(): void;
  /** Makes the requests that wait at the barrier fail. */
  break(error: Error): void;
  /** `away` makes session look-ups fail; `lookups` counts them. */
  sql: { away: boolean; lookups: number };
  close(): Promise<void>;
}

let minted = 0;

const permissions: PermissionSource = {
  findAccess: async (kind, id, userId) => {
    if (id === 'absent') return null;
    const teamId = id === 'owned' ? 'team1' : null;
    return { teamId, permissions: userId === 'owner' && kind !== 'team' ? ['owner'] : [] };
  },
};

const mint = (kind: TokenKind, id: string, rest: Partial<SessionOfToken>) => {
  const token = formatToken({ kind, id }, Buffer.alloc(32, ++minted));
  const record: SessionOfToken = {
    sessionId: `session-${minted}`,
    kind,
    id,
    sessionType: 'api',
    limits: [],
    expiresAtMs: Date.now() + 60_000,
    banned: false,
    voteBanned: false,
    ...rest,
  };
  return { token, record };
};

const metersOf = (answered: World['answered']): FacadeOptions['meters'] => ({
  recordAnswer: (index, status) => {
    answered.push({ index, status });
    countReply(status);
  },
});

/** Opens a world on a free port. */
export const openWorld = async (options: Partial<FacadeOptions> = {}): Promise<World> => {
  const sessions = new Map<string, SessionOfToken>();
  const sql = { away: false, lookups: 0 };
  const seen: Seen[] = [];
  const logged: unknown[] = [];
  const answered: { index: number; status: number }[] = [];
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const source: SessionSource = {
    byTokenHash: async (digest) => {
      sql.lookups++;
      if (sql.away) throw new Error('connect ECONNREFUSED');
      return sessions.get(digest.toString('hex')) ?? null;
    },
  };
  const barrier = (): Promise<void> => new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  const cache = createSessionCache({ source, clock: realClock, entriesMax: 1_000, freshMs: 60_000 });
  const app = {
    sessions: cache,
    clock: realClock,
    settings: { sessionsPerEntityMax: 100, bodyBytesMax: 4_096 },
  } as unknown as App; // The sample routes use no engine and no catalogue.
  const facade = createFacade({
    app,
    routes: sampleRows(seen, barrier),
    sessions: cache,
    permissions,
    meters: metersOf(answered),
    logger: { ...silentLogger, error: (line: unknown) => logged.push(line) },
    limits: defaultLimits,
    trustedProxies: [],
    shared: false,
    site: plainSite,
    findDemo: () => null,
    ...options,
  });
  const port = await facade.listen('127.0.0.1', 0);
  return {
    port,
    facade,
    seen,
    logged,
    answered,
    sql,
    token: (kind, id, rest = {}) => {
      const { token, record } = mint(kind, id, rest);
      sessions.set(hash('sha256', token, 'hex'), record);
      return token;
    },
    release: () => {
      for (const request of waiting.splice(0)) request.resolve();
    },
    break: (error) => {
      for (const request of waiting.splice(0)) request.reject(error);
    },
    close: () => facade.drain(1_000).then(printReplies),
  };
};

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** `{}` when the reply is not JSON. */
  readonly json: Readonly<Record<string, unknown>> & { readonly context?: Record<string, string> };
}

/** Sends one request with fetch. */
export const ask = async (
  world: World,
  method: string,
  path: string,
  init: RequestInit = {},
): Promise<Answer> => {
  const response = await fetch(`http://127.0.0.1:${world.port}${path}`, {
    method,
    redirect: 'manual',
    ...init,
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json' && text !== '';
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} };
};
