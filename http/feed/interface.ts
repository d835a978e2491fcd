/**
 * What handlers see of the feed. Types only, apart from feed.ts so that http/route.ts can name them.
 */
import type { Target } from '../../engine/ids.ts';
import type { OpenPush } from '../server/push-connection.ts';

export const channels = ['totals', 'votes'] as const;
export type Channel = (typeof channels)[number];

/** Entities to follow. `after` has a cursor per target, `null` for the newest vote. */
export interface FeedRequest {
  readonly targets: readonly Target[];
  readonly channels: ReadonlySet<Channel>;
  readonly after: readonly (string | null)[];
  /** An event stream that comes back. Targets that are gone by now do not end it. */
  readonly isResumed: boolean;
}

export interface Feed {
  /**
   * Resolves to what takes over the connection of a client at this address. Rejects with `not_found`,
   * `forbidden`, `feed_full`, `draining`, `validation_failed`, or the stores' errors.
   */
  prepare(request: FeedRequest, address: string): Promise<OpenPush>;
  /** Votes of these listings are in SQL. */
  wake(incarnations: ReadonlySet<number>): void;
  /** Refuses new connections and ends all, with a time after which each should connect elsewhere. */
  leave(): Promise<void>;
}
