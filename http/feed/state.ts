/**
 * What the feed knows: targets, clients, and the subscriptions that connect them. Types only; the other files
 * of this folder change them.
 *
 * A subscription remembers what it was sent last, and a target what is newest. Delivering means to send the
 * difference, so nothing waits in a queue per client: a client that was full gets the newest totals once, and
 * votes from the log. All three are bounded (`feedLimits`).
 */
import type { Watch } from '../../engine/engine.ts';
import type { EntityKind, EntityRef } from '../../engine/ids.ts';
import type { Clock } from '../../engine/ports.ts';
import type { PushConnection } from '../server/push-connection.ts';
import type { FeedCounts } from '../telemetry/counts.ts';
import type { Frame } from './frames.ts';

export const feedLimits = {
  targetsPerConnection: 100,
  /** Subscriptions of a node, and its targets. */
  subscriptionsMax: 200_000,
  /** A client that is further behind gets a gap instead of the votes. */
  votesBehindMax: 1_000,
  /** Rows that one read brings. */
  votesPerRead: 100,
  /** Vote messages that a target stores until all its clients have them. */
  recentVotesMax: 256,
  /** Messages, pings and pongs of a connection, and targets that it names, in a window. */
  framesPerWindow: 20,
  namedPerWindow: 500,
  windowMs: 10_000,
  /** A request with an unknown entity counts as this many targets of its address, at most half a window's. */
  chargedMax: 1_000,
  /** Messages of a node that wait for others of their address. */
  messagesWaitingMax: 5_000,
  /** Targets that one request reads at a time: it ends with the first that is unknown. */
  targetsAtOnce: 4,
  heartbeatSeconds: 15,
  /** A target without subscriptions is dropped after this; longer than a request may take. */
  idleMsMax: 15_000,
  /** Clients come back within this after a node has stopped. */
  reconnectMsMax: 5_000,
} as const;

/** The vote log of a target, as far as this node has read it. */
export interface VoteLogState {
  /** Numbers of another epoch must not be compared. */
  epoch: string;
  /** The newest number. */
  head: number;
  /** How often the numbers began again while this target existed. */
  restarts: number;
  /** Messages of votes that all clients of the target may need now, by ascending number without a hole. */
  recent: Frame[];
  /** Number of the first of `recent`. */
  recentFrom: number;
}

export interface FeedTarget {
  readonly kind: EntityKind;
  readonly id: string;
  /** `bot/123` */
  readonly key: string;
  readonly watch: Watch;
  readonly subscriptions: FeedSubscription[];
  /** The listing that its numbers belong to; `null` before the first read. */
  ref: EntityRef | null;
  generation: number;
  version: number;
  /** The numbers of `frame` as JSON text. */
  totals: string;
  /** The newest totals. */
  frame: Frame | null;
  /** How often versions began again. */
  restarts: number;
  /** When its presence status changes without a change of the entity, wall ms; infinite for never. */
  agesAtMs: number;
  /** Counted votes of the newest state. */
  votesCast: number;
  /** `null` until a client wants votes. */
  votes: VoteLogState | null;
  /** The earliest time for the next totals message, monotonic ms. */
  nextFrameMs: number;
  /** It may have changed since it was last read. */
  isDirty: boolean;
  /** The read that is under way. */
  reading: Promise<void> | null;
  /** Whether a change is being sent to its subscriptions; `again`: another one follows. */
  sending: 'no' | 'yes' | 'again';
  /** SQL did not answer: votes are read again after a pause. */
  isRetrying: boolean;
  /** Since when it has no subscription, monotonic ms. */
  idleSinceMs: number;
}

export interface Client {
  readonly connection: PushConnection;
  readonly address: string;
  readonly subscriptions: FeedSubscription[];
  /** The targets of an event stream in its order; a target that is gone is its last cursor. */
  readonly positions: (FeedSubscription | string)[];
  /** The socket takes no more for now. */
  isFull: boolean;
  isClosed: boolean;
  /** Frames received and targets named in the current window, and its start. */
  frames: number;
  named: number;
  windowMs: number;
}

export interface FeedSubscription {
  readonly client: Client;
  readonly target: FeedTarget;
  readonly wantsTotals: boolean;
  readonly wantsVotes: boolean;
  /** Each vote with what its author had done by then. */
  readonly wantsVoter: boolean;
  /** The totals that were sent last. */
  frame: Frame | null;
  /** `restarts` of the target when these totals were sent. */
  restarts: number;
  voteRestarts: number;
  /** The newest vote that was sent, or announced by a gap. */
  number: number;
  /** A read of votes for it is under way. */
  isCatchingUp: boolean;
  /** Position in the target's list, -1 when it has ended. */
  index: number;
}

/** What all files of the feed share. */
export interface FeedState {
  readonly clock: Clock;
  readonly counts: FeedCounts;
  /** Sends the target's news to its subscriptions, a few at a time. */
  readonly announce: (target: FeedTarget) => void;
  /** Reads votes that the subscription lacks. */
  readonly catchUp: (subscription: FeedSubscription) => void;
}
