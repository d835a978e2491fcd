/**
 * The types of requests and replies. Generated from the OpenAPI document by `npm run document`.
 */

/** The reply of an operation that only confirms what it did. */
export interface ApiResponse {
  /** What was done, as a sentence for people. It may change. */
  readonly message: string;
  /** Details for programs, by name; `{}` when there are none. */
  readonly context: Readonly<Record<string, string>>;
}
/** Absent fields keep their value; 0 is a value. Integers are stored exactly. */
export interface StatsBody {
  /** Servers the bot is in, 0 to 18446744073709552000. */
  readonly servers?: number;
  /** Servers of each shard, by shard id; up to 16,384. */
  readonly shard_list?: readonly number[];
  /** Shards the bot runs. */
  readonly shards?: number;
  /** Presence of the bot: `online`, `idle`, `dnd` or `offline`. Kept until the next one. */
  readonly status?: 'online' | 'idle' | 'dnd' | 'offline';
  /** Users the bot serves. */
  readonly users?: number;
}
/** Fields of a shard that are absent keep their value. */
export interface ShardsBody {
  /** How many shards the bot has in all. */
  readonly shard_count: number;
  /** The shards that this process runs, up to 1000. */
  readonly shards: readonly ShardsBodyShard[];
  /** Name of the process or machine that runs these shards. */
  readonly cluster?: string;
}
export interface ShardsBodyShard {
  /** From 0, below `shard_count`; once per post. */
  readonly id: number;
  /** Servers of this shard. */
  readonly servers?: number;
  /** Users of this shard. */
  readonly users?: number;
  /** Presence of this shard; `online` if no post has named one. */
  readonly status?: 'online' | 'idle' | 'dnd' | 'offline';
}
export interface VoteStatus {
  /** Whether the user has to wait before the next vote. */
  readonly has_voted: boolean;
  /** The user's votes that count, newest first. */
  readonly valid_votes: readonly Vote[];
  /** The rules for votes on this entity, as of now. */
  readonly vote_info: VoteInfo;
  /** Time until the user can vote again; all 0 when they can. */
  readonly wait: VoteStatusWait;
}
/** A vote of a user on an entity. */
export interface Vote {
  /** Id of the user who voted. */
  readonly author: string;
  /** When the user voted. */
  readonly created_at: string;
  /** Id of the redeem that used it up; `null`: none did. */
  readonly credit_redeem: string | null;
  /** Whether the monthly reset spares it. The operator decides it. */
  readonly immutable: boolean;
  /** Id of the vote. */
  readonly itag: string;
  /** Id of the entity that was voted on. */
  readonly target_id: string;
  /** `bot`, `server`, `team` or `pack`. */
  readonly target_type: string;
  /** `true` for an upvote, `false` for a downvote. */
  readonly upvote: boolean;
  /** Whether it counts no more: see `void_reason`. */
  readonly void: boolean;
  /** `monthly_reset`, `operator`, `redeemed` or `deleted`; empty for a valid vote. */
  readonly void_reason: string;
  /** Number of the vote within its request, from 0: one request may count for two votes. */
  readonly vote_num: number;
  /** When it became void; `null` for a valid vote. */
  readonly voided_at: string | null;
}
/** The rules for votes on an entity, as of now. */
export interface VoteInfo {
  /** Whether a user may vote again after a wait. */
  readonly multiple_votes: boolean;
  /** How many votes one request counts for: 2 on weekends by default, else 1. */
  readonly per_user: number;
  /** Whether it can be voted down. */
  readonly supports_downvotes: boolean;
  /** Whether some of its votes can be redeemed alone. */
  readonly supports_partial_vote_credits_redeem: boolean;
  /** Whether it can be voted up. */
  readonly supports_upvotes: boolean;
  /** Whether votes can be redeemed as credits. */
  readonly vote_credits: boolean;
  /** How long a user waits between votes, in hours: 4, 6 or 12 by default. */
  readonly vote_time: number;
}
/** Time until the user can vote again; all 0 when they can. */
export interface VoteStatusWait {
  /** Whole hours. */
  readonly hours: number;
  /** Whole minutes beside the hours, 0 to 59. */
  readonly minutes: number;
  /** Seconds beside the minutes, rounded up, 0 to 59. */
  readonly seconds: number;
}
export interface VoteLog {
  /** The votes after the cursor, oldest first. */
  readonly results: readonly VoteLogResult[];
  /** Changes when the log begins again; part of every cursor. */
  readonly epoch: string;
  /** Send it as `after` to continue. */
  readonly next: string;
  /** Cursor of the newest vote. */
  readonly head: string;
  /** Cursor before the first vote. */
  readonly oldest: string;
}
export interface VoteLogResult {
  /** Position in the log of this listing, without holes. */
  readonly number: number;
  /** Id of the vote. */
  readonly itag: string;
  /** Id of the user who voted. */
  readonly author: string;
  /** `true` for an upvote, `false` for a downvote. */
  readonly upvote: boolean;
  /** When the user voted. */
  readonly created_at: string;
  /** Whether the vote has been voided since. */
  readonly void: boolean;
  /** `monthly_reset`, `operator`, `redeemed` or `deleted`; empty unless void. */
  readonly void_reason: string;
}
