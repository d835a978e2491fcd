/**
 * Casts and shows votes: the engine decides about new votes, the catalogue has past votes.
 *
 * A read of past votes first waits until the engine has flushed the entity, so that the reply has every
 * acknowledged vote. Whether a user has to wait is known to the engine alone.
 */
import type { VoteOutcome, VoteRequest } from '../../engine/engine.ts';
import type { VoteWindow } from '../../engine/entity/windows.ts';
import { DomainError } from '../../engine/errors.ts';
import type { EntityKind, EntityRef } from '../../engine/ids.ts';
import { perPage } from '../../engine/rules/pages.ts';
import { toWaitParts, toWaitSeconds } from '../../engine/rules/waits.ts';
import type { VoteRow } from '../../storage/catalogue/votes/votes.ts';
import { type App, noContent, type Reply, replyOk } from '../route.ts';
import type { Vote, VoteInfo, VoteStatusReply } from '../schema/votes.ts';
import { awaitFirstChunk } from '../server/stream.ts';
import type { VoteResult } from '../telemetry/directory-meters.ts';
import { toTimestamp, toTimestampOrNull } from './convert.ts';

const hourMs = 3_600_000;
const voteHoursMax = 65_535;
const clockRetrySeconds = 1;

type RefusedVote = Extract<VoteOutcome, { kind: 'refused' }>;

const toVoteError = ({ reason, waitMs }: RefusedVote): DomainError => {
  switch (reason) {
    case 'wait': {
      const { hours, minutes, seconds } = toWaitParts(waitMs);
      return new DomainError(
        'vote_wait',
        `You can vote again in ${hours} h ${minutes} min ${seconds} s.`,
        { hours: String(hours), minutes: String(minutes), seconds: String(seconds) },
        Math.max(1, toWaitSeconds(waitMs)),
      );
    }
    case 'not_listed':
      return new DomainError('not_votable', 'This entity is not listed, so users cannot vote for it.');
    case 'vote_banned':
      return new DomainError('entity_vote_banned', 'This entity is banned from receiving votes.');
    case 'clock_ahead':
    case 'clock_behind':
      return new DomainError(
        'store_unavailable',
        'The clocks of this node and its store differ by seconds, so votes are refused. Try again.',
        { outcome: 'not_applied' },
        clockRetrySeconds,
      );
  }
};

const toVoteReply = (outcome: VoteOutcome): Reply => {
  if (outcome.kind === 'refused') throw toVoteError(outcome);
  return noContent;
};

const toVoteResult = (outcome: VoteOutcome): VoteResult =>
  outcome.kind === 'refused' ? outcome.reason : 'accepted';

const refuseVoter = async (app: App, vote: VoteRequest): Promise<Reply> => {
  await app.engine.read(vote.kind, vote.id);
  app.meters.recordVote(vote.kind, 'voter_banned');
  throw new DomainError('vote_banned', 'You are banned from voting.');
};

/** `PUT …/votes`. *Hot* when it resolves. An unknown entity is reported before a vote ban of the user. */
export const castVote = (app: App, vote: VoteRequest, voterBanned: boolean): Promise<Reply> =>
  voterBanned ? refuseVoter(app, vote) : sendVote(app, vote);

const sendVote = (app: App, vote: VoteRequest): Promise<Reply> =>
  app.engine.vote(vote).then(
    (outcome) => {
      app.meters.recordVote(vote.kind, toVoteResult(outcome));
      if (outcome.kind === 'voted' && app.webhooks.isWatched(vote.kind, vote.id)) {
        app.engine.flushEarly(vote.kind, vote.id);
      }
      return toVoteReply(outcome);
    },
    (error: unknown) => {
      const isUnknown = error instanceof DomainError && error.code === 'not_found';
      if (!isUnknown) app.meters.recordVote(vote.kind, 'failed');
      throw error;
    },
  );

const redeemable: ReadonlySet<EntityKind> = new Set(['bot', 'server']);

/** Builds the VoteInfo of the current vote window. */
export const toVoteInfo = (kind: EntityKind, window: VoteWindow): VoteInfo => ({
  multiple_votes: true,
  per_user: window.perUser,
  supports_downvotes: true,
  supports_partial_vote_credits_redeem: redeemable.has(kind),
  supports_upvotes: true,
  vote_credits: redeemable.has(kind),
  vote_time: Math.min(voteHoursMax, Math.ceil(window.waitMs / hourMs)),
});

const toVote = (row: VoteRow): Vote => ({
  author: row.author,
  created_at: toTimestamp(row.created_at),
  credit_redeem: row.credit_redeem,
  immutable: row.immutable,
  itag: row.itag,
  target_id: row.target_id,
  target_type: row.target_type,
  upvote: row.upvote,
  void: row.void,
  void_reason: row.void_reason,
  vote_num: row.vote_num,
  voided_at: toTimestampOrNull(row.voided_at),
});

/** `GET …/votes`: the vote status of a user on an entity. */
export const showVoteStatus = async (app: App, vote: Omit<VoteRequest, 'upvote'>): Promise<Reply> => {
  const { kind, id, user } = vote;
  const voteStatus = await app.engine.readVoteStatus(kind, id, user);
  await app.engine.waitForFlush(kind, id);
  const votes = await app.catalogue.votes.valid({ user, ref: voteStatus.view.ref });
  return replyOk<VoteStatusReply>({
    has_voted: voteStatus.waitMs > 0,
    valid_votes: votes.map(toVote),
    vote_info: toVoteInfo(kind, voteStatus.window),
    wait: toWaitParts(voteStatus.waitMs),
  });
};

/** Waits until the entity's acknowledged votes are in SQL; returns its reference. May throw `not_found`. */
const readFlushedRef = async (app: App, kind: EntityKind, id: string): Promise<EntityRef> => {
  const { ref } = await app.engine.read(kind, id);
  await app.engine.waitForFlush(kind, id);
  return ref;
};

/** `GET …/votes/@all`. */
export const showVotes = async (
  app: App,
  vote: Omit<VoteRequest, 'upvote'>,
  page: number,
): Promise<Reply> => {
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
export const showVoters = async (
  app: App,
  target: { readonly kind: EntityKind; readonly id: string },
  page: number | null,
): Promise<Reply> => {
  const ref = await readFlushedRef(app, target.kind, target.id);
  if (page === null) {
    return { status: 200, stream: await awaitFirstChunk(renderArray(app.catalogue.votes.eachVoters(ref))) };
  }
  return replyOk(await app.catalogue.votes.voters(ref, page));
};
