/**
 * What a webhook reports: one accepted vote, a decision that made votes void, what else happens to a listing,
 * and the test button.
 *
 * An event is data for `toWebhookBody`: the body is built from it alone, so equal events give equal bytes,
 * and every attempt of a delivery sends the same body. `id` is not in the body: it travels in the header
 * `webhook-id`.
 */
import { v5 as toUuidV5 } from 'uuid';
import type { EntityKind } from '../../../engine/ids.ts';

/**
 * - `standard`: the event as JSON;
 * - `topgg`: the first webhooks of top.gg (v0), which many receiver libraries accept;
 * - `topgg_v1`: its present ones, with a signature;
 * - `discord`: a message for a webhook of a Discord channel.
 */
export const webhookFormats = ['standard', 'topgg', 'topgg_v1', 'discord'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

export interface EventUser {
  readonly id: string;
  readonly username: string;
  readonly display_name: string;
  /** A URL, or `''`. */
  readonly avatar: string;
}
export interface EventTarget {
  readonly type: EntityKind;
  readonly id: string;
  readonly name: string;
}

/** Timestamps are in RFC 3339 format, UTC, with milliseconds. */
export interface VoteEvent {
  readonly type: 'vote.created';
  /** From `toEventId`. */
  readonly id: string;
  /** When the user voted. */
  readonly timestamp: string;
  readonly data: {
    /** The epoch of the vote log, and the position of the request's first vote in it. */
    readonly epoch: string;
    readonly number: number;
    /** The request's first vote. */
    readonly itag: string;
    /** The itags of all votes of the request, in order of their numbers. */
    readonly vote_ids: readonly string[];
    /** How many votes the request counted for. */
    readonly weight: number;
    readonly upvote: boolean;
    readonly user: EventUser;
    readonly target: EventTarget;
    /** The listing's total once the flush had written this vote. */
    readonly votes: number;
    readonly created_at: string;
    /** When the user may vote again, by the rules at the time of the vote. */
    readonly next_vote_at: string;
    readonly test: false;
  };
}

/** One decision about past votes of a listing, of however many votes. */
export interface VoidedEvent {
  readonly type: 'vote.voided';
  readonly id: string;
  /** When it was decided. */
  readonly timestamp: string;
  readonly data: {
    /** The epoch of the vote log, and the highest number in it of the votes that became void. */
    readonly epoch: string;
    readonly number: number;
    /** `operator`, `redeemed` or `monthly_reset`. */
    readonly reason: string;
    /** How many votes became void. */
    readonly upvotes: number;
    readonly downvotes: number;
    /** The vote, when the decision is about one. */
    readonly vote: {
      readonly itag: string;
      readonly upvote: boolean;
      readonly created_at: string;
      readonly user: EventUser;
    } | null;
    /** For a reset: the votes before this time became void. */
    readonly before: string | null;
    readonly target: EventTarget;
    /** The listing's total after the decision. */
    readonly votes: number;
    readonly test: false;
  };
}

interface EventOfListing<Type extends string, Reported> {
  readonly type: Type;
  readonly id: string;
  /** When it was noticed. */
  readonly timestamp: string;
  readonly data: Reported & { readonly target: EventTarget; readonly test: false };
}

/** A user who asked for a reminder may vote again. */
export type ReadyEvent = EventOfListing<'vote.ready', { readonly user: EventUser }>;
/** The profile was edited: names of the fields that are different now. */
export type UpdatedEvent = EventOfListing<'listing.updated', { readonly fields: readonly string[] }>;
/** Another webhook of the listing was disabled by the server. */
export type DisabledEvent = EventOfListing<
  'webhook.disabled',
  { readonly webhook_id: string; readonly name: string; readonly reason: string }
>;
/** What happens to a listing beside votes. */
export type ListingEvent = ReadyEvent | UpdatedEvent | DisabledEvent;

/** Sent by the test button. */
export interface TestEvent {
  readonly type: 'webhook.test';
  /** A new UUID for each test. */
  readonly id: string;
  /** When the button was pressed. */
  readonly timestamp: string;
  readonly data: {
    readonly webhook_id: string;
    /** Who pressed the button, or the owner when a token of the listing did. */
    readonly user: EventUser;
    readonly target: EventTarget;
    readonly test: true;
  };
}

export type WebhookEvent = VoteEvent | VoidedEvent | ListingEvent | TestEvent;

/** The events that an endpoint may choose. */
export const webhookEvents = [
  'vote.created',
  'vote.voided',
  'vote.ready',
  'listing.updated',
  'webhook.disabled',
] as const;
export type WebhookEventType = (typeof webhookEvents)[number];

/** The id of the event that reports this to this endpoint: a request's first vote, or a decision. */
export const toEventId = (sourceId: string, endpointId: string): string => toUuidV5(sourceId, endpointId);
