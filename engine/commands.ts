/**
 * What each call of the engine's door does: `createCommands` has one entry per call, in the order of
 * `engine.ts`.
 *
 * A read answers from an actor's committed state. A write is a command that `turns.ts` runs: nothing is
 * decided on what was read here, so nothing can change between the check and the write. Start, drain and
 * health are in `create.ts`, which is the only caller.
 */
import type { Loader } from './activation.ts';
import type { Actor } from './actor.ts';
import { deliverAdjustments, factsOf } from './delivery.ts';
import type { Engine, EntityView, StatsPost, VoteOutcome, VoteRequest, VoteStanding } from './engine.ts';
import type { HeldState } from './entity/held.ts';
import type { CommitRules, StatsItem, VoteItem } from './entity/items.ts';
import type { HotState } from './entity/state.ts';
import { waitEndsAtMs, windowInForce } from './entity/votes.ts';
import { DomainError } from './errors.ts';
import type { Flusher } from './flusher.ts';
import type { Freshness } from './freshness.ts';
import type { EntityKind, EntityRef } from './ids.ts';
import { limits } from './limits.ts';
import { shardFor } from './registry.ts';
import type { Decided, TurnFailure } from './shard.ts';
import {
  type Attempt,
  type Command,
  type Core,
  deliveryOf,
  failureError,
  notApplied,
  run,
  sendKnown,
  sendUnawaited,
  type Target,
} from './turns.ts';
import {
  failParked,
  type ParkedVote,
  type PendingVote,
  PendingVotes,
  park,
  releaseParked,
  voteOutcome,
} from './voting.ts';

/** What commands use beside the way of a turn. */
export interface CommandCore extends Core {
  readonly flusher: Pick<Flusher, 'flushed' | 'size'>;
  readonly freshness: Pick<Freshness, 'inDoubt' | 'doubt'>;
  readonly load: Loader;
  readonly rules: () => CommitRules;
  readonly newId: () => string;
  /** The number of a client address. */
  readonly visitorOf: (clientAddress: string) => string;
  /** The outbox passed its high mark and has not come under the low one. */
  votesPaused: boolean;
}

export type Commands = Omit<Engine, 'start' | 'drain' | 'health'>;

export const createCommands = (core: CommandCore): Commands => ({
  read: (kind, id) => read(core, kind, id),
  postStats: (botId, post) => run(core, new PostStats(core, botId, post)),
  click: (view, clientAddress) =>
    sendUnawaited(core, { kind: 'click', target: view.ref, visitor: core.visitorOf(clientAddress) }),
  invite: (view) => sendUnawaited(core, { kind: 'invite', target: view.ref }),
  vote: (request) => vote(core, request),
  standing: (kind, id, user) => standing(core, { kind, id }, user),
  flushed: (kind, id) => core.flusher.flushed(shardFor(kind, id)),
  refresh: (kind, id) => refresh(core, { kind, id }),
  deliver: (kind, id) => deliver(core, { kind, id }),
  doubt: () => core.freshness.doubt(),
});

/* ------------------------------------------------------------------ reads */

const read = (core: CommandCore, kind: EntityKind, id: string): EntityView | Promise<EntityView> => {
  const { inDoubt } = core.freshness;
  if (inDoubt !== null) return inDoubt.then(() => read(core, kind, id));
  const live = core.registry.live(kind, id);
  if (live !== undefined) return viewOf(core, live);
  return core.registry.open(kind, id).then((actor) => viewOf(core, actor));
};

const viewOf = (core: CommandCore, actor: Actor): EntityView =>
  actor.look(core.clock.nowMs(), core.rules().uptime);

/* ------------------------------------------------------------ stats posts */

class PostStats implements Command<EntityView> {
  readonly kind = 'bot';
  readonly id: string;
  private readonly core: CommandCore;
  private readonly post: StatsPost;

  constructor(core: CommandCore, botId: string, post: StatsPost) {
    this.id = botId;
    this.core = core;
    this.post = post;
  }

  /** Fields that were not posted stay `undefined`: all items of this kind have one shape. */
  makeItem(target: EntityRef): StatsItem {
    const { servers, shards, users, shardList, status } = this.post;
    const atMs = this.core.clock.nowMs();
    return { kind: 'stats', target, atMs, servers, shards, users, shardList: shardList?.join(','), status };
  }

  conclude({ decision, state }: Decided, actor: Actor): EntityView {
    if (decision.kind !== 'applied') throw failureError(notApplied);
    return state === null ? viewOf(this.core, actor) : new PostedView(actor.ref, state);
  }
}

/** A view whose state is unpacked on first use: most clients that post never look at it. */
class PostedView implements EntityView {
  readonly ref: EntityRef;
  private readonly held: HeldState;

  constructor(ref: EntityRef, held: HeldState) {
    this.ref = ref;
    this.held = held;
  }

  get state(): HotState {
    return this.held.read();
  }
}

/* ------------------------------------------------------------------ votes */

const vote = (core: CommandCore, request: VoteRequest): Promise<VoteOutcome> =>
  isOutboxFull(core) ? Promise.reject(outboxFull()) : run(core, new CastVote(core, request));

/** Votes are rows to be: above the high mark they are refused until the outbox is below the low one (I15). */
const isOutboxFull = (core: CommandCore): boolean => {
  const { votes } = core.flusher.size();
  if (votes >= limits.outboxVotesHigh) core.votesPaused = true;
  else if (votes <= limits.outboxVotesLow) core.votesPaused = false;
  return core.votesPaused;
};

const outboxFull = (): DomainError => {
  const message = 'Too many votes wait for the database; nothing was counted. Try again later.';
  return new DomainError('overloaded', message, { outcome: 'not_applied' }, 30);
};

/**
 * A vote. While its turn is in the gate it is the user's pending vote on that actor, and the user's later
 * votes wait behind it.
 */
class CastVote implements Command<VoteOutcome>, PendingVote {
  readonly kind: EntityKind;
  readonly id: string;
  parked: ParkedVote[] = [];
  undecided = false;
  private readonly core: CommandCore;
  private readonly request: VoteRequest;
  private atMs = 0;

  constructor(core: CommandCore, request: VoteRequest) {
    this.kind = request.kind;
    this.id = request.id;
    this.core = core;
    this.request = request;
  }

  joins(actor: Actor, attempt: Attempt<VoteOutcome>): boolean {
    const { user } = this.request;
    const before = actor.pendingVotes?.of(user);
    if (before === undefined) {
      this.undecided = false;
      actor.pendingVotes ??= new PendingVotes();
      actor.pendingVotes.add(user, this);
      return false;
    }
    park(before, attempt);
    return true;
  }

  makeItem(target: EntityRef): VoteItem {
    const { user, upvote } = this.request;
    this.atMs = this.core.clock.nowMs();
    const itags: string[] = [];
    for (let left = votesPerRequestMax(this.core); left > 0; left--) itags.push(this.core.newId());
    return { kind: 'vote', target, user, upvote, atMs: this.atMs, itags };
  }

  left(actor: Actor): void {
    actor.pendingVotes?.remove(this.request.user, this);
    if (actor.pendingVotes?.empty()) actor.pendingVotes = null;
  }

  conclude({ decision, state }: Decided): VoteOutcome {
    const outcome = voteOutcome(decision, this.core.clock.nowMs());
    if (outcome === null) {
      this.failed(notApplied);
      throw failureError(notApplied);
    }
    if (this.parked.length > 0) releaseParked(this, outcome, this.waitMsLeft(state));
    return outcome;
  }

  failed(failure: TurnFailure): void {
    failParked(this, failure);
  }

  private waitMsLeft(state: HeldState | null): number {
    return state === null
      ? 0
      : windowInForce(state.read().facts, this.atMs, this.core.rules().windows).waitMs;
  }
}

const votesPerRequestMax = (core: CommandCore): number => {
  const { standard, premium, weekend } = core.rules().windows;
  return Math.max(standard.perUser, premium.perUser, weekend.perUser);
};

const standing = async (core: CommandCore, target: Target, user: string): Promise<VoteStanding> => {
  const { kind, id } = target;
  const view = await read(core, kind, id);
  const reply = await core.load({ kind, id, voter: user });
  const nowMs = core.clock.nowMs();
  // The store's facts, not the actor's: another node may have delivered an edit that this one has not seen.
  const { facts } = reply.outcome === 'found' ? reply.state : view.state;
  const window = windowInForce(facts, nowMs, core.rules().windows);
  const votedAtMs = reply.outcome === 'found' ? reply.votedAtMs : 0;
  const waitMs = votedAtMs === 0 ? 0 : Math.max(0, votedAtMs + window.waitMs - nowMs);
  const freeAtMs = waitMs === 0 ? nowMs : waitEndsAtMs({ facts, votedAtMs }, nowMs, core.rules().windows);
  return { view, window, votedAtMs, waitMs, freeAtMs };
};

/* -------------------------------------------------- decisions of the ledger */

/**
 * Where the store does not know the entity, that is initialised first: a concurrent activation may still
 * insert the facts from before the edit.
 */
const refresh = async (core: CommandCore, target: Target): Promise<void> => {
  const [row] = await core.ledger.find([target]);
  if (row === null || row === undefined) return;
  await sendKnown(core, factsOf(row, core.clock.nowMs()));
};

/** Delivers what is open for the entity; for one that is gone from the ledger, everything that is open. */
const deliver = async (core: CommandCore, target: Target): Promise<void> => {
  const [row] = await core.ledger.find([target]);
  const parts = deliveryOf(core);
  let settled: number = limits.adjustmentsPerRound;
  while (settled === limits.adjustmentsPerRound) settled = await deliverAdjustments(parts, row?.ref);
};
