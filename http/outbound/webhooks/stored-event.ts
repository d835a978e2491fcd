/**
 * What a webhook reports, and how it is built from what SQL has about a delivery.
 *
 * An event is data for `toWebhookBody`: the body is built from it alone, so equal events give equal bytes,
 * and every attempt of a delivery sends the same body. `id` is not in the body: it travels in the header
 * `webhook-id`. Pure: the same rows give the same event.
 */

import { v5 as toUuidV5 } from 'uuid';
import type { VoteWindows } from '../../../engine/entity/items.ts';
import { emptyFacts } from '../../../engine/entity/state.ts';
import { computeWaitEndMs } from '../../../engine/entity/votes.ts';
import { deliveryKinds } from '../../../engine/rules/webhooks.ts';
import type {
  DeliveredVote,
  DeliverySubject,
  DueDelivery,
  VoidedDetails,
} from '../../../storage/catalogue/webhooks/queue.ts';
import type {
  ListingUpdated,
  VoteCreated,
  VoteReady,
  VoteRestored,
  VoteVoided,
  WebhookDisabled,
  WebhookTested,
} from '../../client/receive.ts';

/** Builds the event; `null` when SQL no longer has the listing, or the vote that it reports. */
export const toWebhookEvent = (
  endpointId: string,
  delivery: DueDelivery,
  windows: VoteWindows,
): WebhookEvent | null => {
  const { vote, subject, number, details } = delivery;
  if (subject === null) return null;
  const [itag] = vote?.itags ?? [];
  const first = vote === null || itag === undefined ? null : { ...vote, itag };
  const known = { ...delivery, subject, number: number ?? 0, endpointId };
  if (details === null) return first && toVoteEvent(known, first, windows);
  const { 'vote.voided': voidedKind, 'vote.restored': restoredKind } = deliveryKinds;
  if (delivery.kind !== voidedKind && delivery.kind !== restoredKind) return toListingEvent(known, details);
  const voided = details as VoidedDetails;
  if (voided.single && first === null) return null;
  return toVoidedEvent(known, voided, voided.single ? first : null);
};

/** A delivery of a listing that still exists. */
type KnownDelivery = Omit<DueDelivery, 'number' | 'subject'> & {
  readonly subject: DeliverySubject;
  /** The number of the vote or decision, 0 for an event without one. */
  readonly number: number;
  readonly endpointId: string;
};

interface FirstVote extends DeliveredVote {
  readonly itag: string;
}

const toTarget = ({ kind, id, name }: DeliverySubject) => ({ type: kind, id, name });

const eventTypes = new Map(Object.entries(deliveryKinds).map(([type, kind]) => [kind as number, type]));

/** Returns the type of the event that deliveries of this kind report. */
export const toEventType = (kind: number): string => eventTypes.get(kind) ?? 'unknown';

const toListingEvent = (
  { kind, subject, createdAt, user, endpointId }: KnownDelivery,
  { id, ...reported }: DueDelivery['details'] & object,
): ListingEvent =>
  ({
    type: toEventType(kind),
    id: toEventId(id, endpointId),
    timestamp: createdAt.toISOString(),
    data: { ...reported, ...(user === null ? {} : { user }), target: toTarget(subject), test: false },
  }) as ListingEvent;

/** In formats that do not send them. */
const noFigures = { times: 0, streak: 0, longest: 0 };

const toVoteEvent = (
  { number, votes, subject, endpointId }: KnownDelivery,
  { itag, itags, upvote, atMs, ref, user, voter }: FirstVote,
  windows: VoteWindows,
): VoteEvent => {
  const facts = { ...emptyFacts, premiumUntilMs: subject.premiumUntilMs };
  const nextVoteMs = computeWaitEndMs({ facts, votedAtMs: atMs }, atMs, windows);
  const votedAt = new Date(atMs).toISOString();
  return {
    type: 'vote.created',
    id: toEventId(itag, endpointId),
    timestamp: votedAt,
    data: {
      epoch: subject.epoch,
      number,
      itag,
      vote_ids: itags,
      weight: itags.length,
      upvote,
      ref,
      user,
      voter: voter ?? noFigures,
      target: toTarget(subject),
      votes,
      created_at: votedAt,
      next_vote_at: new Date(nextVoteMs).toISOString(),
      test: false,
    },
  };
};

const toVoidedEvent = (
  { kind, number: place, votes, createdAt, subject, endpointId }: KnownDelivery,
  { id, reason, upvotes, downvotes, beforeMs, number = place }: VoidedDetails,
  vote: FirstVote | null,
): VoidedEvent => ({
  type: kind === deliveryKinds['vote.restored'] ? 'vote.restored' : 'vote.voided',
  id: toEventId(id, endpointId),
  timestamp: createdAt.toISOString(),
  data: {
    epoch: subject.epoch,
    number,
    reason,
    upvotes,
    downvotes,
    vote: vote === null ? null : toVoidedVote(vote),
    before: beforeMs === null ? null : new Date(beforeMs).toISOString(),
    target: toTarget(subject),
    votes,
    test: false,
  },
});

const toVoidedVote = ({ itag, upvote, atMs, user }: FirstVote) => ({
  itag,
  upvote,
  created_at: new Date(atMs).toISOString(),
  user,
});

/**
 * - `standard`: the event as JSON;
 * - `topgg`: the first webhooks of top.gg (v0), which many receiver libraries accept;
 * - `topgg_v1`: the present webhooks of top.gg (v1), with a signature;
 * - `discord`: a message for a webhook of a Discord channel.
 */
export const webhookFormats = ['standard', 'topgg', 'topgg_v1', 'discord'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** An event as receivers get it (client/receive.ts), with its id: from `toEventId`; for a test a new UUID. */
type Identified<Event> = Event & { readonly id: string };

export type VoteEvent = Identified<VoteCreated>;
/** One decision about any number of past votes of a listing, or its reversal. */
export type VoidedEvent = Identified<VoteVoided | VoteRestored>;
/** An event of a listing that is not about votes that were cast. */
export type ListingEvent = Identified<VoteReady | ListingUpdated | WebhookDisabled>;
/** Sent by the test button. */
export type TestEvent = Identified<WebhookTested>;
export type WebhookEvent = VoteEvent | VoidedEvent | ListingEvent | TestEvent;

/** The events that an endpoint may choose. */
export const webhookEvents = [
  'vote.created',
  'vote.voided',
  'vote.restored',
  'vote.ready',
  'listing.updated',
  'webhook.disabled',
] as const;
export type WebhookEventType = (typeof webhookEvents)[number];

/** Derives the id of the event that reports a request's first vote, or a decision, to this endpoint. */
export const toEventId = (sourceId: string, endpointId: string): string => toUuidV5(sourceId, endpointId);
