/**
 * Follows entities live: their totals as they change and their votes as they come, over one connection that
 * is opened again whenever it breaks.
 */
import {
  awaitPause,
  type ClientOptions,
  checkUrl,
  createLimit,
  DirectoryError,
  isAborted,
  isWorthRetrying,
  toAddress,
  toError,
  toUnreachable,
} from './request.ts';

export interface FollowOptions extends Pick<ClientOptions, 'url' | 'fetch'> {
  /** Up to 100, as `bot/815553000470478850`. */
  readonly targets: readonly string[];
  /** `totals` if absent. */
  readonly channels?: readonly ('totals' | 'votes')[];
  /** The `id` of the last message of an earlier time, to miss no vote since. */
  readonly lastEventId?: string;
  readonly signal?: AbortSignal;
}
export interface FollowMessage {
  /** `totals`, `vote`, `gap`, `reset` or `gone`; others may come later: ignore those that you do not know. */
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>> & { readonly target?: string };
  /** Keep it, and send it as `lastEventId` after a restart. */
  readonly id: string;
}

/** The server sends something at least this often, else the connection is dead. */
const silenceMsMax = 60_000;

/** Parses one event of a stream, `null` for a comment. */
const parseMessage = (block: string): FollowMessage | null => {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const at = line.indexOf(': ');
    if (at > 0) fields.set(line.slice(0, at), line.slice(at + 2));
  }
  const data = fields.get('data');
  if (data === undefined) return null;
  return { event: fields.get('event') ?? 'message', data: JSON.parse(data), id: fields.get('id') ?? '' };
};

async function* readMessages(
  options: FollowOptions,
  lastEventId: string,
): AsyncGenerator<FollowMessage, void, undefined> {
  const { url, targets, channels = ['totals'], fetch: send = fetch } = options;
  const query = {
    targets: targets.join(','),
    channels: channels.join(','),
    last_event_id: lastEventId || undefined,
  };
  const { controller, restart, end } = createLimit(silenceMsMax, 'the feed is silent', options.signal);
  try {
    const response = await send(toAddress(url, '/feed', query), { signal: controller.signal });
    if (!response.ok || response.body === null) throw await toError(response);
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      restart();
      const blocks = (text + decoder.decode(value, { stream: true })).split('\n\n');
      text = blocks.pop() ?? '';
      for (const message of blocks.map(parseMessage)) if (message !== null) yield message;
    }
  } finally {
    end();
    controller.abort();
  }
}

/**
 * Yields what happens to entities until the signal aborts. It connects again after every break, and then
 * misses no vote; it throws a `DirectoryError` for what waiting does not change.
 *
 * @example
 * for await (const { event, data } of follow({ url, targets: [`bot/${id}`] })) {
 *   if (event === 'totals') show(data.totals);
 * }
 */
export async function* follow(options: FollowOptions): AsyncGenerator<FollowMessage, void, undefined> {
  const { signal } = options;
  checkUrl(options.url);
  let { lastEventId = '' } = options;
  let failures = 0;
  while (!isAborted(signal)) {
    let seconds = 0;
    try {
      for await (const message of readMessages(options, lastEventId)) {
        failures = 0;
        if (message.id !== '') lastEventId = message.id;
        if (message.event === 'bye') seconds = Number(message.data.reconnect_after_ms) / 1_000;
        else if (message.event !== 'hello') yield { ...message, id: lastEventId };
      }
    } catch (failure) {
      if (isAborted(signal)) return;
      const error = failure instanceof DirectoryError ? failure : toUnreachable(failure);
      if (!isWorthRetrying(error, true)) throw error;
      seconds = error.retryAfterSeconds;
    }
    failures++;
    await awaitPause(seconds, failures, options);
  }
}
