/**
 * Builds the event of a delivery from what SQL has about it.
 *
 * Pure: the same rows give the same event. Used by dispatcher.ts.
 */
import { emptyFacts } from '../../../engine/entity/state.ts';
import { computeWaitEndMs } from '../../../engine/entity/votes.ts';
import type { VoteWindows } from '../../../engine/entity/windows.ts';
import type {
  DeliveredVote,
  DueDelivery,
  LeasedEndpoint,
} from '../../../storage/catalogue/webhooks/queue.ts';
import { toEventId, type VoidedEvent, type VoteEvent, type WebhookEvent } from './event.ts';

/** Builds the event; `null` when SQL no longer has the vote that it reports. */
export const toWebhookEvent = (
  endpoint: LeasedEndpoint,
  delivery: DueDelivery,
  windows: VoteWindows,
): WebhookEvent | null => {
  const { vote, voided } = delivery;
  if (voided !== null && !voided.single) return toVoidedEvent(endpoint, delivery, { voided, vote: null });
  const [itag] = vote?.itags ?? [];
  if (vote === null || itag === undefined) return null;
  if (voided !== null) return toVoidedEvent(endpoint, delivery, { voided, vote: { ...vote, itag } });
  return toVoteEvent(endpoint, delivery, { vote: { ...vote, itag }, windows });
};

interface FirstVote extends DeliveredVote {
  readonly itag: string;
}

const toTarget = ({ kind, targetId, targetName }: LeasedEndpoint) => ({
  type: kind,
  id: targetId,
  name: targetName,
});

const toVoteEvent = (
  endpoint: LeasedEndpoint,
  { number, votes }: DueDelivery,
  { vote, windows }: { vote: FirstVote; windows: VoteWindows },
): VoteEvent => {
  const { itag, itags, upvote, atMs, user } = vote;
  const facts = { ...emptyFacts, premiumUntilMs: endpoint.premiumUntilMs };
  const nextVoteMs = computeWaitEndMs({ facts, votedAtMs: atMs }, atMs, windows);
  const votedAt = new Date(atMs).toISOString();
  return {
    type: 'vote.created',
    id: toEventId(itag, endpoint.id),
    timestamp: votedAt,
    data: {
      epoch: endpoint.epoch,
      number,
      itag,
      vote_ids: itags,
      weight: itags.length,
      upvote,
      user,
      target: toTarget(endpoint),
      votes,
      created_at: votedAt,
      next_vote_at: new Date(nextVoteMs).toISOString(),
      test: false,
    },
  };
};

const toVoidedEvent = (
  endpoint: LeasedEndpoint,
  { number, votes, createdAt }: DueDelivery,
  { voided, vote }: { voided: NonNullable<DueDelivery['voided']>; vote: FirstVote | null },
): VoidedEvent => {
  const { id, reason, upvotes, downvotes, beforeMs } = voided;
  return {
    type: 'vote.voided',
    id: toEventId(id, endpoint.id),
    timestamp: createdAt.toISOString(),
    data: {
      epoch: endpoint.epoch,
      number,
      reason,
      upvotes,
      downvotes,
      vote: vote === null ? null : toVoidedVote(vote),
      before: beforeMs === null ? null : new Date(beforeMs).toISOString(),
      target: toTarget(endpoint),
      votes,
      test: false,
    },
  };
};

const toVoidedVote = ({ itag, upvote, atMs, user }: FirstVote) => ({
  itag,
  upvote,
  created_at: new Date(atMs).toISOString(),
  user,
});
