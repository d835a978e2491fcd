/**
 * What the engine does for its callers, one function per operation of `engine.ts`.
 *
 * The way of a write: find or activate the actor → one turn into the gate → the store decides → the actor
 * adopts the new state → the answer goes. Nothing is decided on what was read here, so nothing can change
 * between the check and the write.
 */
import type { Actor } from './actor.ts';
import {
  act,
  type Core,
  deliveryOf,
  failureError,
  isGone,
  openForWrite,
  type Step,
  sendKnown,
  sendUnawaited,
  type Target,
} from './core.ts';
import { deliverAdjustments, factsOf } from './delivery.ts';
import type { EntityView, StatsPost, VoteOutcome, VoteRequest, VoteStanding } from './engine.ts';
import type { HeldState } from './entity/held.ts';
import type { StatsItem, VoteItem } from './entity/items.ts';
import type { HotState } from './entity/state.ts';
import { waitEndsAtMs, windowInForce } from './entity/votes.ts';
import { DomainError } from './errors.ts';
import type { EntityRef } from './ids.ts';
import { limits } from './limits.ts';
import { notFound } from './registry.ts';
import type { Decided, Turn, TurnFailure } from './shard.ts';
import {
  type Ballot,
  Ballots,
  createBallot,
  failParked,
  park,
  releaseParked,
  voteOutcome,
} from './voting.ts';

/** The committed view: at once when the actor is live, else after its activation. */
export const read = (core: Core, target: Target): EntityView | Promise<EntityView> => {
  const live = core.registry.live(target.kind, target.id);
  if (live !== undefined) return look(core, live);
  return core.registry.open(target.kind, target.id).then((actor) => look(core, actor));
};

const look = (core: Core, actor: Actor): EntityView => actor.look(core.clock.nowMs(), core.rules().uptime);

/** Hot when it resolves, to the view that contains the post. */
export const postStats = (core: Core, botId: string, post: StatsPost): Promise<EntityView> =>
  act(core, new PostStep(botId, post));

class PostStep implements Step<EntityView> {
  readonly kind = 'bot';
  readonly id: string;
  private readonly post: StatsPost;

  constructor(botId: string, post: StatsPost) {
    this.id = botId;
    this.post = post;
  }

  make(core: Core, ref: EntityRef): StatsItem {
    return statsItem(ref, this.post, core.clock.nowMs());
  }

  conclude(core: Core, { decision, state }: Decided, actor: Actor): EntityView {
    if (decision.kind !== 'applied') throw failureError(refused);
    return state === null ? look(core, actor) : new HeldView(actor.ref, state);
  }
}

/** A view that is read when somebody looks: whoever posts seldom does. */
class HeldView implements EntityView {
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

const refused: TurnFailure = { outcome: 'not_applied', code: 'store_unavailable' };

/** Fields that were not posted stay `undefined`: all items of this kind have one shape. */
const statsItem = (target: EntityRef, post: StatsPost, atMs: number): StatsItem => {
  const { servers, shards, users, shardList, status } = post;
  return { kind: 'stats', target, atMs, servers, shards, users, shardList: shardList?.join(','), status };
};

/** Counts a page view; the click is in the next batch. */
export const click = (core: Core, view: EntityView, clientAddress: string): void =>
  sendUnawaited(core, {
    kind: 'click',
    target: view.ref,
    visitor: core.visitorOf(clientAddress),
  });

/** Hot when it resolves to `voted`. */
export const vote = (core: Core, request: VoteRequest): Promise<VoteOutcome> =>
  new Promise((resolve, reject) => {
    refuseWhileOutboxIsFull(core);
    castVote({ core, request, resolve, reject, attemptsLeft: limits.reactivationsMax });
  });

/** Who waits for a vote, and how often it may still be begun. */
interface AskedVote {
  readonly core: Core;
  readonly request: VoteRequest;
  readonly resolve: (outcome: VoteOutcome) => void;
  readonly reject: (error: unknown) => void;
  attemptsLeft: number;
}

const castVote = (asked: AskedVote): void => {
  const { core, request } = asked;
  const { kind, id } = request;
  if (asked.attemptsLeft === 0) {
    asked.reject(notFound(kind, id));
    return;
  }
  asked.attemptsLeft -= 1;
  const live = core.registry.live(kind, id);
  if (live !== undefined) castOn(asked, live);
  else
    openForWrite(core, request)
      .then((actor) => castOn(asked, actor))
      .catch(asked.reject);
};

/** Sends a user's first vote; his later ones gather behind its ballot. */
const castOn = (asked: AskedVote, actor: Actor): void => {
  const before = actor.ballots?.of(asked.request.user);
  if (before === undefined) asked.core.gate.submit(new VoteTurn(asked, actor));
  else park(before, { resolve: asked.resolve, fail: (failure) => asked.reject(failureError(failure)) });
};

/** Votes are rows to be: above the high mark they are refused until the outbox is below the low one (I15). */
const refuseWhileOutboxIsFull = (core: Core): void => {
  const { votes } = core.flusher.size();
  if (votes >= limits.outboxVotesHigh) core.votesPaused = true;
  else if (votes <= limits.outboxVotesLow) core.votesPaused = false;
  if (!core.votesPaused) return;
  const words = 'Too many votes wait for the database; nothing was counted. Try again later.';
  throw new DomainError('overloaded', words, { outcome: 'not_applied' }, 30);
};

/** The turn of a vote, which is its user's ballot on the entity until it is closed. */
class VoteTurn implements Turn {
  readonly item: VoteItem;
  readonly deadlineMs: number;
  place: Turn['place'] = 'open';
  answered = false;
  private readonly asked: AskedVote;
  private readonly actor: Actor;
  private readonly ballot = createBallot();

  constructor(asked: AskedVote, actor: Actor) {
    this.item = voteItem(asked, actor.ref);
    this.deadlineMs = asked.core.clock.monotonicMs() + limits.requestDeadlineMs;
    this.asked = asked;
    this.actor = actor;
    actor.ballots ??= new Ballots();
    actor.ballots.add(this.item.user, this.ballot);
    actor.turns += 1;
  }

  answer(decided: Decided): void {
    const { asked, actor, ballot } = this;
    const outcome = closeBallot(asked.core, ballot, { decided, atMs: this.item.atMs });
    if (outcome !== null) asked.resolve(outcome);
    else {
      asked.core.registry.discard(actor.ref.address);
      castVote(asked);
    }
  }

  fail(failure: TurnFailure): void {
    failParked(this.ballot, failure);
    this.asked.reject(failureError(failure));
  }

  closed(): void {
    const { actor } = this;
    actor.turns -= 1;
    actor.ballots?.remove(this.item.user, this.ballot);
    if (actor.ballots?.empty()) actor.ballots = null;
  }
}

const voteItem = ({ core, request }: AskedVote, target: EntityRef): VoteItem => {
  const { user, upvote } = request;
  const itags: string[] = [];
  for (let left = votesPerRequestMax(core); left > 0; left--) itags.push(core.newId());
  return { kind: 'vote', target, user, upvote, atMs: core.clock.nowMs(), itags };
};

/** Tells those who wait behind a ballot. `null`: the store does not know the entity. */
const closeBallot = (
  core: Core,
  ballot: Ballot,
  { decided, atMs }: { readonly decided: Decided; readonly atMs: number },
): VoteOutcome | null => {
  const outcome = voteOutcome(decided.decision, core.clock.nowMs());
  if (outcome === null || isGone(decided.decision)) {
    failParked(ballot, { outcome: 'not_applied', code: 'store_unavailable' });
    return null;
  }
  if (ballot.parked.length > 0) {
    const facts = decided.state?.read().facts;
    const waitMs = facts === undefined ? 0 : windowInForce(facts, atMs, core.rules().windows).waitMs;
    releaseParked(ballot, outcome, waitMs);
  }
  return outcome;
};

const votesPerRequestMax = (core: Core): number => {
  const { standard, premium, weekend } = core.rules().windows;
  return Math.max(standard.perUser, premium.perUser, weekend.perUser);
};

/** Window in force, last vote and time left, as the store knows them. */
export const standing = async (core: Core, target: Target, user: string): Promise<VoteStanding> => {
  const view = await read(core, target);
  const reply = await core.load({ kind: target.kind, id: target.id, voter: user });
  const nowMs = core.clock.nowMs();
  // What the store says now: another node may have told it of an edit that this one has not heard of yet.
  const { facts } = reply.outcome === 'found' ? reply.state : view.state;
  const window = windowInForce(facts, nowMs, core.rules().windows);
  const votedAtMs = reply.outcome === 'found' ? reply.votedAtMs : 0;
  const waitMs = votedAtMs === 0 ? 0 : Math.max(0, votedAtMs + window.waitMs - nowMs);
  const freeAtMs = waitMs === 0 ? nowMs : waitEndsAtMs({ facts, votedAtMs }, nowMs, core.rules().windows);
  return { view, window, votedAtMs, waitMs, freeAtMs };
};

/**
 * Sends the ledger's facts to the store. Where it does not know the entity, that is initialised first: an
 * activation on its way may still bring the facts from before the edit.
 */
export const refresh = async (core: Core, target: Target): Promise<void> => {
  const [row] = await core.ledger.find([target]);
  if (row === null || row === undefined) return;
  await sendKnown(core, factsOf(row, core.clock.nowMs()));
};

/** Delivers what is open for the entity; for one that is gone from the ledger, everything that is open. */
export const deliver = async (core: Core, target: Target): Promise<void> => {
  const [row] = await core.ledger.find([target]);
  const parts = deliveryOf(core);
  let settled: number = limits.adjustmentsPerRound;
  while (settled === limits.adjustmentsPerRound) settled = await deliverAdjustments(parts, row?.ref);
};
