/**
 * Follows the vote logs of the targets whose clients want votes.
 *
 * A look reads the heads of several logs by one statement, one look after the other, so heads never go back
 * by accident: one that does belongs to a log that began again. A look begins when a flush of this node wrote
 * votes, while votes that other nodes flush are due, and every few seconds. New votes are read once for all
 * clients of a target; a client that is behind gets pages of its own, and clients at the same place share
 * them. When SQL is away, votes come late and totals go on.
 */
import type { Engine } from '../../engine/engine.ts';
import { createBatchLoader } from '../../engine/tools/batch-loader.ts';
import type { Catalogue } from '../../storage/catalogue/catalogue.ts';
import type { LogHead, LogRow } from '../../storage/catalogue/votes/vote-log.ts';
import { deliverRead, formatPosition, type VoteFrames } from './delivery.ts';
import { buildVoteFrame, type Frame } from './frames.ts';
import type { Slices } from './slices.ts';
import {
  type FeedState,
  type FeedSubscription,
  type FeedTarget,
  feedLimits,
  type VoteLogState,
} from './state.ts';

export interface VoteTailParts {
  readonly engine: Pick<Engine, 'flushEarly'>;
  readonly voteLog: Pick<Catalogue['voteLog'], 'heads' | 'each' | 'page'>;
  readonly slices: Slices;
  /** Other nodes may flush votes. */
  readonly shared: boolean;
}

interface TailState extends VoteTailParts {
  readonly feed: FeedState;
  /** By the incarnation of their listing. */
  readonly followed: Map<number, FeedTarget>;
  /** Until when the votes of other nodes are due, monotonic ms. */
  readonly expected: Map<FeedTarget, number>;
  readonly groups: Map<string, Group>;
  readonly look: (target: FeedTarget) => Promise<void>;
  reads: number;
  isPolling: boolean;
  isClosed: boolean;
}

/** Subscriptions that lack the same votes. */
interface Group {
  readonly hasVoter: boolean;
  readonly target: FeedTarget;
  readonly after: number;
  readonly subscriptions: FeedSubscription[];
}

/** Logs in one statement. */
const headsPerLook = 1_000;
const logsPerRead = 50;
/** Reads for clients that are behind at once. */
const readsMax = 2;
const pollMs = 250;
/** Longer than a flush interval and its round. */
const expectedMs = 3_000;
const retryMs = 1_000;

export const createVoteTail = (feed: FeedState, parts: VoteTailParts) => {
  const look = createBatchLoader<FeedTarget, void>({
    loadMany: async (targets) => {
      await readHeads(state, targets);
      return targets.map(() => undefined);
    },
    keysMax: headsPerLook,
    batchesMax: 1,
    schedule: (task) => feed.clock.endOfTick(task),
  });
  const state: TailState = {
    ...parts,
    feed,
    followed: new Map(),
    expected: new Map(),
    groups: new Map(),
    look,
    reads: 0,
    isPolling: false,
    isClosed: false,
  };
  return {
    /** Reads the head of the target's log. Rejects with a `StorageError`. */
    look,
    /** Call when a vote of the target was counted: its row comes soon. */
    expect: (target: FeedTarget) => expectVotes(state, target),
    /** Call when votes of these listings have reached SQL. */
    wake: (incarnations: ReadonlySet<number>) => {
      if (state.followed.size === 0) return;
      for (const incarnation of incarnations) startLook(state, state.followed.get(incarnation));
    },
    /** Looks at all logs that clients follow. */
    lookAtAll: () => {
      for (const [incarnation, target] of state.followed) {
        const isCurrent = target.ref?.incarnation === incarnation && target.subscriptions.length > 0;
        if (isCurrent) startLook(state, target);
        else state.followed.delete(incarnation);
      }
    },
    /** Reads votes that the subscription lacks, and sends them. */
    catchUp: (subscription: FeedSubscription) => catchUp(state, subscription),
    /** Call when the target is dropped. */
    forget: (target: FeedTarget) => {
      state.expected.delete(target);
      const incarnation = target.ref?.incarnation ?? 0;
      if (state.followed.get(incarnation) === target) state.followed.delete(incarnation);
    },
    count: () => ({ logs: state.followed.size, expected: state.expected.size, groups: state.groups.size }),
    close: () => {
      state.isClosed = true;
    },
  };
};
export type VoteTail = ReturnType<typeof createVoteTail>;

/** Begins a look. The next look at all logs makes up for one that fails. */
const startLook = (state: TailState, target: FeedTarget | undefined): void => {
  if (target === undefined || target.subscriptions.length === 0 || state.isClosed) return;
  state.look(target).catch(() => undefined);
};

const expectVotes = (state: TailState, target: FeedTarget): void => {
  state.engine.flushEarly(target.kind, target.id);
  if (!state.shared) return;
  state.expected.set(target, state.feed.clock.monotonicMs() + expectedMs);
  if (!state.isPolling) schedulePoll(state);
};

const schedulePoll = (state: TailState): void => {
  state.isPolling = true;
  state.feed.clock.after(pollMs, () => {
    state.isPolling = false;
    const nowMs = state.feed.clock.monotonicMs();
    for (const [target, untilMs] of state.expected) {
      if (untilMs < nowMs) state.expected.delete(target);
      startLook(state, target);
    }
    if (state.expected.size > 0 && !state.isClosed) schedulePoll(state);
  });
};

const readHeads = async (state: TailState, targets: readonly FeedTarget[]): Promise<void> => {
  const byIncarnation = new Map<number, FeedTarget>();
  for (const target of targets) if (target.ref !== null) byIncarnation.set(target.ref.incarnation, target);
  const heads = await state.voteLog.heads([...byIncarnation.keys()]);
  const moved: FeedTarget[] = [];
  for (const [incarnation, head] of heads) {
    const target = byIncarnation.get(incarnation) as FeedTarget;
    if (takeHead(state, target, head)) moved.push(target);
  }
  for (let from = 0; from < moved.length; from += logsPerRead) {
    await readNewVotes(state, moved.slice(from, from + logsPerRead), heads);
  }
};

/** Stores the head of a log. Returns whether the log has new votes, to be read once for all clients. */
const takeHead = (state: TailState, target: FeedTarget, { epoch, number }: LogHead): boolean => {
  const { votes } = target;
  state.followed.set(target.ref?.incarnation ?? 0, target);
  if (votes === null) {
    target.votes = { epoch, head: number, restarts: 0, recent: [], recentFrom: 1 };
    return false;
  }
  if (votes.epoch !== epoch || number < votes.head) {
    Object.assign(votes, { epoch, head: number, recent: [], restarts: votes.restarts + 1 });
    state.feed.announce(target);
    return false;
  }
  return number > votes.head;
};

/** Reads new votes once for all clients. Beyond `recentVotesMax`, clients read them by themselves. */
const readNewVotes = async (
  state: TailState,
  targets: readonly FeedTarget[],
  heads: ReadonlyMap<number, LogHead>,
): Promise<void> => {
  const positions = targets.map(({ ref, votes }) => ({
    incarnation: ref?.incarnation ?? 0,
    after: votes?.head ?? 0,
  }));
  const rows = await state.voteLog.each(positions, { limit: feedLimits.recentVotesMax, hasVoter: false });
  const byIncarnation = Map.groupBy(rows, ({ incarnation }) => incarnation);
  for (const target of targets) {
    const incarnation = target.ref?.incarnation ?? 0;
    const votes = target.votes as VoteLogState;
    const logged = byIncarnation.get(incarnation) ?? [];
    keepRecent(target, votes, logged);
    votes.head = Math.max(votes.head, heads.get(incarnation)?.number ?? 0, logged.at(-1)?.number ?? 0);
    state.feed.announce(target);
  }
};

const toVoteFrame = (target: FeedTarget, row: LogRow): Frame =>
  buildVoteFrame(target.key, formatPosition(target, row.number), row);

const keepRecent = (target: FeedTarget, votes: VoteLogState, rows: readonly LogRow[]): void => {
  const [first] = rows;
  if (first === undefined) return;
  const isNext = votes.recentFrom + votes.recent.length === first.number;
  const frames = rows.map((row) => toVoteFrame(target, row));
  const recent = isNext ? [...votes.recent, ...frames] : frames;
  const dropped = Math.max(0, recent.length - feedLimits.recentVotesMax);
  votes.recentFrom = (isNext ? votes.recentFrom : first.number) + dropped;
  votes.recent = recent.slice(dropped);
};

/* ------------------------------------------------------- clients that are behind */

const catchUp = (state: TailState, subscription: FeedSubscription): void => {
  const { target, number, wantsVoter: hasVoter } = subscription;
  subscription.isCatchingUp = true;
  const key = `${target.ref?.incarnation} ${target.votes?.restarts} ${number} ${hasVoter}`;
  const group = state.groups.get(key);
  if (group !== undefined) {
    group.subscriptions.push(subscription);
    return;
  }
  state.groups.set(key, { target, hasVoter, after: number, subscriptions: [subscription] });
  serveGroups(state);
};

const serveGroups = (state: TailState): void => {
  for (const [key, group] of state.groups) {
    if (state.reads >= readsMax) return;
    state.groups.delete(key);
    state.reads += 1;
    void serveGroup(state, group).finally(() => {
      state.reads -= 1;
      serveGroups(state);
    });
  }
};

const serveGroup = async (
  state: TailState,
  { target, hasVoter, after, subscriptions }: Group,
): Promise<void> => {
  const { ref, votes } = target;
  if (ref === null || votes === null) return;
  const { restarts } = votes;
  const page = { ref, after, limit: feedLimits.votesPerRead, hasVoter };
  const rows = await state.voteLog.page(page).catch(() => null);
  if (rows === null) {
    for (const subscription of subscriptions) subscription.isCatchingUp = false;
    announceLater(state, target);
    return;
  }
  const read: VoteFrames = {
    numbers: rows.map(({ number }) => number),
    frames: rows.map((row) => toVoteFrame(target, row)),
    restarts,
  };
  let next = 0;
  state.slices.add(() => {
    const subscription = subscriptions[next++];
    if (subscription !== undefined) deliverRead(state.feed, subscription, read);
    return next < subscriptions.length;
  });
};

/** SQL did not answer: after a pause the target's clients are served again. */
const announceLater = (state: TailState, target: FeedTarget): void => {
  if (target.isRetrying || state.isClosed) return;
  target.isRetrying = true;
  state.feed.clock.after(retryMs, () => {
    target.isRetrying = false;
    state.feed.announce(target);
  });
};
