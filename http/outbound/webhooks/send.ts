/**
 * Sends webhook requests to addresses that clients choose.
 *
 * A connection judges the addresses of its host with guarded-address.ts, then keeps up to eight TLS sockets
 * to exactly those for at most 30 seconds; the next request after that judges again. So no socket leads to an
 * address that was not judged, whatever DNS answers in between. No proxy is used. One time limit covers
 * looking up, connecting, waiting and reading. Never throws and keeps no schedule: every outcome is a value,
 * and the caller decides what follows. Called by the job that sends webhooks and by the handler of the test
 * button.
 */
import { Agent } from 'node:https';
import {
  createPinnedLookup,
  createServerResolver,
  findAddressFault,
  type Reach,
  type ResolveHost,
  resolveBySystem,
  vetHost,
} from '../guarded-address.ts';
import { sendRequest, toUnanswered, type WebhookAnswer, type WebhookFailure } from './request.ts';

export interface WebhookSenderOptions {
  readonly addresses: Reach;
  /** For one request as a whole. */
  readonly timeoutMs: number;
  /** How long judged addresses may be used; 30 s by default. */
  readonly keepMs?: number;
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
   * Sends one request and resolves within the time limit. More than eight at a time wait for a socket, within
   * their time limits. A request that meets the end of a kept socket is sent once more, on another one.
   */
  post(headers: Readonly<Record<string, string>>, body: string): Promise<WebhookOutcome>;
  /** Closes the sockets. Requests in flight resolve as `closed`, and so does every later one. */
  close(): void;
}

export interface WebhookSender {
  /** Opens no socket yet. The caller closes the connection. */
  open(url: string): WebhookConnection;
  /** Closes all connections. */
  close(): void;
}

/** How many requests of one connection are in flight at a time. */
export const socketsPerConnectionMax = 8;
const keepMsDefault = 30_000;
const resolveMsMax = 5_000;

export const createWebhookSender = (options: WebhookSenderOptions): WebhookSender => {
  const { addresses: reach, timeoutMs, keepMs = keepMsDefault, ca } = options;
  const resolveMs = Math.min(resolveMsMax, timeoutMs);
  const defaultResolve = reach === 'any' ? resolveBySystem : createServerResolver(resolveMs);
  const settings = { reach, timeoutMs, keepMs, ca, resolve: options.resolve ?? defaultResolve };
  const states = new Set<ConnectionState>();
  return {
    open: (url) => {
      const attempts = new Set<AbortController>();
      const state: ConnectionState = { ...settings, url, attempts, judged: null, closed: false };
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
    },
  };
};

interface ConnectionState {
  readonly reach: Reach;
  readonly timeoutMs: number;
  readonly keepMs: number;
  readonly ca: string | undefined;
  readonly resolve: ResolveHost;
  readonly url: string;
  /** Requests in flight. */
  readonly attempts: Set<AbortController>;
  /** The judgement in force, or in progress, which all requests share; `null` when the next must judge. */
  judged: Promise<JudgedSockets | WebhookFailure> | null;
  closed: boolean;
}

/** Sockets to the addresses of one judgement. */
interface JudgedSockets {
  readonly url: URL;
  readonly agent: Agent;
  inFlight: number;
  /** No request begins any more, and the last one in flight closes the sockets. */
  retired: boolean;
}

interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const closedFailure: WebhookFailure = { error: 'closed', detail: 'This server ended the attempt.' };

const post = async (state: ConnectionState, message: Message): Promise<WebhookOutcome> => {
  const startedMs = performance.now();
  const { answer, release } = startAttempt(state, message);
  try {
    return { ...(await answer), milliseconds: Math.round(performance.now() - startedMs) };
  } finally {
    release();
  }
};

const startAttempt = (state: ConnectionState, message: Message) => {
  const attempt = new AbortController();
  const timeout = { error: 'timeout', detail: `There was no answer within ${state.timeoutMs} ms.` };
  const timer = setTimeout(() => attempt.abort(timeout), state.timeoutMs);
  state.attempts.add(attempt);
  return {
    answer: runAttempt(state, message, attempt.signal),
    release: () => {
      clearTimeout(timer);
      state.attempts.delete(attempt);
    },
  };
};

const runAttempt = async (
  state: ConnectionState,
  message: Message,
  signal: AbortSignal,
): Promise<WebhookAnswer> => {
  if (state.closed) return toUnanswered(closedFailure);
  const judged = await Promise.race([judge(state), awaitAbort(signal)]);
  if ('error' in judged) return toUnanswered(judged);
  judged.inFlight += 1;
  try {
    const send = () => sendRequest({ ...message, signal, url: judged.url, agent: judged.agent });
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

const awaitAbort = (signal: AbortSignal): Promise<WebhookFailure> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason as WebhookFailure));
  });

const judge = (state: ConnectionState): Promise<JudgedSockets | WebhookFailure> => {
  state.judged ??= openSockets(state).then((judged) => {
    // A failure holds for the requests that shared it.
    if ('error' in judged) state.judged = null;
    else setTimeout(() => retire(state, judged), state.keepMs).unref();
    return judged;
  });
  return state.judged;
};

const openSockets = async (state: ConnectionState): Promise<JudgedSockets | WebhookFailure> => {
  const fault = findAddressFault(state.url, state.reach);
  if (fault !== null) return { error: 'address_refused', detail: `The URL ${fault}.` };
  const url = new URL(state.url);
  const vetted = await vetHost(url, state.reach, state.resolve);
  if (vetted.kind === 'refused') return { error: 'address_refused', detail: `The URL ${vetted.reason}.` };
  if (vetted.kind === 'unresolved') return { error: 'dns', detail: `The URL ${vetted.reason}.` };
  const agent = new Agent({
    keepAlive: true,
    maxSockets: socketsPerConnectionMax,
    lookup: createPinnedLookup(vetted.addresses),
    ...(state.ca === undefined ? {} : { ca: state.ca }),
  });
  return { url, agent, inFlight: 0, retired: false };
};

const retire = (state: ConnectionState, judged: JudgedSockets): void => {
  state.judged = null;
  judged.retired = true;
  if (judged.inFlight === 0) judged.agent.destroy();
};

const close = (state: ConnectionState): void => {
  state.closed = true;
  for (const attempt of state.attempts) attempt.abort(closedFailure);
  state.judged?.then((judged) => 'agent' in judged && judged.agent.destroy());
};
