/**
 * Votes as clients cast and see them: the engine's verdicts in words, past votes from the catalogue.
 *
 * A read of past votes first asks the engine to flush this entity, so that an acknowledged vote is always
 * among them; whether a user has to wait comes from the engine alone.
 */
import type { VoteOutcome, VoteRequest } from '../../engine/engine.ts';
import type { VoteWindow } from '../../engine/entity/windows.ts';
import { DomainError } from '../../engine/errors.ts';
import type { EntityKind, EntityRef } from '../../engine/ids.ts';
import { perPage } from '../../engine/rules/pages.ts';
import { waitPartsOf, waitSecondsOf } from '../../engine/rules/waits.ts';
import type { VoteRow } from '../../storage/catalogue/votes.ts';
import { type App, noContent, ok, type Reply } from '../route.ts';
import type { Standing, Vote, VoteInfo } from '../schema/votes.ts';
import { begun } from '../stream.ts';
import { timestamp, timestampOrNull } from './values.ts';

const hourMs = 3_600_000;
const voteHoursMax = 65_535;
const clockRetrySeconds = 1;

type Refused = Extract<VoteOutcome, { kind: 'refused' }>;

const refusal = ({ reason, waitMs }: Refused): DomainError => {
  switch (reason) {
    case 'wait': {
      const { hours, minutes, seconds } = waitPartsOf(waitMs);
      return new DomainError(
        'vote_wait',
        `You can vote again in ${hours} h ${minutes} min ${seconds} s.`,
        { hours: String(hours), minutes: String(minutes), seconds: String(seconds) },
        Math.max(1, waitSecondsOf(waitMs)),
      );
    }
    case 'not_listed':
      return new DomainError('not_votable', 'This entity is not listed, so it cannot be voted on.');
    case 'vote_banned':
      return new DomainError('entity_vote_banned', 'This entity may not receive votes.');
    case 'clock_ahead':
    case 'clock_behind':
      return new DomainError(
        'store_unavailable',
        'The clocks of this node and its store disagree by seconds, so votes are refused. Try again.',
        { outcome: 'not_applied' },
        clockRetrySeconds,
      );
  }
};

const toVoted = (outcome: VoteOutcome): Reply => {
  if (outcome.kind === 'refused') throw refusal(outcome);
  return noContent;
};

const refuseVoter = async (app: App, vote: VoteRequest): Promise<Reply> => {
  await app.engine.read(vote.kind, vote.id);
  throw new DomainError('vote_banned', 'You may not vote.');
};

/** `PUT …/votes`. Hot when it resolves. An unknown entity comes before a banned voter (order of checks). */
export const castVote = (app: App, vote: VoteRequest, voterBanned: boolean): Promise<Reply> =>
  voterBanned ? refuseVoter(app, vote) : app.engine.vote(vote).then(toVoted);

const redeemable: ReadonlySet<EntityKind> = new Set(['bot', 'server']);

/** VoteInfo of the window in force. */
export const voteInfoOf = (kind: EntityKind, window: VoteWindow): VoteInfo => ({
  multiple_votes: true,
  per_user: window.perUser,
  supports_downvotes: true,
  supports_partial_vote_credits_redeem: redeemable.has(kind),
  supports_upvotes: true,
  vote_credits: redeemable.has(kind),
  vote_time: Math.min(voteHoursMax, Math.ceil(window.waitMs / hourMs)),
});

const voteOf = (row: VoteRow): Vote => ({
  author: row.author,
  created_at: timestamp(row.created_at),
  credit_redeem: row.credit_redeem,
  immutable: row.immutable,
  itag: row.itag,
  target_id: row.target_id,
  target_type: row.target_type,
  upvote: row.upvote,
  void: row.void,
  void_reason: row.void_reason,
  vote_num: row.vote_num,
  voided_at: timestampOrNull(row.voided_at),
});

/** `GET …/votes`: how a user stands with an entity. */
export const showStanding = async (app: App, vote: Omit<VoteRequest, 'upvote'>): Promise<Reply> => {
  const { kind, id, user } = vote;
  const standing = await app.engine.standing(kind, id, user);
  await app.engine.flushed(kind, id);
  const votes = await app.catalogue.votes.valid({ user, ref: standing.view.ref });
  const reply: Standing = {
    has_voted: standing.waitMs > 0,
    valid_votes: votes.map(voteOf),
    vote_info: voteInfoOf(kind, standing.window),
    wait: waitPartsOf(standing.waitMs),
  };
  return ok(reply);
};

/** The entity's reference, with every vote acknowledged so far in the ledger. Rejects with `not_found`. */
const settledRef = async (app: App, kind: EntityKind, id: string): Promise<EntityRef> => {
  const { ref } = await app.engine.read(kind, id);
  await app.engine.flushed(kind, id);
  return ref;
};

/** `GET …/votes/@all`. */
export const showVotes = async (
  app: App,
  vote: Omit<VoteRequest, 'upvote'>,
  page: number,
): Promise<Reply> => {
  const ref = await settledRef(app, vote.kind, vote.id);
  const { count, rows } = await app.catalogue.votes.page({ user: vote.user, ref }, page);
  return ok({ count, per_page: perPage.userVotes, results: rows.map(voteOf) });
};

/** One JSON array in pieces, one piece per step of the list. */
async function* arrayText(steps: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  let separator = '[';
  for await (const step of steps) {
    yield separator + JSON.stringify(step).slice(1, -1);
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

/** `GET …/votes/user-list`: one page, or all of it as a stream when no page is asked for (`null`). */
export const showVoters = async (
  app: App,
  target: { readonly kind: EntityKind; readonly id: string },
  page: number | null,
): Promise<Reply> => {
  const ref = await settledRef(app, target.kind, target.id);
  if (page === null) {
    return { status: 200, stream: await begun(arrayText(app.catalogue.votes.eachVoters(ref))) };
  }
  return ok(await app.catalogue.votes.voters(ref, page));
};
