/**
 * Who follows what: adds and ends subscriptions, and sends a target's news to all its clients in slices.
 */
import { DomainError } from '../../engine/errors.ts';
import type { Target } from '../../engine/ids.ts';
import {
  createLimitError,
  createNotFoundError,
  createUnavailableError,
  isNotFound,
  toDomainError,
} from '../response/errors.ts';
import { parseLogCursor } from './cursor.ts';
import { deliver, formatPosition, sendFrame } from './delivery.ts';
import { buildFrame } from './frames.ts';
import type { FeedRequest } from './interface.ts';
import { formatTarget, noCursor } from './requests.ts';
import type { Slices } from './slices.ts';
import { type Client, type FeedState, type FeedSubscription, type FeedTarget, feedLimits } from './state.ts';
import type { Targets } from './targets.ts';
import type { VoteTail } from './votes.ts';

/** A request with its targets; `null` for those that are gone, which only a resumed request may name. */
export interface ResolvedRequest extends FeedRequest {
  readonly found: readonly (FeedTarget | null)[];
}

export interface SubscriptionsParts {
  readonly slices: Slices;
  readonly targets: Pick<Targets, 'acquire' | 'follow' | 'isCurrent'>;
  readonly votes: Pick<VoteTail, 'look'>;
  readonly votesArePublic: boolean;
  readonly sayBye: (client: Client, reason: 'gone') => void;
}

interface State extends SubscriptionsParts {
  readonly feed: FeedState;
  /** Subscriptions of the node. */
  count: number;
}

export const createSubscriptions = (feed: FeedState, parts: SubscriptionsParts) => {
  const state: State = { ...parts, feed, count: 0 };
  return {
    /** Finds the targets of a request. Rejects with `not_found`, `feed_full` or `forbidden`. */
    resolve: (request: FeedRequest) => resolve(state, request),
    /**
     * Adds subscriptions; nothing is sent yet. Returns the targets that are gone: of a resumed stream, or
     * since the request was resolved.
     */
    add: (client: Client, request: ResolvedRequest) => add(state, client, request),
    sendGone: (client: Client, keys: readonly string[]) => sendGone(state, client, keys),
    /** Resolves, adds, confirms and delivers, for a WebSocket. */
    subscribe: (client: Client, request: FeedRequest) => subscribe(state, client, request),
    /** Sends the client all that it lacks, until its socket is full. */
    deliverTo: (client: Client) => deliverTo(state, client),
    sendError: (client: Client, error: unknown) => sendError(state, client, error),
    /** Ends the client's subscriptions of these targets. */
    remove: (client: Client, keys: readonly string[]) => {
      for (const subscription of client.subscriptions)
        if (keys.includes(subscription.target.key)) end(state, subscription);
      forgetEnded(client);
    },
    removeAll: (client: Client) => {
      for (const subscription of client.subscriptions) end(state, subscription);
    },
    /** The target is no longer listed: sends its clients `gone` and ends their subscriptions. */
    endAll: (target: FeedTarget) => endAll(state, target),
    /** Sends the target's news to its clients. */
    announce: (target: FeedTarget) => announce(state, target),
    count: () => state.count,
  };
};
export type Subscriptions = ReturnType<typeof createSubscriptions>;

const buildGone = (key: string) => buildFrame('gone', { target: key });

const resolve = async (state: State, request: FeedRequest): Promise<ResolvedRequest> => {
  const wantsVotes = request.channels.has('votes') || request.channels.has('voter');
  if (wantsVotes && !state.votesArePublic)
    throw new DomainError('forbidden', 'The votes of this directory are not public: use "totals" alone.');
  if (state.count + request.targets.length > feedLimits.subscriptionsMax) {
    state.feed.counts.refused.subscriptions += 1;
    throw createUnavailableError('feed_full', 'This node follows too many entities. Try again later.', 10);
  }
  let found: (FeedTarget | null)[] = [];
  for (let from = 0; from < request.targets.length; from += feedLimits.targetsAtOnce) {
    const group = request.targets.slice(from, from + feedLimits.targetsAtOnce);
    found.push(...(await Promise.all(group.map((target) => findTarget(state, target, request.isResumed)))));
  }
  if (wantsVotes) found = await lookAtVotes(state, found, request.isResumed);
  const [first] = request.targets;
  if (first !== undefined && found.every((target) => target === null)) throw createNotFoundError(first.kind);
  return { ...request, found };
};

const findTarget = async ({ targets }: State, { kind, id }: Target, isResumed: boolean) => {
  try {
    return await targets.acquire(kind, id);
  } catch (error) {
    if (isResumed && isNotFound(error)) return null;
    throw error;
  }
};

/** Reads the logs of all targets together. A target without a log was deleted meanwhile. */
const lookAtVotes = async ({ votes }: State, found: readonly (FeedTarget | null)[], isResumed: boolean) => {
  await Promise.all(found.map((target) => target && votes.look(target)));
  return found.map((target) => {
    if (target?.votes !== null) return target;
    if (isResumed) return null;
    throw createNotFoundError(target.kind);
  });
};

const add = (state: State, client: Client, { targets, found, channels, after }: ResolvedRequest) => {
  const gone: string[] = [];
  const isStream = client.connection.kind === 'sse';
  for (const [index, target] of found.entries()) {
    // The entity may have gone while other targets were read, or while the socket was not ready.
    if (target === null || !state.targets.isCurrent(target)) {
      const last = target === null ? noCursor : formatPosition(target, target.votes?.head ?? 0);
      if (isStream) client.positions.push(after[index] ?? last);
      gone.push(formatTarget(targets[index] as Target));
      continue;
    }
    const start = findStart(target, after[index] ?? null);
    const subscription: FeedSubscription = {
      client,
      target,
      wantsTotals: channels.has('totals'),
      wantsVotes: channels.has('votes') || channels.has('voter'),
      wantsVoter: channels.has('voter'),
      frame: null,
      restarts: target.restarts,
      voteRestarts: start.restarts,
      number: start.number,
      isCatchingUp: false,
      index: target.subscriptions.length,
    };
    target.subscriptions.push(subscription);
    client.subscriptions.push(subscription);
    if (isStream) client.positions.push(subscription);
    state.count += 1;
    state.targets.follow(target);
  }
  return gone;
};

/** Sends `gone`. An event stream without any target then ends, once its connection has its owner. */
const sendGone = (state: State, client: Client, keys: readonly string[]): void => {
  for (const key of keys) sendFrame(state.feed, client, buildGone(key));
  const isDone = client.subscriptions.length === 0 && keys.length > 0;
  if (client.connection.kind === 'websocket' || !isDone) return;
  state.slices.add(() => {
    if (!client.isClosed) state.sayBye(client, 'gone');
    return false;
  });
};

/**
 * Finds where votes begin. `restarts` is -1 if the log of the cursor no longer exists: the client gets a
 * `reset`.
 */
const findStart = ({ votes }: FeedTarget, cursor: string | null) => {
  if (votes === null) return { number: 0, restarts: 0 };
  const { head, epoch, restarts } = votes;
  if (cursor === null) return { number: head, restarts };
  const at = parseLogCursor(cursor);
  const isOfThisLog = at !== null && at.epoch === epoch && at.number <= head;
  return isOfThisLog ? { number: at.number, restarts } : { number: head, restarts: -1 };
};

const subscribe = async (state: State, client: Client, request: FeedRequest): Promise<void> => {
  const resolved = await resolve(state, request);
  if (client.isClosed) return;
  const keys = request.targets.map(formatTarget);
  const others = client.subscriptions.filter(({ target }) => !keys.includes(target.key));
  if (others.length + keys.length > feedLimits.targetsPerConnection) {
    const message = `A connection follows at most ${feedLimits.targetsPerConnection} entities.`;
    throw createLimitError(message, feedLimits.targetsPerConnection);
  }
  for (const subscription of client.subscriptions)
    if (!others.includes(subscription)) end(state, subscription);
  forgetEnded(client);
  client.connection.cork(() => {
    const gone = add(state, client, resolved);
    sendFrame(state.feed, client, buildFrame('subscribed', { targets: keys, after: listCursors(client) }));
    sendGone(state, client, gone);
    deliverTo(state, client);
  });
};

const listCursors = ({ subscriptions }: Client): Record<string, string> =>
  Object.fromEntries(
    subscriptions
      .filter(({ wantsVotes }) => wantsVotes)
      .map(({ target, number }) => [target.key, formatPosition(target, number)]),
  );

const deliverTo = ({ feed }: State, client: Client): void => {
  for (const subscription of client.subscriptions) {
    if (client.isFull) return;
    deliver(feed, subscription);
  }
};

const sendError = ({ feed }: State, client: Client, error: unknown): void => {
  const { code, message, context } = toDomainError(error);
  sendFrame(feed, client, buildFrame('error', { code, message, context }));
};

/* ---------------------------------------------------------------------- ends */

const end = (state: State, subscription: FeedSubscription): void => {
  const { target, index } = subscription;
  if (index === -1) return;
  const last = target.subscriptions.pop() as FeedSubscription;
  if (last !== subscription) {
    target.subscriptions[index] = last;
    last.index = index;
  }
  subscription.index = -1;
  state.count -= 1;
  if (target.subscriptions.length === 0) target.idleSinceMs = state.feed.clock.monotonicMs();
};

const forgetEnded = ({ subscriptions }: Client): void => {
  const live = subscriptions.filter(({ index }) => index !== -1);
  subscriptions.splice(0, subscriptions.length, ...live);
};

const endAll = (state: State, target: FeedTarget): void => {
  const frame = buildGone(target.key);
  state.slices.add(() => {
    const subscription = target.subscriptions.at(-1);
    if (subscription === undefined) return false;
    const { client } = subscription;
    end(state, subscription);
    // A client whose socket is full cannot be sent `gone`: it has to connect again.
    if (client.isFull) client.connection.destroy();
    else {
      sendFrame(state.feed, client, frame);
      const isDone = client.subscriptions.every(({ index }) => index === -1);
      if (client.connection.kind === 'sse' && isDone) state.sayBye(client, 'gone');
      else if (client.connection.kind === 'websocket') forgetEnded(client);
    }
    return true;
  });
};

/* --------------------------------------------------------------------- news */

/**
 * Visits the subscriptions from the last to the first: one that ends meanwhile is replaced by one that was
 * visited, and a new one has the news already.
 */
const announce = (state: State, target: FeedTarget): void => {
  if (target.sending !== 'no') {
    target.sending = 'again';
    return;
  }
  target.sending = 'yes';
  let next = target.subscriptions.length;
  state.slices.add(() => {
    next = Math.min(next, target.subscriptions.length) - 1;
    const subscription = target.subscriptions[next];
    if (subscription !== undefined) {
      deliver(state.feed, subscription);
      return true;
    }
    const isAgain = target.sending === 'again';
    target.sending = 'no';
    if (isAgain) announce(state, target);
    else if (target.votes !== null) target.votes.recent = [];
    return false;
  });
};
