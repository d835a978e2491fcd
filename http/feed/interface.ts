/**
 * What handlers see of the feed. Types only, apart from feed.ts so that http/route.ts can name them.
 */
import type { Target } from '../../engine/ids.ts';
import type { OpenPush } from '../server/push-connection.ts';

/** `voter`: votes, each with what its author had done by then. */
export const channels = ['totals', 'votes', 'voter'] as const;
export type Channel = (typeof channels)[number];

/** Entities to follow. `after` has a cursor per target, `null` for the newest vote. */
export interface FeedRequest {
  readonly targets: readonly Target[];
  readonly channels: ReadonlySet<Channel>;
  readonly after: readonly (string | null)[];
  /** True for an event stream that reconnects: targets that are gone by now do not end it. */
  readonly isResumed: boolean;
}

export interface Feed {
  /**
   * Resolves to what takes over the connection of a client at this address. Rejects with `not_found`,
   * `forbidden`, `feed_full`, `draining`, `rate_limited`, or the stores' errors.
   */
  prepare(request: FeedRequest, address: string): Promise<OpenPush>;
  /** Call when votes of these listings have reached SQL: their clients get them at once. */
  wake(incarnations: ReadonlySet<number>): void;
  /** Refuses new connections and ends all; each client is sent a time after which to connect again. */
  leave(): Promise<void>;
}
