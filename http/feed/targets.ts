/**
 * The targets of the feed: watched entities and their newest totals.
 *
 * A change only marks a target; a timer then reads its committed state and makes a message, at most one per
 * `frameMs`. So the cost depends on time, not on the number of changes. A state that is older than the one
 * shown is not used, unless its generation is newer.
 */
import type { Engine, WatchedView } from '../../engine/engine.ts';
import type { EntityKind } from '../../engine/ids.ts';
import { presenceFreshMs } from '../../engine/rules/presence.ts';
import { createNotFoundError, createUnavailableError, isNotFound } from '../response/errors.ts';
import { buildTotalsFrame, renderTotals } from './frames.ts';
import { type FeedState, type FeedTarget, feedLimits } from './state.ts';

export interface TargetsParts {
  readonly engine: Pick<Engine, 'watch'>;
  /** Least time between two totals messages of one target. */
  readonly frameMs: number;
  /** A vote was counted, or the id belongs to another listing. */
  readonly onVotes: (target: FeedTarget) => void;
  /** The entity is no longer listed. */
  readonly onGone: (target: FeedTarget) => void;
  readonly onDropped: (target: FeedTarget) => void;
}

interface TargetsState extends TargetsParts {
  readonly feed: FeedState;
  readonly targets: Map<string, FeedTarget>;
  readonly dirty: Set<FeedTarget>;
  readonly tickMs: number;
  isTicking: boolean;
  isClosed: boolean;
}

/** The longest time from a change to its first read. */
const tickMsMax = 25;
const retryMs = 1_000;

export const createTargets = (feed: FeedState, parts: TargetsParts) => {
  const state: TargetsState = {
    ...parts,
    feed,
    targets: new Map(),
    dirty: new Set(),
    tickMs: Math.min(tickMsMax, parts.frameMs),
    isTicking: false,
    isClosed: false,
  };
  return {
    /**
     * Finds or creates the target, with its newest state. Rejects with `not_found`, `feed_full` or the
     * stores' errors.
     */
    acquire: (kind: EntityKind, id: string) => acquire(state, kind, id),
    /** Whether it is still followed: false when the entity is gone. */
    isCurrent: (target: FeedTarget) => state.targets.get(target.key) === target,
    /** Call for each new subscription: reads what changed while the target had none. */
    follow: (target: FeedTarget) => {
      if (!target.isDirty) return;
      state.dirty.add(target);
      scheduleTick(state);
    },
    /** Drops targets without a subscription for a while, and reads those whose status has changed by age. */
    sweep: () => sweep(state),
    count: () => ({ targets: state.targets.size, dirty: state.dirty.size }),
    close: () => {
      state.isClosed = true;
      for (const target of state.targets.values()) target.watch.close();
    },
  };
};
export type Targets = ReturnType<typeof createTargets>;

const acquire = async (state: TargetsState, kind: EntityKind, id: string): Promise<FeedTarget> => {
  const key = `${kind}/${id}`;
  const target = state.targets.get(key) ?? create(state, { kind, id, key });
  // It must not be dropped before the caller subscribes.
  target.idleSinceMs = state.feed.clock.monotonicMs();
  if (target.isDirty || target.reading !== null) await readAgain(state, target);
  if (state.targets.get(key) !== target) throw createNotFoundError(kind);
  return target;
};

const create = (state: TargetsState, about: Pick<FeedTarget, 'kind' | 'id' | 'key'>): FeedTarget => {
  if (state.targets.size >= feedLimits.subscriptionsMax)
    throw createUnavailableError('feed_full', 'This node follows too many entities. Try again later.', 10);
  const target: FeedTarget = {
    ...about,
    watch: state.engine.watch(about.kind, about.id, () => touch(state, target)),
    subscriptions: [],
    ref: null,
    generation: 0,
    version: 0,
    totals: '',
    frame: null,
    restarts: 0,
    agesAtMs: Number.POSITIVE_INFINITY,
    votesCast: 0,
    votes: null,
    nextFrameMs: 0,
    isDirty: true,
    reading: null,
    sending: 'no',
    isRetrying: false,
    idleSinceMs: state.feed.clock.monotonicMs(),
  };
  state.targets.set(about.key, target);
  return target;
};

/** Runs for every change of a watched entity, before its request is answered. */
const touch = (state: TargetsState, target: FeedTarget): void => {
  if (target.isDirty) return;
  target.isDirty = true;
  // Without subscriptions it is read when the next client comes.
  if (target.subscriptions.length === 0) return;
  state.dirty.add(target);
  scheduleTick(state);
};

const scheduleTick = (state: TargetsState): void => {
  if (state.isTicking || state.isClosed) return;
  state.isTicking = true;
  state.feed.clock.after(state.tickMs, () => {
    state.isTicking = false;
    readDue(state);
    if (state.dirty.size > 0) scheduleTick(state);
  });
};

const readDue = (state: TargetsState): void => {
  const nowMs = state.feed.clock.monotonicMs();
  for (const target of state.dirty) {
    if (nowMs < target.nextFrameMs || target.reading !== null) continue;
    state.dirty.delete(target);
    readAgain(state, target)?.catch(() => {
      if (state.targets.get(target.key) !== target) return;
      // The store does not answer: clients keep the totals that they have.
      target.nextFrameMs = nowMs + retryMs;
      state.dirty.add(target);
      scheduleTick(state);
    });
  }
};

/**
 * Takes the newest state. Returns `null` if the node had it, which is the usual case and needs no promise;
 * otherwise callers at the same time share one read.
 */
const readAgain = (state: TargetsState, target: FeedTarget): Promise<void> | null => {
  if (target.reading !== null) return target.reading;
  target.isDirty = false;
  const view = target.watch.read();
  if (!(view instanceof Promise)) {
    take(state, target, view);
    return null;
  }
  target.reading = takeLater(state, target, view).finally(() => {
    target.reading = null;
  });
  return target.reading;
};

const takeLater = async (state: TargetsState, target: FeedTarget, view: Promise<WatchedView>) => {
  try {
    take(state, target, await view);
  } catch (error) {
    if (isNotFound(error)) drop(state, target);
    else {
      target.isDirty = true;
      if (target.frame === null) drop(state, target);
      throw error;
    }
  }
};

const take = (state: TargetsState, target: FeedTarget, view: WatchedView): void => {
  if (!view.state.facts.listed) {
    drop(state, target);
    return;
  }
  const { ref, generation } = view;
  const order = compare(target, view);
  if (order < 0) return;
  const isRestarted = order === restarted;
  const isRelisted = target.ref !== null && target.ref.incarnation !== ref.incarnation;
  const { version, upvotes, downvotes } = view.state;
  target.ref = ref;
  target.generation = generation;
  target.version = version;
  const votesCast = upvotes + downvotes;
  const hasVotes = votesCast !== target.votesCast || isRelisted;
  target.votesCast = votesCast;
  target.agesAtMs = computeAgingMs(view, state.feed.clock.nowMs());
  if (hasVotes && target.votes !== null) state.onVotes(target);
  show(state, target, { view, isRestarted });
};

/** Computes when the status changes by age: a bot that posts stats but no status is online for a while. */
const computeAgingMs = ({ ref, state }: WatchedView, nowMs: number): number => {
  const agesAtMs = state.lastStatsPostMs + presenceFreshMs;
  return ref.kind === 'bot' && state.status === '' && agesAtMs >= nowMs ? agesAtMs : Number.POSITIVE_INFINITY;
};

const restarted = 2;

/** Compares a view with what is shown: below 0 if it is older, `restarted` if versions are not comparable. */
const compare = ({ ref, generation, version }: FeedTarget, view: WatchedView): number => {
  if (ref === null) return 0;
  const byListing = view.ref.incarnation - ref.incarnation;
  const byGeneration = view.generation - generation;
  if (byListing !== 0) return byListing < 0 ? -1 : restarted;
  if (byGeneration !== 0) return byGeneration < 0 ? -1 : restarted;
  return view.state.version < version ? -1 : 0;
};

const show = (
  { feed, frameMs }: TargetsState,
  target: FeedTarget,
  { view, isRestarted }: { view: WatchedView; isRestarted: boolean },
): void => {
  const totals = renderTotals(view, feed.clock.nowMs());
  if (totals === target.totals && !isRestarted) return;
  if (isRestarted) target.restarts += 1;
  target.totals = totals;
  target.frame = buildTotalsFrame(target);
  target.nextFrameMs = feed.clock.monotonicMs() + frameMs;
  feed.announce(target);
};

const drop = (state: TargetsState, target: FeedTarget): void => {
  if (state.targets.get(target.key) !== target) return;
  state.targets.delete(target.key);
  state.dirty.delete(target);
  target.watch.close();
  state.onDropped(target);
  if (target.subscriptions.length > 0) state.onGone(target);
};

const sweep = (state: TargetsState): void => {
  const nowMs = state.feed.clock.nowMs();
  const idleBeforeMs = state.feed.clock.monotonicMs() - feedLimits.idleMsMax;
  for (const target of state.targets.values()) {
    if (target.subscriptions.length === 0 && target.idleSinceMs < idleBeforeMs && target.reading === null)
      drop(state, target);
    else if (nowMs > target.agesAtMs) touch(state, target);
  }
};
