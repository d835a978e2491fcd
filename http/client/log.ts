/**
 * Reads the vote log of a listing: every vote once, in order, as it comes, without a public address.
 */
import { awaitPause, type Client, DirectoryError, isAborted, isWorthRetrying } from './request.ts';
import type { VoteLog, VoteLogResult } from './types.ts';

export interface LogTarget {
  readonly type: 'bot' | 'server' | 'team' | 'pack';
  readonly id: string;
}
export interface LogOptions {
  /** Where to begin: a cursor that you kept, `oldest`, or `head` (only new votes); `head` if absent. */
  readonly after?: string;
  /** Whether each vote comes with what its author had done by then. */
  readonly voter?: boolean;
  readonly signal?: AbortSignal;
}
export interface LogPage {
  readonly votes: readonly VoteLogResult[];
  /** Keep it when you have handled these votes, and begin with it after a restart. */
  readonly cursor: string;
  /** The log began again, with its oldest vote: recognise votes that you know by their `itag`. */
  readonly restarted: boolean;
}

/** The votes of each request to vote, one or several: those of one user at one time. */
export const groupByRequest = (votes: readonly VoteLogResult[]): readonly VoteLogResult[][] => {
  const groups = new Map<string, VoteLogResult[]>();
  for (const vote of votes) {
    const request = `${vote.created_at} ${vote.author}`;
    const group = groups.get(request) ?? [];
    group.push(vote);
    groups.set(request, group);
  }
  return [...groups.values()];
};

const waitSeconds = 25;
const pageMax = 100;
/** A reply without votes that comes sooner did not wait. */
const emptyReplyMsMin = 1_000;

const findStart = async (client: Client, path: string, options: LogOptions): Promise<string> => {
  const { after = 'head', signal } = options;
  if (after !== 'head' && after !== 'oldest') return after;
  const reply = await client.request<VoteLog>('GET', path, { ...(signal && { signal }) });
  return reply[after];
};

interface ReadFrom {
  readonly cursor: string;
  readonly signal: AbortSignal | undefined;
  readonly voter: boolean | undefined;
}

/** Reads a page, and what the next one has of its last request. */
const readPage = async (
  client: Client,
  path: string,
  { cursor, signal, voter }: ReadFrom,
): Promise<Pick<VoteLog, 'results' | 'next'>> => {
  const timeoutMs = (waitSeconds + 15) * 1_000;
  const read = (query: Readonly<Record<string, string | number>>) =>
    client.request<VoteLog>('GET', path, {
      query: { ...query, ...(voter && { voter: 1 }) },
      timeoutMs,
      ...(signal && { signal }),
    });
  let { results, next } = await read({ after: cursor, wait: waitSeconds, limit: pageMax });
  while (results.length >= pageMax) {
    const more = await read({ after: next, limit: 1 });
    const last = [...results.slice(-1), ...more.results];
    if (last.length < 2 || groupByRequest(last).length > 1) break;
    results = [...results, ...more.results];
    next = more.next;
  }
  return { results, next };
};

/**
 * Yields votes as they come, until the signal aborts; those of one request are in one page. It waits out
 * failures of the network and the server; it throws a `DirectoryError` for what waiting does not change.
 *
 * @example
 * for await (const { votes, cursor } of log(client, { type: 'bot', id })) {
 *   for (const vote of votes) await reward(vote.author);
 *   await keep(cursor);
 * }
 */
export async function* log(
  client: Client,
  target: LogTarget,
  options: LogOptions = {},
): AsyncGenerator<LogPage, void, undefined> {
  const { signal } = options;
  const path = `/${target.type}/${encodeURIComponent(target.id)}/votes/log`;
  let cursor = '';
  let failures = 0;
  let restarted = false;
  while (!isAborted(signal)) {
    try {
      if (cursor === '') cursor = await findStart(client, path, options);
      const startedMs = performance.now();
      const reply = await readPage(client, path, { cursor, signal, voter: options.voter });
      cursor = reply.next;
      if (reply.results.length === 0) {
        // A node that stops answers at once: all its clients would come back at once.
        failures = performance.now() - startedMs < emptyReplyMsMin ? failures + 1 : 0;
        if (failures > 0) await awaitPause(0, failures, options);
        continue;
      }
      failures = 0;
      yield { votes: reply.results, cursor, restarted };
      restarted = false;
    } catch (error) {
      if (isAborted(signal)) return;
      if (!(error instanceof DirectoryError)) throw error;
      if (error.code === 'log_restarted') {
        cursor = error.context.oldest ?? '';
        restarted = true;
        continue;
      }
      if (!isWorthRetrying(error, true)) throw error;
      failures++;
      await awaitPause(error.retryAfterSeconds, failures, options);
    }
  }
}
