/**
 * Implements the calls of the engine's interface: `createCommands` has one entry per call, in the order of
 * `engine.ts`.
 *
 * A read answers from an actor's committed state. A write is a command that `turns.ts` runs: the store
 * decides it, not this file, so nothing can change between a check and its write. Start, drain and health are
 * in `create.ts`, which is the only caller.
 */
import { type Loader, sendRecentVoters } from './actors/activation.ts';
import {
  type Actor,
  addWaiter,
  failWaiters,
  type PendingVote,
  releaseWaiters,
  toVoteOutcome,
  type VoteWaiter,
} from './actors/actor.ts';
import type { StalenessPoller } from './actors/staleness-poller.ts';
import { type ItemReply, notApplied, type TurnFailure } from './commit/shard-queue.ts';
import type {
  Engine,
  EntityView,
  PartsPost,
  PartsView,
  PostedStats,
  StatsPost,
  VoteOutcome,
  VoteRequest,
  VoteStatus,
  Watch,
  WatchedView,
} from './engine.ts';
import type { CommitRules, Item, PartsItem, StatsItem, VoteItem } from './entity/items.ts';
import type { HotState, LazyState } from './entity/state.ts';
import { computeVotesMax, computeWaitEndMs, findClosure, selectWindow } from './entity/votes.ts';
import { createDamageError, DomainError } from './errors.ts';
import { type DeliveryRound, deliverAdjustmentsOf, toFactsItem } from './flush/delivery.ts';
import type { Flusher } from './flush/flusher.ts';
import { computeShard, type EntityKind, type EntityRef, type Shard, type Target, toAddress } from './ids.ts';
import { limits } from './limits.ts';
import { judgeDueParts, type LivenessParts } from './liveness.ts';
import type { EngineMeters, HotReader, LedgerReader } from './ports.ts';
import {
  type Attempt,
  type Command,
  type Core,
  runCommand,
  sendItem,
  sendOrInitialise,
  sendUnawaited,
  toDeliveryParts,
  toFailureError,
} from './turns.ts';

/** The parts of the engine that commands use. */
export interface CommandCore extends Core {
  readonly ledger: Core['ledger'] & Pick<LedgerReader, 'listVoters'>;
  readonly flusher: Pick<Flusher, 'waitForFlush' | 'flushEarly' | 'getBacklogSize'>;
  readonly stalenessPoller: Pick<StalenessPoller, 'awaitRecheck' | 'suspectStale'>;
  readonly load: Loader;
  readonly hot: Pick<HotReader, 'readParts'>;
  readonly liveness: LivenessParts;
  readonly meters: Pick<EngineMeters, 'recordPartsSwitch'>;
  readonly rules: CommitRules;
  readonly newId: () => string;
  /** Hashes a client address to a visitor number. */
  readonly computeVisitor: (clientAddress: string) => string;
  /** The outbox passed `outboxVotesHigh` and has not yet fallen to `outboxVotesLow`. */
  votesPaused: boolean;
  /** The last round of deliveries of adjustments. */
  lastDelivery: DeliveryRound;
}

export type Commands = Omit<Engine, 'start' | 'drain' | 'readHealth' | 'hasPendingChanges'>;

export const createCommands = (core: CommandCore): Commands => ({
  read: (kind, id) => read(core, { kind, id }),
  watch: (kind, id, onChanged) => watch(core, { kind, id }, onChanged),
  postStats: (botId, post) => runCommand(core, new StatsCommand(core, botId, post)),
  postParts: (botId, post) => runCommand(core, new PartsCommand(core, botId, post)),
  readParts: (botId, page) => readParts(core, botId, page),
  judgeParts: (signal) => judgeDueParts(core.liveness, signal),
  countClick: (view, clientAddress) =>
    sendUnawaited(core, { kind: 'click', target: view.ref, visitor: core.computeVisitor(clientAddress) }),
  countInvite: (view) => sendUnawaited(core, { kind: 'invite', target: view.ref }),
  vote: (request) => vote(core, request),
  readVoteStatus: (kind, id, user) => readVoteStatus(core, { kind, id }, user),
  waitForFlush: (kind, id) => core.flusher.waitForFlush(findShard(kind, id)),
  flushEarly: (kind, id) => core.flusher.flushEarly(findShard(kind, id)),
  refreshFacts: (kind, id) => refreshFacts(core, { kind, id }),
  deliverAdjustments: (kind, id) => deliverAdjustmentsOf(toDeliveryParts(core), { kind, id }),
  restoreVoters: (ref) => restoreVoters(core, ref),
  suspectStale: () => core.stalenessPoller.suspectStale(),
});

const findShard = (kind: EntityKind, id: string): Shard => computeShard(toAddress(kind, id));

const restoreVoters = async (core: CommandCore, ref: EntityRef): Promise<void> => {
  // Votes without a row come to SQL first.
  await core.flusher.waitForFlush(ref.shard);
  const { generation } = await core.load(ref);
  await sendRecentVoters({ ...core, send: (item: Item) => sendItem(core, item) }, { ref }, generation);
};

/* ------------------------------------------------------------------ reads */

/** Reads the actor: at once if it is live and current. */
const readActor = <View>(
  core: CommandCore,
  target: Target,
  readFrom: (core: CommandCore, actor: Actor) => View,
): View | Promise<View> => {
  const rechecking = core.stalenessPoller.awaitRecheck();
  if (rechecking !== null) return rechecking.then(() => readActor(core, target, readFrom));
  const live = core.registry.findCurrent(target.kind, target.id);
  if (live !== undefined) return readFrom(core, live);
  return core.registry.getOrActivate(target.kind, target.id).then((actor) => readFrom(core, actor));
};

const read = (core: CommandCore, target: Target): EntityView | Promise<EntityView> =>
  readActor(core, target, readView);

const readView = (core: CommandCore, actor: Actor): EntityView =>
  actor.readView(core.clock.nowMs(), core.rules.uptime);

const watch = (core: CommandCore, target: Target, onChanged: () => void): Watch => {
  const close = core.registry.watches.add(toAddress(target.kind, target.id), onChanged);
  // Wakes the poller if it rests.
  void core.stalenessPoller.awaitRecheck();
  return { read: () => readActor(core, target, readWatched), close };
};

const readWatched = (_core: CommandCore, actor: Actor): WatchedView => ({
  ref: actor.ref,
  generation: actor.generation,
  state: actor.readState(),
});

/* ------------------------------------------------------------ stats posts */

class StatsCommand implements Command<PostedStats> {
  readonly kind = 'bot';
  readonly id: string;
  private readonly core: CommandCore;
  private readonly post: StatsPost;

  constructor(core: CommandCore, botId: string, post: StatsPost) {
    this.id = botId;
    this.core = core;
    this.post = post;
  }

  makeItem(target: EntityRef): StatsItem {
    const { post } = this;
    const atMs = this.core.clock.nowMs();
    return { kind: 'stats', target, atMs, ...post, shardList: post.shardList?.join(',') };
  }

  toResult({ decision, state }: ItemReply, actor: Actor): PostedStats {
    if (decision.kind !== 'applied') throw toFailureError(notApplied);
    const endsParts = decision.switched === 'totals';
    return state === null
      ? { ...readView(this.core, actor), endsParts }
      : new PostedView(actor.ref, state, endsParts);
  }
}

/** A view that unpacks its state on first use: most clients that post never read it. */
class PostedView implements PostedStats {
  readonly ref: EntityRef;
  readonly endsParts: boolean;
  private readonly lazyState: LazyState;

  constructor(ref: EntityRef, lazyState: LazyState, endsParts: boolean) {
    this.ref = ref;
    this.lazyState = lazyState;
    this.endsParts = endsParts;
  }

  get state(): HotState {
    return this.lazyState.read();
  }
}

/* ------------------------------------------------------------------ parts */

class PartsCommand implements Command<EntityView> {
  readonly kind = 'bot';
  readonly id: string;
  private readonly core: CommandCore;
  private readonly post: PartsPost;

  constructor(core: CommandCore, botId: string, post: PartsPost) {
    this.id = botId;
    this.core = core;
    this.post = post;
  }

  makeItem(target: EntityRef): PartsItem {
    return { kind: 'parts', target, atMs: this.core.clock.nowMs(), ...this.post };
  }

  toResult({ decision, state }: ItemReply, actor: Actor): EntityView {
    const view = state === null ? readView(this.core, actor) : new PostedView(actor.ref, state, false);
    if (decision.kind === 'inconsistent') throw createInconsistentError(view.state);
    if (decision.kind !== 'applied') throw toFailureError(notApplied);
    if (decision.switched !== undefined) this.core.meters.recordPartsSwitch(decision.switched);
    return view;
  }
}

const createInconsistentError = ({ parts }: HotState): DomainError => {
  const shardCount = String(parts?.current?.shardCount ?? 0);
  const message =
    `The bot now has ${shardCount} shards; nothing was counted. Stop the processes that post another ` +
    `shard_count. To go back to it, stop those of the ${shardCount} shards: it counts again a minute later.`;
  return new DomainError('shards_inconsistent', message, { shard_count: shardCount });
};

/** Reads from the hot store only if the bot has parts; otherwise the committed view is the whole answer. */
const readParts = async (
  core: CommandCore,
  id: string,
  page: { readonly fromId: number; readonly limit: number },
): Promise<PartsView> => {
  const { state } = await read(core, { kind: 'bot', id });
  const reply = state.parts === undefined ? null : await core.hot.readParts({ id, ...page });
  return reply ?? { state, parts: new Map() };
};

/* ------------------------------------------------------------------ votes */

const vote = (core: CommandCore, request: VoteRequest): Promise<VoteOutcome> =>
  isOutboxFull(core)
    ? Promise.reject(createOutboxFullError())
    : runCommand(core, new VoteCommand(core, request));

/**
 * Whether votes are refused, since each becomes a row (I15): from a full outbox on until it is down to
 * `outboxVotesLow`.
 */
export const isOutboxFull = (core: CommandCore): boolean => {
  const { votes } = core.flusher.getBacklogSize();
  if (votes >= limits.outboxVotesHigh) core.votesPaused = true;
  else if (votes <= limits.outboxVotesLow) core.votesPaused = false;
  return core.votesPaused;
};

const createOutboxFullError = (): DomainError => {
  const message = 'Too many votes wait for the database; nothing was counted. Try again later.';
  return new DomainError('overloaded', message, { outcome: 'not_applied' }, 30);
};

/**
 * A vote. While its turn is in the output gate it is the user's pending vote on that actor, and the user's
 * later votes wait behind it.
 */
class VoteCommand implements Command<VoteOutcome>, PendingVote {
  readonly kind: EntityKind;
  readonly id: string;
  waiters: VoteWaiter[] = [];
  outcomeUnknown = false;
  private readonly core: CommandCore;
  private readonly request: VoteRequest;
  private atMs = 0;

  constructor(core: CommandCore, request: VoteRequest) {
    this.kind = request.kind;
    this.id = request.id;
    this.core = core;
    this.request = request;
  }

  joinPending(actor: Actor, attempt: Attempt<VoteOutcome>): boolean {
    const { user } = this.request;
    const earlierVote = actor.pendingVotes?.get(user);
    if (earlierVote === undefined) {
      this.outcomeUnknown = false;
      actor.pendingVotes ??= new Map();
      actor.pendingVotes.set(user, this);
      return false;
    }
    addWaiter(earlierVote, attempt);
    return true;
  }

  makeItem(target: EntityRef): VoteItem {
    const { user, upvote, origin, source } = this.request;
    this.atMs = this.core.clock.nowMs();
    const itags: string[] = [];
    const { windows } = this.core.rules;
    for (let left = computeVotesMax(this.atMs, windows); left > 0; left--) itags.push(this.core.newId());
    return { kind: 'vote', target, user, upvote, atMs: this.atMs, itags, origin, source };
  }

  onLeft(actor: Actor): void {
    const { user } = this.request;
    if (actor.pendingVotes?.get(user) === this) actor.pendingVotes.delete(user);
    if (actor.pendingVotes?.size === 0) actor.pendingVotes = null;
  }

  toResult({ decision, state }: ItemReply): VoteOutcome {
    const outcome = toVoteOutcome(decision, this.core.clock.nowMs());
    if (outcome === null) {
      this.onFailed(notApplied);
      throw toFailureError(notApplied);
    }
    if (this.waiters.length > 0) releaseWaiters(this, outcome, this.waitMsLeft(state));
    return outcome;
  }

  onFailed(failure: TurnFailure): void {
    failWaiters(this, failure);
  }

  private waitMsLeft(state: LazyState | null): number {
    return state === null ? 0 : selectWindow(state.read().facts, this.atMs, this.core.rules.windows).waitMs;
  }
}

const readVoteStatus = async (core: CommandCore, target: Target, user: string): Promise<VoteStatus> => {
  const { kind, id } = target;
  const view = await read(core, target);
  const reply = await core.load({ kind, id, voter: user });
  if (reply.outcome === 'damaged') throw createDamageError('read', toAddress(kind, id));
  const nowMs = core.clock.nowMs();
  // Uses the store's facts: another node may have delivered an edit that this node's actor has not seen.
  const { facts } = reply.outcome === 'found' ? reply.state : view.state;
  const window = selectWindow(facts, nowMs, core.rules.windows);
  const votedAtMs = reply.outcome === 'found' ? reply.votedAtMs : 0;
  const waitMs = votedAtMs === 0 ? 0 : Math.max(0, votedAtMs + window.waitMs - nowMs);
  const freeAtMs = waitMs === 0 ? nowMs : computeWaitEndMs({ facts, votedAtMs }, nowMs, core.rules.windows);
  return { view, window, votedAtMs, waitMs, freeAtMs, closure: findClosure(facts) };
};

/* -------------------------------------------------- decisions of the ledger */

/**
 * Initialises an entity that the store does not know before it sends the facts: a concurrent activation may
 * still insert the facts from before the edit.
 */
const refreshFacts = async (core: CommandCore, target: Target): Promise<void> => {
  const [row] = await core.ledger.find([target]);
  if (row === null || row === undefined) return;
  await sendOrInitialise(core, toFactsItem(row, core.clock.nowMs()));
};
