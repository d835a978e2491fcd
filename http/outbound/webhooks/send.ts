/**
 * Sends webhooks and push messages to addresses that clients choose.
 *
 * The addresses of a host are judged by guarded-address.ts. Sockets to exactly those are kept for at most
 * 30 seconds, for all connections to that host, because a handshake costs more than several requests; the
 * next request after that judges again. So no socket leads to an address that was not judged, whatever DNS
 * answers in between. No proxy is used. One time limit covers looking up, connecting, waiting and reading.
 * Never throws and keeps no schedule: every outcome is a value, and the caller decides what follows. Called
 * by dispatcher.ts, by the handler of the test button, and by push.ts.
 */
import { X509Certificate } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { checkServerIdentity, createSecureContext, type SecureContext } from 'node:tls';
import type { Client } from 'undici';
import { createConnector, loadUndici } from '../connect.ts';
import {
  createResolver,
  findAddressFault,
  type Reach,
  type ResolveHost,
  vetHost,
} from '../guarded-address.ts';
import {
  type Carrier,
  classify,
  endAttempt,
  sendRequest,
  toUnanswered,
  type WebhookAnswer,
  type WebhookAttempt,
  type WebhookFailure,
} from './request.ts';

export interface WebhookSenderOptions {
  readonly addresses: Reach;
  /** For one request as a whole. */
  readonly timeoutMs: number;
  /** How long judged addresses may be used; 30 s by default. */
  readonly keepMs?: number;
  /** Open sockets in all above which none is kept for a later request; 2,048 by default. */
  readonly keptSocketsMax?: number;
  /** The certificate authorities to trust instead of the usual ones (tests). */
  readonly ca?: string;
  /** By default the system's name servers. */
  readonly resolve?: ResolveHost;
}

export interface WebhookOutcome extends WebhookAnswer {
  readonly milliseconds: number;
}

/** Requests to one URL. */
export interface WebhookConnection {
  /**
   * Sends one request and resolves within the time limit. Each request in flight has a socket, so the caller
   * bounds how many there are. A request that meets the end of a kept socket is sent once more, on another
   * one.
   */
  post(headers: Readonly<Record<string, string>>, body: string | Buffer): Promise<WebhookOutcome>;
  /** Requests in flight resolve as `closed`, and so does every later one. */
  close(): void;
}

/** Open sockets to all hosts above which none is kept, so that receivers cannot use up a process's files. */
const keptSocketsMaxDefault = 2_048;
/** Hosts with kept sockets; the oldest one beyond is closed when its requests are done. */
const hostsMax = 128;
const keepMsDefault = 30_000;
/** A name server that leaves one question open takes half of the time at most. */
const resolveMsMax = 5_000;

export const createWebhookSender = (options: WebhookSenderOptions) => {
  const { addresses: reach, timeoutMs, keepMs = keepMsDefault, ca } = options;
  const resolveMs = Math.min(resolveMsMax, timeoutMs / 2);
  const pool: SocketPool = {
    reach,
    timeoutMs,
    keepMs,
    ca,
    secureContext: undefined,
    resolve: options.resolve ?? createResolver(reach, resolveMs),
    hosts: new Map(),
    keptSocketsMax: options.keptSocketsMax ?? keptSocketsMaxDefault,
    kept: new Set(),
  };
  const states = new Set<ConnectionState>();
  return {
    /** Opens no socket yet. The caller closes the connection. */
    open: (url: string): WebhookConnection => {
      const fault = findAddressFault(url, reach, true);
      const target = fault === null ? new URL(url) : fault;
      const state: ConnectionState = { pool, target, attempts: new Set(), closed: false };
      states.add(state);
      return {
        post: (headers, body) => post(state, { headers, body }),
        close: () => {
          states.delete(state);
          close(state);
        },
      };
    },
    /** Closes all connections and sockets. */
    close: (): void => {
      for (const state of states) close(state);
      states.clear();
      for (const origin of pool.hosts.keys()) retire(pool, origin);
    },
  };
};
export type WebhookSender = ReturnType<typeof createWebhookSender>;

interface ConnectionState {
  readonly pool: SocketPool;
  /** Where requests go, or why none may. */
  readonly target: URL | string;
  /** Requests in flight. */
  readonly attempts: Set<WebhookAttempt>;
  closed: boolean;
}

interface SocketPool {
  readonly reach: Reach;
  /** For an attempt, and for opening a connection that outlasts its attempt. */
  readonly timeoutMs: number;
  readonly keepMs: number;
  readonly ca: string | undefined;
  /** Made once, for the first https address: reading the authorities takes as long as a handshake. */
  secureContext: SecureContext | undefined;
  readonly resolve: ResolveHost;
  /** The judgements in force, or in progress, by origin, oldest first; all requests to a host share one. */
  readonly hosts: Map<string, Host>;
  readonly keptSocketsMax: number;
  /** Connections that were kept after a request and are still open. */
  readonly kept: Set<Client>;
}

interface Host {
  readonly judgement: Promise<JudgedSockets | WebhookFailure>;
  /** `null` while the judgement is in progress. */
  judged: JudgedSockets | null;
}

/** Sockets to the addresses of one judgement. */
interface JudgedSockets {
  readonly connect: () => HostClient;
  /** Open connections that carry no request now. */
  readonly idle: Set<HostClient>;
  /** The judgement is over: no connection is kept for a later request. */
  retired: boolean;
}

interface HostClient extends Carrier {
  readonly client: Client;
}

interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

const closedFailure: WebhookFailure = { error: 'closed', detail: 'This server ended the attempt.' };
/** A timer that is later than this: the process stood still, so the answer may be there unread. */
const lateMs = 1_000;
const stalledFailure: WebhookFailure = { error: 'closed', detail: 'This server stood still meanwhile.' };

const post = async (state: ConnectionState, message: Message): Promise<WebhookOutcome> => {
  const startedMs = performance.now();
  const attempt: WebhookAttempt = { failure: null, stop: () => {} };
  const { pool } = state;
  const isLate = (): boolean => performance.now() - startedMs > pool.timeoutMs + lateMs;
  const end = (): void => endAttempt(attempt, isLate() ? stalledFailure : toTimeout(pool));
  const timer = setTimeout(end, pool.timeoutMs);
  state.attempts.add(attempt);
  try {
    const answer = await runAttempt(state, message, attempt);
    return { ...answer, milliseconds: Math.round(performance.now() - startedMs) };
  } finally {
    clearTimeout(timer);
    state.attempts.delete(attempt);
  }
};

const toTimeout = ({ timeoutMs }: SocketPool): WebhookFailure => ({
  error: 'timeout',
  detail: `There was no answer within ${timeoutMs} ms.`,
});

const runAttempt = async (state: ConnectionState, message: Message, attempt: WebhookAttempt) => {
  if (state.closed) return toUnanswered(closedFailure);
  const { pool, target: url } = state;
  if (typeof url === 'string') return toUnanswered({ error: 'address_refused', detail: `The URL ${url}.` });
  const host = pool.hosts.get(url.origin) ?? judge(pool, url);
  const judged = host.judged ?? (await awaitJudgement(host.judgement, attempt));
  if ('error' in judged) return toUnanswered(judged);
  const send = async (carrier: HostClient) => {
    if (attempt.failure !== null) return toUnanswered(attempt.failure);
    const sent = await sendRequest({ ...message, attempt, url, carrier });
    keep(pool, judged, carrier);
    return sent;
  };
  const first = await send(takeIdle(judged) ?? judged.connect());
  // The second attempt uses a new socket, which cannot be stale.
  return first === 'stale_socket' ? ((await send(judged.connect())) as WebhookAnswer) : first;
};

const takeIdle = ({ idle }: JudgedSockets): HostClient | undefined => {
  const [carrier] = idle;
  if (carrier !== undefined) idle.delete(carrier);
  return carrier;
};

/** Keeps an open connection for the next request, if the process may have as many. */
const keep = ({ kept, keptSocketsMax }: SocketPool, judged: JudgedSockets, carrier: HostClient): void => {
  const { client } = carrier;
  const isOpen = carrier.answers > 0 && !client.destroyed;
  if (!isOpen || judged.retired || (!kept.has(client) && kept.size >= keptSocketsMax)) {
    void client.destroy();
    return;
  }
  kept.add(client);
  judged.idle.add(carrier);
};

/** Resolves to the failure as soon as the attempt is ended. */
const awaitJudgement = async (
  judgement: Promise<JudgedSockets | WebhookFailure>,
  attempt: WebhookAttempt,
): Promise<JudgedSockets | WebhookFailure> => {
  const ended = new Promise<null>((resolve) => {
    attempt.stop = () => resolve(null);
  });
  const judged = await Promise.race([judgement, ended]);
  return attempt.failure ?? (judged as JudgedSockets | WebhookFailure);
};

const judge = (pool: SocketPool, url: URL): Host => {
  const { hosts, keepMs } = pool;
  const { origin } = url;
  const [oldest] = hosts.keys();
  if (oldest !== undefined && hosts.size >= hostsMax) retire(pool, oldest);
  // Without free file descriptors the library cannot be loaded, for example.
  const host: Host = { judgement: openSockets(pool, url).catch(classify), judged: null };
  hosts.set(origin, host);
  const end = (): void => {
    if (hosts.get(origin) === host) retire(pool, origin);
  };
  host.judgement.then((judged) => {
    // A failure holds for the requests that shared it.
    if ('error' in judged) {
      end();
      return;
    }
    host.judged = judged;
    setTimeout(end, keepMs).unref();
  });
  return host;
};

const openSockets = async (pool: SocketPool, url: URL): Promise<JudgedSockets | WebhookFailure> => {
  const { reach, resolve, ca } = pool;
  const vetted = await vetHost(url, reach, resolve);
  if (vetted.kind === 'refused') return { error: 'address_refused', detail: `The URL ${vetted.reason}.` };
  if (vetted.kind === 'unresolved') return { error: 'dns', detail: `The URL ${vetted.reason}.` };
  pool.secureContext ??= createSecureContext(ca === undefined ? {} : { ca });
  const { Client } = loadUndici();
  const connect = createConnector({
    resolve: async () => vetted.addresses,
    timeLimitMs: pool.timeoutMs,
    tls: { secureContext: pool.secureContext, checkServerIdentity: checkIdentity },
  });
  // An attempt has one time limit for all of it.
  const settings = { connect, headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: keepMsDefault };
  const idle = new Set<HostClient>();
  return { connect: () => createClient(new Client(url.origin, settings), pool, idle), idle, retired: false };
};

/** Creates a connection, which opens its socket for its first request and is dropped when that ends. */
const createClient = (client: Client, { kept }: SocketPool, idle: Set<HostClient>): HostClient => {
  const carrier: HostClient = { client, answers: 0 };
  client.on('disconnect', () => {
    carrier.answers = 0;
    kept.delete(client);
    idle.delete(carrier);
  });
  return carrier;
};

/** Node 22.23 takes an IPv6 address for a name, which is in no certificate. */
const checkIdentity: typeof checkServerIdentity = (host, certificate) =>
  isIPv6(host) && new X509Certificate(certificate.raw).checkIP(host) !== undefined
    ? undefined
    : checkServerIdentity(host, certificate);

const retire = ({ hosts }: SocketPool, origin: string): void => {
  const host = hosts.get(origin);
  hosts.delete(origin);
  host?.judgement.then((judged) => {
    if ('error' in judged) return;
    judged.retired = true;
    for (const { client } of judged.idle) void client.destroy();
  });
};

const close = (state: ConnectionState): void => {
  state.closed = true;
  for (const attempt of state.attempts) endAttempt(attempt, closedFailure);
};
