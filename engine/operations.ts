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
  actorOf,
  type Core,
  failureError,
  isGone,
  sendKnown,
  sendUnawaited,
  type Target,
} from './core.ts';
import { deliverAdjustments } from './delivery.ts';
import type { EntityView, StatsPost, VoteOutcome, VoteRequest, VoteStanding } from './engine.ts';
import { waitEndsAtMs, windowInForce } from './entity/votes.ts';
import { DomainError } from './errors.ts';
import type { EntityRef } from './ids.ts';
import { limits } from './limits.ts';
import type { Item, StatsItem, VoteItem } from './ports.ts';
import { notFound } from './registry.ts';
import type { Decided, TurnFailure } from './shard.ts';
import { type Ballot, createBallot, failParked, park, releaseParked, voteOutcome } from './voting.ts';

/** The committed view: at once when the actor is live, else after its activation. */
export const read = (core: Core, target: Target): EntityView | Promise<EntityView> => {
  const live = core.registry.live(target.kind, target.id);
  if (live !== undefined) return look(core, live);
  return core.registry.open(target.kind, target.id).then((actor) => look(core, actor));
};

const look = (core: Core, actor: Actor): EntityView => actor.look(core.clock.nowMs(), core.rules().uptime);

/** Hot when it resolves, to the view that contains the post. */
export const postStats = (core: Core, botId: string, post: StatsPost): Promise<EntityView> =>
  act(core, {
    target: { kind: 'bot', id: botId },
    make: (ref) => statsItem(ref, post, core.clock.nowMs()),
    conclude: ({ decision, state }, actor) => {
      if (decision.kind !== 'applied') return Promise.reject(failureError(refused));
      return state === null ? look(core, actor) : { ref: actor.ref, state };
    },
  });

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
export const vote = async (core: Core, request: VoteRequest): Promise<VoteOutcome> => {
  refuseWhileOutboxIsFull(core);
  for (let attempt = 0; attempt < limits.reactivationsMax; attempt++) {
    const actor = await actorOf(core, request);
    const before = actor.ballots?.get(request.user);
    const outcome = before === undefined ? await firstVote(core, actor, request) : await parkedVote(before);
    if (outcome !== null) return outcome;
    core.registry.discard(actor.ref.address);
  }
  throw notFound(request.kind, request.id);
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

const parkedVote = (ballot: Ballot): Promise<VoteOutcome> =>
  new Promise((resolve, reject) => {
    park(ballot, { resolve, fail: (failure) => reject(failureError(failure)) });
  });

/**
 * Sends the vote; the user's later ones gather behind its ballot. `null`: the store does not know the entity.
 */
const firstVote = async (core: Core, actor: Actor, request: VoteRequest): Promise<VoteOutcome | null> => {
  const { user, upvote } = request;
  const atMs = core.clock.nowMs();
  const itags = Array.from({ length: votesPerRequestMax(core) }, () => core.newId());
  const item: VoteItem = { kind: 'vote', target: actor.ref, user, upvote, atMs, itags };
  return new Promise((resolve, reject) => {
    const ballot = openBallot(actor, user);
    core.gate.submit({
      item,
      deadlineMs: core.clock.monotonicMs() + limits.requestDeadlineMs,
      place: 'open',
      answered: false,
      answer: (decided) => resolve(closeBallot(core, ballot, { decided, atMs })),
      fail: (failure) => {
        failParked(ballot, failure);
        reject(failureError(failure));
      },
      closed: () => dropBallot(actor, user, ballot),
    });
  });
};

const openBallot = (actor: Actor, user: string): Ballot => {
  const ballot = createBallot();
  actor.ballots ??= new Map();
  actor.ballots.set(user, ballot);
  actor.turns += 1;
  return ballot;
};

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
  const facts = decided.state?.facts;
  const waitMs = facts === undefined ? 0 : windowInForce(facts, atMs, core.rules().windows).waitMs;
  releaseParked(ballot, outcome, waitMs);
  return outcome;
};

const dropBallot = (actor: Actor, user: string, ballot: Ballot): void => {
  actor.turns -= 1;
  if (actor.ballots?.get(user) === ballot) actor.ballots.delete(user);
  if (actor.ballots?.size === 0) actor.ballots = null;
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
  await sendKnown(core, { kind: 'facts', target: row.ref, facts: row.facts, atMs: core.clock.nowMs() });
};

/** Delivers what is open for the entity; for one that is gone from the ledger, everything that is open. */
export const deliver = async (core: Core, target: Target): Promise<void> => {
  const [row] = await core.ledger.find([target]);
  const parts = {
    ledger: core.ledger,
    send: (item: Item) => sendKnown(core, item),
  };
  let settled: number = limits.adjustmentsPerRound;
  while (settled === limits.adjustmentsPerRound) settled = await deliverAdjustments(parts, row?.ref);
};
