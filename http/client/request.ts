/**
 * Sends requests to a directory: builds them, waits and repeats where that helps, and turns every failure
 * into one kind of error.
 *
 * Uses web standards only (`fetch`, `AbortSignal`), so it runs on Node 18, Deno, Bun and in browsers. The
 * server imports only types of webhooks from this folder, and it imports nothing: openapi/client-script.ts
 * joins its files to one.
 */
import type { ReplyOf } from './replies.ts';
import type { ApiResponse, ShardsBody, StatsBody, VoteStatus } from './types.ts';

export interface ClientOptions {
  /** Address of the directory. */
  readonly url: string;
  /** Needed by everything that acts for a bot or a user. */
  readonly token?: string;
  /** How often a request is sent at most; 5 if absent. */
  readonly attemptsMax?: number;
  /** Gets what an edit says of a listing that it saved as sent, as `long_cut`: see `X-Listing-Hints`. */
  readonly onHints?: (hints: readonly string[], path: string) => void;
  /** Instead of the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** How long one attempt may take up to the end of its reply, in milliseconds; 15,000 if absent. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** For the creation of a team, a session, a redeem or an application: sent again, it has one effect. */
  readonly idempotencyKey?: string;
  /** @internal The wait before another attempt does not keep the process alive. */
  readonly isBackground?: boolean;
}

/** Numbers as `postStats` of top.gg's SDK takes them. With `shardId`, those of this shard alone. */
export interface ServerCounts {
  readonly serverCount: number;
  readonly shardCount?: number | undefined;
  readonly shardId?: number | undefined;
}

export interface Client {
  /**
   * Sends a request and resolves to the JSON of the reply, `null` when it has none; of CSV, badges and guides
   * to their text, for which name a type of your own. Rejects with a `DirectoryError`. It waits and repeats
   * after 429 and 503, and after a lost connection when repeating does no harm. The reply has the type of the
   * operation that the method and the path name.
   */
  request<Method extends string, Path extends string>(
    method: Method,
    path: Path,
    options?: RequestOptions,
  ): Promise<ReplyOf<Method, Path>>;
  /** The same, with a type of your own. */
  request<Reply>(method: string, path: string, options?: RequestOptions): Promise<Reply>;
  /** Records numbers of the bot whose token this is; also in the words of top.gg's SDK. */
  postStats(stats: StatsBody | ServerCounts): Promise<ApiResponse>;
  /** Records numbers of some shards of the bot whose token this is. */
  postShards(shards: ShardsBody): Promise<ApiResponse>;
  /** Whether a user has voted for a bot within the wait, and how long the wait still is. Needs no token. */
  checkVote(userId: string, botId: string): Promise<VoteStatus>;
}

/** A request that failed: `status` is 0 when there was no reply. */
export class DirectoryError extends Error {
  readonly status: number;
  /** For programs: `vote_wait`, `token_invalid` …; `unreachable` when there was no reply. */
  readonly code: string;
  readonly context: Readonly<Record<string, string>>;
  /** Seconds to wait before the next attempt, 0 when the server named none. */
  readonly retryAfterSeconds: number;

  constructor(
    status: number,
    message: string,
    rest: { context: Record<string, string>; seconds: number; cause?: unknown },
  ) {
    super(message, { cause: rest.cause });
    this.name = 'DirectoryError';
    this.status = status;
    this.code = rest.context.code ?? `status_${status}`;
    this.context = rest.context;
    this.retryAfterSeconds = rest.seconds;
  }
}

const timeoutMsUsual = 15_000;
/** @internal The longest backoff; a longer `Retry-After` than this is left to the caller of `request`. */
export const waitSecondsMax = 60;

/** @internal */
export const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

/** Timers with a longer delay fire at once. */
const timerMsMax = 2 ** 31 - 1;

/** @internal Lets the process end before the timer; browsers need no such call. */
export const releaseTimer = (timer: unknown): void => (timer as { unref?: () => void }).unref?.();

/** Proxies send dates and odd numbers, too: those name no time. */
const parseRetryAfter = (text: string | null): number =>
  /^\d+(\.\d+)?$/.test(text ?? '') ? Number(text) : 0;

/** @internal The error that a reply states. */
export const toError = async (response: Response): Promise<DirectoryError> => {
  const text = await response.text();
  const seconds = parseRetryAfter(response.headers.get('retry-after'));
  try {
    const { message, context } = JSON.parse(text) as ApiResponse;
    if (typeof message !== 'string') throw new TypeError('no message');
    return new DirectoryError(response.status, message, { context: { ...context }, seconds });
  } catch {
    // A proxy answered: its text is not ours.
    return new DirectoryError(response.status, `status ${response.status}`, { context: {}, seconds });
  }
};

/** @internal The error of a request without a reply. `fetch` hides the reason in the cause. */
export const toUnreachable = (error: unknown): DirectoryError => {
  const { message = String(error), cause } = error as Error;
  const reason = cause as { message?: string; code?: string } | undefined;
  const reasons = [message, reason?.message || reason?.code].filter(Boolean);
  return new DirectoryError(0, reasons.join(': '), {
    context: { code: 'unreachable' },
    seconds: 0,
    cause: error,
  });
};

/** @internal Reads, posts of numbers and votes have the same effect when they are sent twice. */
export const isRepeatable = (method: string, path: string): boolean =>
  method === 'GET' || path.startsWith('/bots/stats') || (method === 'PUT' && path.endsWith('/votes'));

/** There was no reply, or a proxy said that it cannot reach the server; Cloudflare does so by 520 to 530. */
const isLost = (status: number): boolean =>
  status === 0 || (status >= 502 && status <= 504) || (status >= 520 && status <= 530);

/** @internal Whether sending it again can help: not in a wait between votes, which lasts for hours. */
export const isWorthRetrying = ({ status, code, context }: DirectoryError, repeatable: boolean): boolean => {
  if (status === 429) return code !== 'vote_wait' && code !== 'application_wait';
  if (code === 'redirected') return false;
  if (status === 503 && context.outcome === 'not_applied') return true;
  return repeatable && isLost(status);
};

/** @internal 1 s, 2 s, 4 s … with a little chance, so that many clients do not return at once. */
export const computeBackoffSeconds = (failures: number, secondsMax: number): number =>
  Math.min(secondsMax, 2 ** (failures - 1)) * (0.8 + 0.4 * Math.random());

/** The wait after an error: what the server named and up to a quarter more, else a backoff. */
const computePauseSeconds = (namedSeconds: number, failures: number): number =>
  namedSeconds > 0
    ? namedSeconds * (1 + 0.25 * Math.random())
    : computeBackoffSeconds(failures, waitSecondsMax);

/** @internal Waits after an error, at most until the signal aborts. */
export const awaitPause = (
  namedSeconds: number,
  failures: number,
  { signal, isBackground }: Pick<RequestOptions, 'signal' | 'isBackground'>,
): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(computePauseSeconds(namedSeconds, failures) * 1_000, timerMsMax));
    if (isBackground) releaseTimer(timer);
    if (isAborted(signal)) end();
    else signal?.addEventListener('abort', end);
  });

/** A boolean is no number: in a sum `true` would be 1. */
const refuseBooleans = (given: unknown): void =>
  void JSON.stringify(given, (name, value) => {
    if (typeof value === 'boolean') throw new TypeError(`${name} must be a number.`);
    return value;
  });

/** @internal Without a scheme every attempt would fail as if there were no network. Pages may name a path. */
export const checkUrl = (url: string): void => {
  if (/^(?!https?:\/\/)[^/]/i.test(url))
    throw new TypeError(`The url must begin with http:// or https://: ${url}`);
};

/** @internal */
export const toAddress = (url: string, path: string, query: RequestOptions['query'] = {}): string => {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  const text = given.toString();
  return `${url.replace(/\/$/, '')}${path}${text === '' ? '' : `?${text}`}`;
};

/**
 * @internal Aborts its controller after this time without `restart`, or with the caller's signal. `end`
 * removes timer and listener.
 */
export const createLimit = (milliseconds: number, fault: string, signal: AbortSignal | undefined) => {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  };
  const restart = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(new Error(fault)), milliseconds);
    releaseTimer(timer);
  };
  restart();
  signal?.addEventListener('abort', onAbort);
  if (isAborted(signal)) onAbort();
  return { controller, restart, end };
};

const toInit = (
  method: string,
  token: string | undefined,
  { body, idempotencyKey }: RequestOptions,
): RequestInit => {
  const headers = new Headers();
  if (token !== undefined) headers.set('authorization', token);
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (idempotencyKey !== undefined) {
    // A server may drop other characters at the ends: two keys would become one.
    if (!/^[!-~]([ -~]*[!-~])?$/.test(idempotencyKey))
      throw new TypeError('The idempotencyKey must be ASCII, without blanks at its ends.');
    headers.set('idempotency-key', idempotencyKey);
  }
  return {
    method,
    headers,
    // `fetch` would follow with a GET, whose reply says nothing about a post.
    redirect: method === 'GET' ? 'follow' : 'manual',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
};

/** The error of a redirect that was not followed; browsers hide its status. */
const toRedirected = ({ status, headers }: Response): DirectoryError =>
  new DirectoryError(
    status,
    `the directory redirects to ${headers.get('location') ?? 'another address'}: name that one as \`url\``,
    { context: { code: 'redirected' }, seconds: 0 },
  );

const readReply = async (response: Response): Promise<unknown> => {
  const isRedirect = response.type === 'opaqueredirect' || Math.floor(response.status / 100) === 3;
  if (isRedirect) throw toRedirected(response);
  if (!response.ok) throw await toError(response);
  const text = await response.text();
  // What the directory sends besides JSON; a page is the answer of something in between.
  if (/csv|svg|markdown/.test(response.headers.get('content-type') ?? '')) return text;
  return text === '' ? null : JSON.parse(text);
};

/** Numbers of one shard are added to those of the others. */
const sendCounts = (
  send: Pick<Client, 'request'>,
  { serverCount: servers, shardCount: shards, shardId: id }: ServerCounts,
): Promise<ApiResponse> =>
  id === undefined
    ? send.request('POST', '/bots/stats', { body: { servers, shards } })
    : send.request('POST', '/bots/stats/shards', {
        body: { shard_count: shards ?? id + 1, shards: [{ id, servers }] },
      });

/**
 * Creates a client of one directory, for one token.
 *
 * @example
 * const client = createClient({ url, token });
 * await client.postStats({ servers: 1234, status: 'online' });
 */
export const createClient = (options: ClientOptions): Client => {
  const { url, token, attemptsMax = 5 } = options;
  checkUrl(url);
  // `fetch` would refuse some of it, too, with a message that shows it.
  if (token !== undefined && (/[^\t\n\r -~]/.test(token) || !/^[!-~]*$/.test(token.trim())))
    throw new TypeError('The token has a blank, a line break or another character that no token has.');
  const send = options.fetch ?? ((address: string, init: RequestInit) => fetch(address, init));

  const request = (async (method: string, path: string, given: RequestOptions = {}): Promise<unknown> => {
    const { signal, timeoutMs = timeoutMsUsual } = given;
    if (path.startsWith('/bots/stats')) refuseBooleans(given.body);
    const address = toAddress(url, path, given.query);
    // A body that cannot be written as JSON, or a key with other characters, is no failure of the network.
    const init = toInit(method, token, given);
    const repeatable = isRepeatable(method, path) || given.idempotencyKey !== undefined;
    let hints = '';
    const sendOnce = async (): Promise<unknown> => {
      const limit = createLimit(timeoutMs, `no reply within ${timeoutMs} ms`, signal);
      try {
        const response = await send(address, { ...init, signal: limit.controller.signal });
        hints = response.headers.get('x-listing-hints') ?? '';
        return await readReply(response);
      } finally {
        limit.end();
      }
    };
    for (let attempt = 1; ; attempt++) {
      let reply: unknown;
      try {
        signal?.throwIfAborted();
        reply = await sendOnce();
      } catch (failure) {
        if (isAborted(signal)) throw signal?.reason;
        const error = failure instanceof DirectoryError ? failure : toUnreachable(failure);
        const { retryAfterSeconds } = error;
        const isLast = attempt >= attemptsMax || retryAfterSeconds > waitSecondsMax;
        if (isLast || !isWorthRetrying(error, repeatable)) throw error;
        await awaitPause(retryAfterSeconds, attempt, given);
        continue;
      }
      if (hints !== '') options.onHints?.(hints.split(/, */), path);
      return reply;
    }
  }) as Client['request'];

  return {
    request,
    postStats: (stats) =>
      'serverCount' in stats
        ? sendCounts({ request }, stats)
        : request('POST', '/bots/stats', { body: stats }),
    postShards: (shards) => request('POST', '/bots/stats/shards', { body: shards }),
    checkVote: (userId, botId) =>
      request('GET', `/users/${encodeURIComponent(userId)}/bots/${encodeURIComponent(botId)}/votes`),
  };
};
