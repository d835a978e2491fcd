/**
 * What a webhook reports: one accepted vote, a decision that made votes void, what else happens to a listing,
 * and the test button.
 *
 * An event is data for `toWebhookBody`: the body is built from it alone, so equal events give equal bytes,
 * and every attempt of a delivery sends the same body. `id` is not in the body: it travels in the header
 * `webhook-id`.
 */
import { v5 as toUuidV5 } from 'uuid';
import type {
  ListingUpdated,
  VoteCreated,
  VoteReady,
  VoteRestored,
  VoteVoided,
  WebhookDisabled,
  WebhookTested,
} from '../../client/receive.ts';

/**
 * - `standard`: the event as JSON;
 * - `topgg`: the first webhooks of top.gg (v0), which many receiver libraries accept;
 * - `topgg_v1`: its present ones, with a signature;
 * - `discord`: a message for a webhook of a Discord channel.
 */
export const webhookFormats = ['standard', 'topgg', 'topgg_v1', 'discord'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** As receivers get it (client/receive.ts), and its id: from `toEventId`, or a new UUID for each test. */
type Identified<Event> = Event & { readonly id: string };

export type VoteEvent = Identified<VoteCreated>;
/** One decision about past votes of a listing, of however many votes, or that it was taken back. */
export type VoidedEvent = Identified<VoteVoided | VoteRestored>;
/** What happens to a listing beside votes. */
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

/** The id of the event that reports this to this endpoint: a request's first vote, or a decision. */
export const toEventId = (sourceId: string, endpointId: string): string => toUuidV5(sourceId, endpointId);
