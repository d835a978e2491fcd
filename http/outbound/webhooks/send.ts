/**
 * Sends webhooks and push messages to addresses that clients choose.
 *
 * The addresses of a host are judged by guarded-address.ts. Sockets to exactly those are kept for at most
 * 30 seconds, for all connections to that host, because a handshake costs more than several requests; the
 * next request after that judges again. So no socket leads to an address that was not judged, whatever DNS
 * answers in between. No proxy is used. One time limit covers looking up, connecting, waiting and reading.
 * Never throws and keeps no schedule: every outcome is a value, and the caller decides what follows. Called
 * by the job that sends webhooks and by the handler of the test button.
 */
import { X509Certificate } from 'node:crypto';
import { type Agent, Agent as PlainAgent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { isIPv6 } from 'node:net';
import type { Duplex } from 'node:stream';
import { checkServerIdentity, createSecureContext, type SecureContext } from 'node:tls';
import {
  createPinnedLookup,
  createResolver,
  findAddressFault,
  type Reach,
  type ResolveHost,
  vetHost,
} from '../guarded-address.ts';
import {
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

export interface WebhookSender {
  /** Opens no socket yet. The caller closes the connection. */
  open(url: string): WebhookConnection;
  /** Closes all connections and sockets. */
  close(): void;
}

/** Idle sockets kept for one host: as many as one node has requests in flight, if all are to that host. */
const idleSocketsMax = 512;
/** Open sockets to all hosts above which none is kept, so that receivers cannot use up a process's files. */
const keptSocketsMaxDefault = 2_048;
/** Hosts with kept sockets; the oldest one beyond is closed when its requests are done. */
const hostsMax = 128;
const keepMsDefault = 30_000;
const resolveMsMax = 5_000;

export const createWebhookSender = (options: WebhookSenderOptions): WebhookSender => {
  const { addresses: reach, timeoutMs, keepMs = keepMsDefault, ca } = options;
  const resolveMs = Math.min(resolveMsMax, timeoutMs);
  const pool: SocketPool = {
    reach,
    keepMs,
    ca,
    secureContext: undefined,
    resolve: options.resolve ?? createResolver(reach, resolveMs),
    hosts: new Map(),
    keptSocketsMax: options.keptSocketsMax ?? keptSocketsMaxDefault,
    keptSockets: new Set(),
  };
  const states = new Set<ConnectionState>();
  return {
    open: (url) => {
      const fault = findAddressFault(url, reach, true);
      const target = fault === null ? new URL(url) : fault;
      const state: ConnectionState = { pool, timeoutMs, target, attempts: new Set(), closed: false };
      states.add(state);
      return {
        post: (headers, body) => post(state, { headers, body }),
        close: () => {
          states.delete(state);
          close(state);
        },
      };
    },
    close: () => {
      for (const state of states) close(state);
      states.clear();
      for (const origin of pool.hosts.keys()) retire(pool, origin);
    },
  };
};

interface ConnectionState {
  readonly pool: SocketPool;
  readonly timeoutMs: number;
  /** Where requests go, or why none may. */
  readonly target: URL | string;
  /** Requests in flight. */
  readonly attempts: Set<WebhookAttempt>;
  closed: boolean;
}

interface SocketPool {
  readonly reach: Reach;
  readonly keepMs: number;
  readonly ca: string | undefined;
  /** Made once, for the first https address: reading the authorities takes as long as a handshake. */
  secureContext: SecureContext | undefined;
  readonly resolve: ResolveHost;
  /** The judgements in force, or in progress, by origin, oldest first; all requests to a host share one. */
  readonly hosts: Map<string, Host>;
  readonly keptSocketsMax: number;
  /** Sockets that were kept after a request and are still open. */
  readonly keptSockets: Set<Duplex>;
}

/** Lets an agent keep no more sockets open than the pool may have, over all hosts. */
const boundAgent = ({ keptSockets, keptSocketsMax }: SocketPool, agent: Agent): Agent => {
  const keep = agent.keepSocketAlive.bind(agent);
  // Node closes the socket when this is false; its types call it a procedure.
  agent.keepSocketAlive = (socket: Duplex): boolean => {
    if (!keptSockets.has(socket)) {
      if (keptSockets.size >= keptSocketsMax) return false;
      keptSockets.add(socket);
      socket.once('close', () => keptSockets.delete(socket));
    }
    return keep(socket) as unknown as boolean;
  };
  return agent;
};

interface Host {
  readonly judgement: Promise<JudgedSockets | WebhookFailure>;
  /** `null` while the judgement is in progress. */
  judged: JudgedSockets | null;
}

/** Sockets to the addresses of one judgement. */
interface JudgedSockets {
  readonly agent: Agent;
  inFlight: number;
  /** No request begins any more, and the last one in flight closes the sockets. */
  retired: boolean;
}

interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

const closedFailure: WebhookFailure = { error: 'closed', detail: 'This server ended the attempt.' };

const post = async (state: ConnectionState, message: Message): Promise<WebhookOutcome> => {
  const startedMs = performance.now();
  const attempt: WebhookAttempt = { failure: null, stop: () => {} };
  const timer = setTimeout(() => endAttempt(attempt, toTimeout(state)), state.timeoutMs);
  state.attempts.add(attempt);
  try {
    const answer = await runAttempt(state, message, attempt);
    return { ...answer, milliseconds: Math.round(performance.now() - startedMs) };
  } finally {
    clearTimeout(timer);
    state.attempts.delete(attempt);
  }
};

const toTimeout = ({ timeoutMs }: ConnectionState): WebhookFailure => ({
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
  judged.inFlight += 1;
  try {
    const send = () =>
      attempt.failure === null
        ? sendRequest({ ...message, attempt, url, agent: judged.agent })
        : toUnanswered(attempt.failure);
    const first = await send();
    const last = first === 'stale_socket' ? await send() : first;
    return last === 'stale_socket' ? toUnanswered(staleFailure) : last;
  } finally {
    judged.inFlight -= 1;
    if (judged.retired && judged.inFlight === 0) judged.agent.destroy();
  }
};

const staleFailure: WebhookFailure = {
  error: 'connection',
  detail: 'The receiver ended two kept connections, one after the other.',
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
  const host: Host = { judgement: openSockets(pool, url), judged: null };
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
  const lookup = createPinnedLookup(vetted.addresses);
  const options = { keepAlive: true, maxFreeSockets: idleSocketsMax, lookup };
  if (url.protocol === 'http:')
    return { agent: boundAgent(pool, new PlainAgent(options)), inFlight: 0, retired: false };
  pool.secureContext ??= createSecureContext(ca === undefined ? {} : { ca });
  const { secureContext } = pool;
  const agent = new SecureAgent({ ...options, secureContext, checkServerIdentity: checkIdentity });
  return { agent: boundAgent(pool, agent), inFlight: 0, retired: false };
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
    if (judged.inFlight === 0) judged.agent.destroy();
  });
};

const close = (state: ConnectionState): void => {
  state.closed = true;
  for (const attempt of state.attempts) endAttempt(attempt, closedFailure);
};
