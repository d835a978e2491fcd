/**
 * Votes (contract §2.11, §2.12, §4.5): cast a vote, a user's vote status and history, an entity's voters.
 * The engine decides about new votes, the catalogue has past votes.
 *
 * A read of past votes first waits until the engine has flushed the entity, so that the reply has every
 * acknowledged vote. Whether a user has to wait is known to the engine alone.
 */
import { type Static, Type } from 'typebox';
import type { VoteOutcome, VoteRequest } from '../../engine/engine.ts';
import type { VoteWindow } from '../../engine/entity/items.ts';
import { DomainError } from '../../engine/errors.ts';
import { type EntityKind, type EntityRef, entityKinds, type Target } from '../../engine/ids.ts';
import { creditKinds } from '../../engine/rules/credits.ts';
import { perPage } from '../../engine/rules/pages.ts';
import { sourcePattern } from '../../engine/rules/vote-origin.ts';
import { toWaitParts } from '../../engine/rules/waits.ts';
import type { VoteRow } from '../../storage/catalogue/votes/votes.ts';
import type { App } from '../app.ts';
import { requireCaller } from '../auth/authorise.ts';
import { createUnavailableError, createWaitError } from '../response/errors.ts';
import { noContent, type Reply, replyOk, showRow } from '../response/reply.ts';
import { definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import { awaitFirstChunk } from '../server/stream.ts';
import {
  buildCount,
  buildFlag,
  buildPageSchema,
  buildTargetParams,
  buildText,
  PageQuery,
  Timestamp,
  toNullable,
  UserTargetParams,
  Uuid,
} from './shared/common.ts';
import { parsePage, toTarget } from './shared/convert.ts';
import { buildObject, describe, describeObject } from './shared/example.ts';
import { checkProof, type SentProof } from './shared/vote-proof.ts';

export const TargetVotesParams = buildTargetParams(entityKinds);

export const VoteQuery = Type.Object({
  upvote: Type.Enum(['true', 'false'], {
    description: '`true` votes up, `false` down.',
    examples: ['true'],
  }),
  ref: Type.Optional(
    Type.String({
      pattern: sourcePattern,
      description: 'Where the vote comes from, such as a campaign: the vote log and webhooks have it.',
      examples: ['newsletter-7'],
    }),
  ),
});

export const Vote = describeObject('A vote of a user on an entity.', {
  author: buildText('728871946456137770', 'Id of the user who voted.'),
  created_at: describe(Timestamp, 'When the user voted.'),
  credit_redeem: toNullable(Uuid, 'Id of the redeem that used it up; `null`: none did.'),
  immutable: buildFlag('Whether the monthly reset spares it. The operator decides it.'),
  itag: describe(Uuid, 'Id of the vote.'),
  target_id: buildText('815553000470478850', 'Id of the entity that was voted on.'),
  target_type: buildText('bot', '`bot`, `server`, `team` or `pack`.'),
  upvote: buildFlag('`true` for an upvote, `false` for a downvote.', true),
  void: buildFlag('Whether it counts no more: see `void_reason`.'),
  void_reason: buildText('', '`monthly_reset`, `operator`, `redeemed` or `deleted`; empty for a valid vote.'),
  vote_num: buildCount(
    0,
    'Number of the vote within its request, from 0: one request may count for two votes.',
  ),
  voided_at: toNullable(Timestamp, 'When it became void; `null` for a valid vote.'),
});

export const VoteInfo = describeObject('The rules for votes on an entity, as of now.', {
  multiple_votes: buildFlag('Whether a user may vote again after a wait.', true),
  per_user: Type.Integer({
    minimum: 1,
    description: 'How many votes one request counts for: 2 on weekends by default, else 1.',
    examples: [1],
  }),
  supports_downvotes: buildFlag('Whether it can be voted down.', true),
  supports_partial_vote_credits_redeem: buildFlag('Whether some of its votes can be redeemed alone.', true),
  supports_upvotes: buildFlag('Whether it can be voted up.', true),
  vote_credits: buildFlag('Whether votes can be redeemed as credits.', true),
  vote_time: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    description: 'How long a user waits between votes, in hours: 4, 6 or 12 by default.',
    examples: [12],
  }),
});
export type VoteInfo = Static<typeof VoteInfo>;

export const Wait = buildObject({
  hours: buildCount(11, 'Whole hours.'),
  minutes: buildCount(59, 'Whole minutes beside the hours, 0 to 59.'),
  seconds: buildCount(30, 'Seconds beside the minutes, rounded up, 0 to 59.'),
});

export const VoteStatusReply = buildObject({
  has_voted: buildFlag('Whether the user has to wait before the next vote.', true),
  valid_votes: describe(Type.Array(Vote), "The user's votes that count, newest first."),
  vote_info: describe(VoteInfo, 'The rules for votes on this entity, as of now.'),
  wait: describe(Wait, 'Time until the user can vote again; all 0 when they can.'),
});
export type VoteStatusReply = Static<typeof VoteStatusReply>;

export const VoterList = Type.Array(Type.String(), {
  description: 'Ids of users with a valid vote, newest first.',
  examples: [['728871946456137770']],
});

const toUserTarget = (params: UserTargetParams) => ({ ...toTarget(params), user: params.uid });

export const voteRoutes = defineRoutes('Votes', [
  defineRoute('castVote', 'PUT /users/{uid}/{target_type}/{target_id}/votes', {
    summary: 'Vote',
    description:
      'Casts an upvote or a downvote. The reply is sent when the vote is on disk. One request per ' +
      'wait is accepted, however many are sent; the others get 429 `vote_wait`, which says how long ' +
      'to wait.',
    auth: { kind: 'self', user: 'uid' },
    params: UserTargetParams,
    query: VoteQuery,
    replies: { 204: null },
    proven: true,
    check: checkProof,
    errors: [
      'vote_banned',
      'entity_vote_banned',
      'not_votable',
      'vote_wait',
      'proof_required',
      'proof_unavailable',
      'rate_limited',
    ],
    handle: (app, request) => {
      const { voteBanned, firstSeenMs } = requireCaller(request);
      const { voteProof: token, userAgent: agent } = request.headers;
      // The address is lost when the client leaves.
      const { clientAddress: address, traceparent } = request;
      const origin = app.encodeOrigin?.({ address, agent, firstSeenMs }, app.clock.nowMs());
      const { ref: source } = request.query;
      const vote = {
        ...toUserTarget(request.params),
        upvote: request.query.upvote === 'true',
        origin,
        source,
      };
      const proof = app.voteProof === null ? null : { token, address };
      return castVote(app, vote, { voteBanned, traceparent, proof });
    },
  }),
  definePublicRoute('getStanding', 'GET /users/{uid}/{target_type}/{target_id}/votes', {
    summary: 'Check a vote',
    description:
      "A user's valid votes on an entity, and how long they must wait before the next one. Reward " +
      'voters while `has_voted` is true.',
    params: UserTargetParams,
    replies: { 200: VoteStatusReply },
    handle: (app, { params }) => showVoteStatus(app, toUserTarget(params)),
  }),
  definePublicRoute('listUserVotes', 'GET /users/{uid}/{target_type}/{target_id}/votes/@all', {
    summary: "List a user's votes",
    description: 'All votes of a user on an entity, void ones too, newest first, 10 per page.',
    params: UserTargetParams,
    query: PageQuery,
    replies: { 200: buildPageSchema(Vote, perPage.userVotes) },
    handle: (app, { params, query }) => showVotes(app, toUserTarget(params), parsePage(query)),
  }),
  definePublicRoute('listVoters', 'GET /{target_type}/{target_id}/votes/user-list', {
    summary: 'List voters',
    description: 'The ids of all users with a valid vote, newest first; with `page`, 100 ids per page.',
    params: TargetVotesParams,
    query: PageQuery,
    replies: { 200: VoterList },
    handle: (app, { params, query }) =>
      showVoters(app, toTarget(params), query.page === undefined ? null : parsePage(query)),
  }),
]);

const hourMs = 3_600_000;
const voteHoursMax = 65_535;
type RefusedVote = Extract<VoteOutcome, { kind: 'refused' }>;

const toVoteError = ({ reason, waitMs }: RefusedVote): DomainError => {
  switch (reason) {
    case 'wait':
      return createWaitError('vote_wait', 'vote again', waitMs);
    case 'not_listed':
      return new DomainError('not_votable', 'This entity is not listed, so users cannot vote for it.');
    case 'vote_banned':
      return new DomainError('entity_vote_banned', 'This entity is banned from receiving votes.');
    case 'clock_ahead':
    case 'clock_behind':
      return createUnavailableError(
        'store_unavailable',
        'The clocks of this node and its store differ by seconds, so votes are refused. Try again.',
        1,
      );
  }
};

const refuseVoter = async (app: App, vote: VoteRequest): Promise<Reply> => {
  await app.engine.read(vote.kind, vote.id);
  app.counts.votes[vote.kind].voter_banned += 1;
  throw new DomainError('vote_banned', 'You are banned from voting.');
};

/** A vote's sender. */
interface Voter {
  readonly voteBanned: boolean;
  readonly traceparent: string;
  /** `null` where none is needed. */
  readonly proof: SentProof | null;
}

/** `PUT …/votes`. *Hot* when it resolves. An unknown entity is reported before a vote ban of the user. */
export const castVote = (app: App, vote: VoteRequest, voter: Voter): Promise<Reply> => {
  const { voteBanned, traceparent, proof } = voter;
  if (voteBanned) return refuseVoter(app, vote);
  if (proof === null || app.voteProof?.spares(vote)) return sendVote(app, vote, traceparent);
  return requireProof(app, vote, proof).then(() => sendVote(app, vote, traceparent));
};

/**
 * Rejects without a proof, unless the owner of the bot spares voters that. A vote that cannot count is
 * refused before a proof is requested, by the same rules in the same order: each proof works once.
 */
const requireProof = async (app: App, vote: VoteRequest, proof: SentProof): Promise<void> => {
  const { kind, id, user } = vote;
  const { waitMs, closure } = await app.engine.readVoteStatus(kind, id, user);
  const reason = closure ?? (waitMs > 0 ? 'wait' : null);
  if (reason !== null) {
    app.counts.votes[kind][reason] += 1;
    throw toVoteError({ kind: 'refused', reason, waitMs });
  }
  const bot = kind === 'bot' ? await app.catalogue.bots.find(id) : null;
  if (bot?.captcha_opt_out) return;
  try {
    await app.voteProof?.prove(user, proof);
  } catch (error) {
    app.counts.votes[kind].unproved += 1;
    throw error;
  }
};

const sendVote = (app: App, vote: VoteRequest, traceparent: string): Promise<Reply> =>
  app.engine.vote(vote).then(
    (outcome) => {
      app.counts.votes[vote.kind][outcome.kind === 'refused' ? outcome.reason : 'accepted'] += 1;
      if (outcome.kind === 'refused') throw toVoteError(outcome);
      if (app.webhooks.isWatched(vote.kind, vote.id)) {
        if (traceparent !== '') app.webhooks.recordTrace(vote, { traceparent, atMs: app.clock.nowMs() });
        app.engine.flushEarly(vote.kind, vote.id);
      }
      return noContent;
    },
    (error: unknown) => {
      const isUnknown = error instanceof DomainError && error.code === 'not_found';
      if (!isUnknown) app.counts.votes[vote.kind].failed += 1;
      throw error;
    },
  );

const isRedeemable = (kind: EntityKind): boolean => creditKinds.some((each) => each === kind);

/** Builds the VoteInfo of the current vote window. */
export const toVoteInfo = (kind: EntityKind, window: VoteWindow): VoteInfo => ({
  multiple_votes: true,
  per_user: window.perUser,
  supports_downvotes: true,
  supports_partial_vote_credits_redeem: isRedeemable(kind),
  supports_upvotes: true,
  vote_credits: isRedeemable(kind),
  vote_time: Math.min(voteHoursMax, Math.ceil(window.waitMs / hourMs)),
});

const toVote = (row: VoteRow) => showRow(Vote, row);

/** `GET …/votes`: the vote status of a user on an entity. */
export const showVoteStatus = async (app: App, vote: Omit<VoteRequest, 'upvote'>): Promise<Reply> => {
  const { kind, id } = vote;
  let [status, votes] = await readStatusAndVotes(app, vote);
  if (status.waitMs > 0 && votes.length === 0) {
    // SQL may have a reset that has not reached the hot store.
    await app.engine.deliverAdjustments(kind, id);
    [status, votes] = await readStatusAndVotes(app, vote);
  }
  return replyOk<VoteStatusReply>({
    has_voted: status.waitMs > 0,
    valid_votes: votes.map(toVote),
    vote_info: toVoteInfo(kind, status.window),
    wait: toWaitParts(status.waitMs),
  });
};

/** Reads the wait from the hot store, then the votes that count from SQL. */
const readStatusAndVotes = async (app: App, { kind, id, user }: Omit<VoteRequest, 'upvote'>) => {
  const status = await app.engine.readVoteStatus(kind, id, user);
  await app.engine.waitForFlush(kind, id);
  return [status, await app.catalogue.votes.valid({ user, ref: status.view.ref })] as const;
};

/** Waits until the entity's acknowledged votes are in SQL; returns its reference. May throw `not_found`. */
export const readFlushedRef = async (app: App, kind: EntityKind, id: string): Promise<EntityRef> => {
  const { ref } = await app.engine.read(kind, id);
  await app.engine.waitForFlush(kind, id);
  return ref;
};

/** `GET …/votes/@all`. */
export const showVotes = async (app: App, vote: Omit<VoteRequest, 'upvote'>, page: number) => {
  const ref = await readFlushedRef(app, vote.kind, vote.id);
  const { count, rows } = await app.catalogue.votes.page({ user: vote.user, ref }, page);
  return replyOk({ count, per_page: perPage.userVotes, results: rows.map(toVote) });
};

/** Renders a JSON array in chunks, one per batch of the list. */
async function* renderArray(batches: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  let separator = '[';
  for await (const batch of batches) {
    yield separator + JSON.stringify(batch).slice(1, -1);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

/** `GET …/votes/user-list`: one page, or the whole list as a stream if `page` is `null`. */
export const showVoters = async (app: App, target: Target, page: number | null): Promise<Reply> => {
  const ref = await readFlushedRef(app, target.kind, target.id);
  if (page === null) {
    return { status: 200, stream: await awaitFirstChunk(renderArray(app.catalogue.votes.eachVoters(ref))) };
  }
  return replyOk(await app.catalogue.votes.voters(ref, page));
};
