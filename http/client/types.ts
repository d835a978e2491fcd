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
  /** What the link that led to the vote said as `ref`; empty for nothing. */
  readonly ref: string;
  /** Whether the vote has been voided since. */
  readonly void: boolean;
  /** `monthly_reset`, `operator`, `redeemed` or `deleted`; empty unless void. */
  readonly void_reason: string;
  /** With `voter=1`: what the user had done by this vote; later votes change nothing. */
  readonly voter?: VoteLogResultVoter;
}
/** With `voter=1`: what the user had done by this vote; later votes change nothing. */
export interface VoteLogResultVoter {
  /** How often the user voted: requests, each once, up or down. */
  readonly times: number;
  /** Days (UTC) in a row with a vote, up to today or yesterday; else 0. */
  readonly streak: number;
  /** The most days in a row so far. */
  readonly longest: number;
}
export interface ListSessionsReply {
  /** The sessions of the entity. */
  readonly sessions: readonly Session[];
}
/** What is known about a token, without the token. */
export interface Session {
  /** When the session was created. */
  readonly created_at: string;
  /** When its token stops working. */
  readonly expiry: string;
  /** Id of the session, to revoke it by. */
  readonly id: string;
  /** Name that was given at creation, 1 to 64 characters. */
  readonly name: string;
  /** Ids of the permissions it is limited to; `[]`: unlimited. */
  readonly perm_limits: readonly string[];
  /** Id of the entity that its token acts for. */
  readonly target_id: string;
  /** Kind of that entity: `user`, `bot`, `server` or `team`. */
  readonly target_type: string;
  /** `login` (a user logged in) or `api` (created by `POST …/sessions`). */
  readonly type: string;
}
export interface CreateSessionReply {
  /** Id of the session, to revoke it by. */
  readonly session_id: string;
  /** Id of the entity that the token acts for. */
  readonly target_id: string;
  /** The token. No other reply shows it. */
  readonly token: string;
}
export interface TestTokenReply {
  /** Whether the token is valid now and acts for this entity. */
  readonly authorized: boolean;
  /** Whether the user behind the token is banned. */
  readonly banned: boolean;
  /** Of a valid token: `session_id`, and `perm_limits` (`[]`: unlimited). Else `{}`. */
  readonly data: Readonly<Record<string, string>>;
  /** The `target_id` of the request. */
  readonly id: string;
  /** The `auth_type` of the request. */
  readonly target_type: string;
}
export interface GetLoginUrlReply {
  /** This directory's id at the provider. */
  readonly client_id: string;
  /** Address of the login page. Send the user there. */
  readonly url: string;
  /** Compare it with the state that comes back, then send it with the code. Valid for 10 minutes. */
  readonly state: string;
}
export interface ListBotsReply {
  /** How many results there are on all pages together. */
  readonly count: number;
  /** The most results on one page. */
  readonly per_page: number;
  /** The results of this page; `[]` past the end. */
  readonly results: readonly IndexBot[];
}
/** A bot as lists show it. `GET /bots/{id}` has everything, with live numbers. */
export interface IndexBot {
  /** Upvotes minus downvotes, as last written to the database. */
  readonly approximate_votes: number;
  /** Id of the bot on the platform: 15 to 20 digits. */
  readonly bot_id: string;
  /** Views of its page (`target=page`), at most a few seconds late. */
  readonly clicks: number;
  /** When the bot was added to this directory. */
  readonly created_at: string;
  /** Uses of its invite (`target=invite`), at most a few seconds late. */
  readonly invite_clicks: number;
  /** The library it is written with, 1 to 50 characters. */
  readonly library: string;
  /** Whether it is for adults only. The owner sets it. */
  readonly nsfw: boolean;
  /** Whether it has premium now: users then wait less between votes. */
  readonly premium: boolean;
  /** Servers it is in, as it posted last; 0 to 18446744073709552000. */
  readonly servers: number;
  /** Shards it runs, as it posted last; 0 to 18446744073709552000. */
  readonly shards: number;
  /** Short description, new ones: 30 to 150 characters. */
  readonly short: string;
  /** Tags, new ones: 1 to 5 different ones of 3 to 30 characters. */
  readonly tags: readonly string[];
  /** `pending`, `approved`, `certified` or `denied`. The operator decides it. */
  readonly type: string;
  /** The account of the bot. */
  readonly user: User;
  /** Its short address, as in `/@{code}`: 2 to 32 of `a-z 0-9 - _`. */
  readonly vanity: string;
  /** Id of the vanity code; it stays when the code changes. */
  readonly vanity_ref: string;
  /** Upvotes minus downvotes, at most a few seconds late; may be negative. */
  readonly votes: number;
}
/** A person or the account of a bot. People come from their last login, bots from a look-up. */
export interface User {
  /** Address of the picture; empty if there is none. */
  readonly avatar: string;
  /** Whether this is the account of a bot. */
  readonly bot: boolean;
  /** Name to show; the id while no name is known. */
  readonly display_name: string;
  /** Further facts that the operator imported, by name; usually `{}`. */
  readonly extra_data: Readonly<Record<string, string>>;
  /** Marks that the operator or the platform gave the user; usually `[]`. */
  readonly flags: readonly string[];
  /** Id of the user on the platform. */
  readonly id: string;
  /** `online`, `idle`, `dnd` or `offline`. For a bot: what it posted last, see `POST /bots/stats`. */
  readonly status: string;
  /** Name of the account on the platform; the id while no name is known. */
  readonly username: string;
}
export interface RandomBotsReply {
  /** Up to six listed bots, each equally likely, chosen for this request. */
  readonly bots: readonly IndexBot[];
}
export interface IndexBotsReply {
  /** Certified bots, most votes first; up to nine. */
  readonly certified: readonly IndexBot[];
  /** Bots with the most clicks; up to nine. */
  readonly most_viewed: readonly IndexBot[];
  /** The newest packs; up to twelve. */
  readonly packs: readonly Pack[];
  /** Bots with premium, most votes first; up to nine. */
  readonly premium: readonly IndexBot[];
  /** The newest bots; up to nine. */
  readonly recently_added: readonly IndexBot[];
  /** Bots with the most votes; up to nine. */
  readonly top_voted: readonly IndexBot[];
}
/** A collection of bots and servers that a user made. */
export interface Pack {
  /** Ids of its bots, up to 10, also of those that were deleted since. */
  readonly bot_ids: readonly string[];
  /** Its bots that still exist, in the order of `bot_ids`. */
  readonly bots: readonly IndexBot[];
  /** When the pack was created. */
  readonly created_at: string;
  /** Name of the pack, 3 to 20 characters. */
  readonly name: string;
  /** The user who owns it and may change it. */
  readonly owner: User;
  /** Ids of its servers, up to 10, also of those that were deleted since. */
  readonly server_ids: readonly string[];
  /** Its servers that still exist, in the order of `server_ids`. */
  readonly servers: readonly IndexServer[];
  /** Short description, 10 to 100 characters. */
  readonly short: string;
  /** Tags, new ones: 1 to 5 different ones of 3 to 30 characters. */
  readonly tags: readonly string[];
  /** Its address and id: 3 to 20 of `a-z 0-9 -`. It never changes. */
  readonly url: string;
  /** Whether the operator has banned it from receiving votes. */
  readonly vote_banned: boolean;
  /** Upvotes minus downvotes; may be negative. In lists a few seconds late. */
  readonly votes: number;
}
/** A chat server as lists show it. */
export interface IndexServer {
  /** Upvotes minus downvotes, as last written to the database. */
  readonly approximate_votes: number;
  /** Address of the picture; empty if there is none. */
  readonly avatar: string;
  /** Views of its page (`target=page`). */
  readonly clicks: number;
  /** Uses of its invite (`target=invite`). */
  readonly invite_clicks: number;
  /** Name of the server, 1 to 100 characters. */
  readonly name: string;
  /** Whether it is for adults only. The owner sets it. */
  readonly nsfw: boolean;
  /** Members who are online, as the operator recorded it. */
  readonly online_members: number;
  /** Whether it has premium now: users then wait less between votes. */
  readonly premium: boolean;
  /** Id of the server on the platform: 15 to 20 digits. */
  readonly server_id: string;
  /** Short description, new ones: 30 to 150 characters. */
  readonly short: string;
  /** `public`, `private` or `unlisted`. Only public servers are in lists and can be voted on. */
  readonly state: string;
  /** Tags, new ones: 1 to 5 different ones of 3 to 30 characters. */
  readonly tags: readonly string[];
  /** Members of the server, as the operator recorded it. */
  readonly total_members: number;
  /** `pending`, `approved`, `certified` or `denied`. The operator decides it. */
  readonly type: string;
  /** Its short address, as in `/@{code}`: 2 to 32 of `a-z 0-9 - _`. */
  readonly vanity: string;
  /** Id of the vanity code; it stays when the code changes. */
  readonly vanity_ref: string;
  /** Upvotes minus downvotes; may be negative. */
  readonly votes: number;
}
/** A bot with all that is public about it. Its numbers are live. */
export interface Bot {
  /** The operator's words on the review that approved or denied it; empty until then. */
  readonly approval_note: string;
  /** Upvotes minus downvotes, as last written to the database; `votes` is newer. */
  readonly approximate_votes: number;
  /** Id of the bot on the platform: 15 to 20 digits. */
  readonly bot_id: string;
  /** Whether the owner wants voters to be spared captchas. */
  readonly captcha_opt_out: boolean;
  /** The operator's words on its certification; empty if there are none. */
  readonly cert_reason: string;
  /** The reviewer who looks at it now; empty if there is none. Lapses after an hour. */
  readonly claimed_by: string;
  /** Views of its page: requests with `target=page`. */
  readonly clicks: number;
  /** Id of its application on the platform; often the `bot_id`. */
  readonly client_id: string;
  /** When the bot was added to this directory. */
  readonly created_at: string;
  /** Up to 20 links of the owner. */
  readonly extra_links: readonly ExtraLink[];
  /** An https address that adds the bot to a server. */
  readonly invite: string;
  /** Uses of its invite: requests with `target=invite`. */
  readonly invite_clicks: number;
  /** Id of this listing; a bot that is deleted and added again gets a new one. */
  readonly itag: string;
  /** When a reviewer last claimed it; `null`: never. */
  readonly last_claimed: string | null;
  /** When a look-up of its account last succeeded; `null`: never. */
  readonly last_japi_update: string | null;
  /** When it last posted stats, also if they were the same; `null`: never. */
  readonly last_stats_post: string | null;
  /** The library it is written with, 1 to 50 characters. */
  readonly library: string;
  /** Long description, new ones: 500 to 65,536 characters. Only with `include=long`. */
  readonly long?: string;
  /** Whether it is for adults only. The owner sets it. */
  readonly nsfw: boolean;
  /** The user who owns it; `null` when a team does: see `team_owner`. */
  readonly owner: User | null;
  /** What its commands begin with, new ones: 1 to 10 characters. */
  readonly prefix: string;
  /** Whether it has premium now: users then wait 4 hours between votes. */
  readonly premium: boolean;
  /** Length of the premium period in hours, from `start_premium_period`; 0: none. */
  readonly premium_period_length: number;
  /** Servers it is in, as it posted last; 0 to 18446744073709552000. */
  readonly servers: number;
  /** Servers of each shard, by shard id, as it posted last; up to 16,384. */
  readonly shard_list: readonly number[];
  /** Shards it runs, as it posted last; 0 to 18446744073709552000. */
  readonly shards: number;
  /** Short description, new ones: 30 to 150 characters. */
  readonly short: string;
  /** When the last premium period began; `null`: there was none. */
  readonly start_premium_period: string | null;
  /** Tags, new ones: 1 to 5 different ones of 3 to 30 characters. */
  readonly tags: readonly string[];
  /** The team that owns it; absent when a user does. */
  readonly team_owner?: Team;
  /** Uptime checks since it was listed, one every 5 minutes. */
  readonly total_uptime: number;
  /** `pending`, `approved`, `certified` or `denied`. The operator decides it. */
  readonly type: string;
  /** Visitors of its page, each counted once, up to 1,000,000. */
  readonly unique_clicks: number;
  /** When its profile was last changed. */
  readonly updated_at: string;
  /**
   * Uptime checks that it passed: it had posted stats within 15 minutes, with a status other than
   * `offline`. Divide by `total_uptime`.
   */
  readonly uptime: number;
  /** When its uptime was last checked; `null`: never. */
  readonly uptime_last_checked: string | null;
  /** The account of the bot. `status` is what it posted last. */
  readonly user: User;
  /** Users it serves, as it posted last; 0 to 18446744073709552000. */
  readonly users: number;
  /** Its short address, as in `/@{code}`: 2 to 32 of `a-z 0-9 - _`. */
  readonly vanity: string;
  /** Id of the vanity code; it stays when the code changes. */
  readonly vanity_ref: string;
  /** Whether the operator has banned it from receiving votes. */
  readonly vote_banned: boolean;
  /** Upvotes minus downvotes, as of now; may be negative. */
  readonly votes: number;
}
/** A named link. */
export interface ExtraLink {
  /** What the link is called, 1 to 64 characters. */
  readonly name: string;
  /** An https address of up to 512 characters. */
  readonly value: string;
}
/** The team that owns it; absent when a user does. */
export interface Team {
  /** Upvotes minus downvotes, as last written to the database. */
  readonly approximate_votes: number;
  /** When the team was created. */
  readonly created_at: string;
  /** What belongs to the team, as far as it was requested. */
  readonly entities: TeamEntities;
  /** Up to 20 links of the team. */
  readonly extra_links: readonly ExtraLink[];
  /** Id of the team. */
  readonly id: string;
  /** Name of the team, 3 to 32 characters. */
  readonly name: string;
  /** Whether it is for adults only. */
  readonly nsfw: boolean;
  /** How it came here: `api`, or `operator` for what the operator imported. */
  readonly service: string;
  /** Short description, up to 150 characters; may be empty. */
  readonly short: string;
  /** Up to 5 different tags of 3 to 30 characters. */
  readonly tags: readonly string[];
  /** When its profile was last changed. */
  readonly updated_at: string;
  /** Its short address, as in `/@{code}`: 2 to 32 of `a-z 0-9 - _`. */
  readonly vanity: string;
  /** Id of the vanity code; it stays when the code changes. */
  readonly vanity_ref: string;
  /** Whether the operator has banned it from receiving votes. */
  readonly vote_banned: boolean;
  /** Upvotes minus downvotes, as of now; may be negative. */
  readonly votes: number;
}
/** What belongs to the team, as far as it was requested. */
export interface TeamEntities {
  /** Bots that the team owns; `[]` unless requested. */
  readonly bots: readonly IndexBot[];
  /** Members of the team; `[]` unless requested. */
  readonly members: readonly TeamMember[];
  /** Servers that the team owns; `[]` unless requested. */
  readonly servers: readonly IndexServer[];
  /** The requested kinds: `team_member`, `bot`, `server`. */
  readonly targets: readonly string[];
}
/** A member of a team. `GET /users/{id}/team/{target_id}/perms` has their permissions. */
export interface TeamMember {
  /** When the user joined the team. */
  readonly created_at: string;
  /** Whether the member answers for all data of the team. */
  readonly data_holder: boolean;
  /** Marks that the operator imported; usually `[]`. */
  readonly flags: readonly string[];
  /** Id of this membership; joining again gives a new one. */
  readonly itag: string;
  /** Whether the member may be mentioned in alerts. */
  readonly mentionable: boolean;
  /** How it came here: `api`, or `operator` for what the operator imported. */
  readonly service: string;
  /** Id of the team. */
  readonly team_id: string;
  /** Who the member is. */
  readonly user: User;
}
/** What a search engine or a link preview shows of an entity. */
export interface Seo {
  /** Address of a picture; empty if there is none. */
  readonly avatar: string;
  /** Id of the entity; the url of a pack, the slug of a post. */
  readonly id: string;
  /** Name of the entity, or the title of a post. */
  readonly name: string;
  /** Short description, one or two lines. */
  readonly short: string;
}
export interface GetBotMetaReply {
  /** Address of the picture; empty if it is not known. */
  readonly avatar: string;
  /** Empty when the application has no bot. */
  readonly bot_id: string;
  /** Whether any user may add the bot to a server; also `false` if unknown. */
  readonly bot_public: boolean;
  /** Id of the application, as in the path. */
  readonly client_id: string;
  /** The application's own words about itself; empty if they are not known. */
  readonly description: string;
  /** True if the look-up service failed and the platform's public endpoint answered instead. */
  readonly fallback: boolean;
  /** Why the `lookup` service or the `platform` failed; `bot` if the application has no bot. */
  readonly fetch_errors: Readonly<Record<string, string>>;
  /** Marks that the platform gave the account; usually `[]`. */
  readonly flags: readonly string[];
  /** Servers the bot is in: an estimate of the platform, else as it posted; 0 if unknown. */
  readonly guild_count: number;
  /** The `type` of the bot in this directory; empty if the directory does not have it. */
  readonly list_type: string;
  /** Name of the application; empty if it is not known. */
  readonly name: string;
  /** Tags of the application; `[]` if they are not known. */
  readonly tags: readonly string[];
}
export interface GetShardsReply {
  /** `sharded` while the totals of the bot are the sums of its shards. */
  readonly mode: 'totals' | 'sharded';
  /** 0 in mode `totals`. */
  readonly shard_count: number;
  /** How many shards are live. */
  readonly live: number;
  /** How many shards are stale. */
  readonly stale: number;
  /** How many shards are missing. */
  readonly missing: number;
  /** Shards of another `shard_count`, which count for nothing yet; `null`: none. */
  readonly building: GetShardsReplyBuilding | null;
  /** The shards by id, 1000 per page. */
  readonly shards: readonly GetShardsReplyShard[];
}
export interface GetShardsReplyBuilding {
  /** The number of shards that will be in force. */
  readonly shard_count: number;
  /** How many of them were posted. */
  readonly seen: number;
  /** When the newest of them was posted for the first time. */
  readonly since: string;
}
export interface GetShardsReplyShard {
  /** Id of the shard, from 0. */
  readonly id: number;
  /** Servers of this shard, as posted last. */
  readonly servers: number;
  /** Users of this shard, as posted last. */
  readonly users: number;
  /** `offline` for a missing shard. */
  readonly status: 'online' | 'idle' | 'dnd' | 'offline';
  /** `live`, `stale` (it counts, but has not posted lately), or `missing`. */
  readonly state: 'live' | 'stale' | 'missing';
  /** Name of the process that posted it last; empty if it gave none. */
  readonly cluster: string;
  /** When it was last posted; `null` for a missing shard. */
  readonly last_post: string | null;
}
export interface ListServersReply {
  /** How many results there are on all pages together. */
  readonly count: number;
  /** The most results on one page. */
  readonly per_page: number;
  /** The results of this page; `[]` past the end. */
  readonly results: readonly IndexServer[];
}
/** A chat server with all that is public about it. Its numbers are live. */
export interface Server extends IndexServer {
  /** When the server was added to this directory. */
  readonly created_at: string;
  /** Up to 20 links of the server. */
  readonly extra_links: readonly ExtraLink[];
  /** An https address that leads in; may be empty. */
  readonly invite: string;
  /** Long description, up to 65,536 characters. Only with `include=long`. */
  readonly long?: string;
  /** The team that owns it. */
  readonly team_owner: Team;
  /** Visitors of its page, each counted once, up to 1,000,000. */
  readonly unique_clicks: number;
  /** When its profile was last changed. */
  readonly updated_at: string;
  /** Whether the operator has banned it from receiving votes. */
  readonly vote_banned: boolean;
}
export interface ListTeamPermissionsReply {
  /** All 24 permissions, in the order of menus. */
  readonly perms: readonly TeamPermission[];
}
/** A permission that a member of a team can have. */
export interface TeamPermission {
  /** Heading under which menus show it. */
  readonly category: string;
  /** Whether it can do harm that is hard to undo. */
  readonly dangerous: boolean;
  /** What it allows, as a sentence. */
  readonly desc: string;
  /** Id, as `perms` and `perm_limits` name it. */
  readonly id: string;
  /** Name to show. */
  readonly name: string;
}
export interface CreateTeamReply {
  /** Id of the new team. */
  readonly team_id: string;
}
export interface GetPermissionsReply {
  /** Ids of all permissions that the user has there, in the order of the catalogue. */
  readonly perms: readonly string[];
}
export interface ListPacksReply {
  /** How many results there are on all pages together. */
  readonly count: number;
  /** The most results on one page. */
  readonly per_page: number;
  /** The results of this page; `[]` past the end. */
  readonly results: readonly Pack[];
}
export interface ListUserVotesReply {
  /** How many results there are on all pages together. */
  readonly count: number;
  /** The most results on one page. */
  readonly per_page: number;
  /** The results of this page; `[]` past the end. */
  readonly results: readonly Vote[];
}
export interface GetVoterSummaryReply {
  /** How often the user voted: requests, each once, up or down. */
  readonly times: number;
  /** Days (UTC) in a row with a vote, up to today or yesterday; else 0. */
  readonly streak: number;
  /** The most days in a row so far. */
  readonly longest: number;
  /** The streak ends then, unless the user votes before; `null` without a streak. */
  readonly streak_ends_at: string | null;
  /** Whether there are 2,000 votes or more: older ones are not looked at. */
  readonly truncated: boolean;
}
export interface ListVoterSummariesReply {
  /** How many results there are on all pages together. */
  readonly count: number;
  /** The most results on one page. */
  readonly per_page: number;
  /** The results of this page; `[]` past the end. */
  readonly results: readonly ListVoterSummariesReplyResult[];
}
export interface ListVoterSummariesReplyResult extends GetVoterSummaryReply {
  /** `bot`, `server`, `team` or `pack`. */
  readonly target_type: string;
  /** Id of the entity. */
  readonly target_id: string;
  /** When the user's newest vote was cast. */
  readonly voted_at: string;
}
export interface ListTopVotersReply {
  /** Places on all pages: at most 1,000. */
  readonly count: number;
  /** Places on a full page. */
  readonly per_page: number;
  /** When the order was made; `times`, `streak` and `longest` are of now. */
  readonly updated_at: string;
  /** Most votes first; `[]` past the end. */
  readonly results: readonly ListTopVotersReplyResult[];
}
export interface ListTopVotersReplyResult {
  /** From 1. */
  readonly position: number;
  /** The user who voted. */
  readonly user: User;
  /** Votes of the period that count, up and down. */
  readonly votes: number;
  /** How often the user voted: requests, each once, up or down. */
  readonly times: number;
  /** Days (UTC) in a row with a vote, up to today or yesterday; else 0. */
  readonly streak: number;
  /** The most days in a row so far. */
  readonly longest: number;
}
export interface ListRefsReply {
  /** The first day. */
  readonly since: string;
  /** Most votes first. */
  readonly results: readonly ListRefsReplyResult[];
  /** Votes of these days that are in no result. */
  readonly rest: number;
}
export interface ListRefsReplyResult {
  /** The day, in UTC. */
  readonly day: string;
  /** As the links said; empty for votes without one. */
  readonly ref: string;
  /** Votes that count, up and down. */
  readonly votes: number;
}
export interface ListWebhooksReply {
  /** The webhooks of the entity; up to 5. */
  readonly webhooks: readonly ListWebhooksReplyWebhook[];
}
/** An address that receives the votes of a listing, without its secret. */
export interface ListWebhooksReplyWebhook {
  /** Id of the webhook. */
  readonly id: string;
  /** Name of the webhook, 1 to 64 characters. */
  readonly name: string;
  /** The address that receives the events; without its path when its owner has transferred the bot. */
  readonly url: string;
  /** Which events are sent. */
  readonly events: readonly string[];
  /** `standard`, `topgg`, `topgg_v1` or `discord`: see `POST …/webhooks`. */
  readonly format: string;
  /** `listing`, or `owned` for a webhook for all that a team owns. */
  readonly scope: string;
  /** Whether downvotes are left out. */
  readonly up_only: boolean;
  /** Whether events are written for it: see `disabled_reason`. */
  readonly enabled: boolean;
  /**
   * `""` while enabled, else `owner`, `gone` (the receiver answered 410), `address_refused` (the address
   * is not public), `failing` (every attempt failed for days) or `transferred` (the bot went to another
   * team; votes from before are still sent).
   */
  readonly disabled_reason: string;
  /** When the webhook was created. */
  readonly created_at: string;
  /** When a delivery last succeeded; `null`: never. */
  readonly last_delivered_at: string | null;
  /**
   * When the failures in a row began, without the time in which this server sent nothing; `null`: the
   * last attempt succeeded.
   */
  readonly failing_since: string | null;
  /** Deliveries that wait, up to 10,000. */
  readonly pending: number;
  /** When the first of them is tried; `null`: none is. */
  readonly next_attempt_at: string | null;
  /** The newest attempt; `null`: none yet. */
  readonly last_attempt: ListWebhooksReplyWebhookLastAttempt | null;
  /** The end of the secret, to recognise it by. */
  readonly secret_hint: string;
}
export interface ListWebhooksReplyWebhookLastAttempt {
  /** When it began. */
  readonly at: string;
  /** The HTTP status, 0 without an answer. */
  readonly status: number;
  /** How long the attempt took, in milliseconds. */
  readonly milliseconds: number;
  /**
   * `""` when delivered, else `status`, `redirect`, `timeout`, `address_refused`, `dns`, `tls`,
   * `connection`, `answer_invalid`, `secret_unreadable` or `vote_missing`.
   */
  readonly error: string;
  /** The error as a sentence. */
  readonly detail: string;
  /** The beginning of the answer, at most 512 bytes. */
  readonly response: string;
}
export interface CreateWebhookReply extends ListWebhooksReplyWebhook {
  /** Signs what is sent. It cannot be read again. */
  readonly secret: string;
}
export interface ReplaceWebhookSecretReply {
  /** Signs what is sent. It cannot be read again. */
  readonly secret: string;
}
export interface TestWebhookReply {
  /** Whether the receiver answered 2xx. */
  readonly delivered: boolean;
  /** The HTTP status, 0 without an answer. */
  readonly status: number;
  /** How long the attempt took, in milliseconds. */
  readonly milliseconds: number;
  /**
   * `""` when delivered, else `status`, `redirect`, `timeout`, `address_refused`, `dns`, `tls`,
   * `connection`, `answer_invalid`, `secret_unreadable` or `vote_missing`.
   */
  readonly error: string;
  /** The error as a sentence. */
  readonly detail: string;
  /** The beginning of the answer, at most 512 bytes. */
  readonly response: string;
}
export interface ListWebhookDeliveriesReply {
  /** The deliveries, newest first. */
  readonly results: readonly ListWebhookDeliveriesReplyResult[];
  /** Send it as `after` for older ones; `null` at the end. */
  readonly next: string | null;
}
export interface ListWebhookDeliveriesReplyResult {
  /** The `webhook-id` of its requests; `null` when the vote no longer exists. */
  readonly id: string | null;
  /** The event, as in `events`. */
  readonly type: string;
  /**
   * Number in the vote log of the event's first vote, or of the last one that became void; `null` for
   * other events.
   */
  readonly number: number | null;
  /** The listing that the event is about; `null` when it was deleted. */
  readonly target: ListWebhookDeliveriesReplyResultTarget | null;
  /** `pending`, `delivered`, or `expired`: it is not tried again. */
  readonly state: string;
  /** When the delivery was written. */
  readonly created_at: string;
  /** When it is tried next; `null`: not again, or not while the webhook is disabled. */
  readonly next_attempt_at: string | null;
  /** The newest 16, oldest first. */
  readonly attempts: readonly ListWebhooksReplyWebhookLastAttempt[];
}
export interface ListWebhookDeliveriesReplyResultTarget {
  /** `bot`, `server` or `team`. */
  readonly type: string;
  /** Id of the entity. */
  readonly id: string;
}
export interface ReplayWebhookReply {
  /** How many events are sent again. */
  readonly queued: number;
}
export interface GetBadgeReply {
  /** Version of the format of shields.io. */
  readonly schemaVersion: '1';
  /** Text on the left; may be empty. */
  readonly label: string;
  /** Text on the right. */
  readonly message: string;
  /** Colour of the right side. */
  readonly color: string;
  /** Only with `label_color`. */
  readonly labelColor?: string;
  /** Only when the value is not known; then `message` says why. */
  readonly isError?: boolean;
  /** Seconds for which the badge may be kept. */
  readonly cacheSeconds: number;
}
/** One page of a leaderboard. */
export interface ReadLeaderboardReply {
  /** Places on all pages. */
  readonly count: number;
  /** Places on a full page. */
  readonly per_page: number;
  /** When this edition of the board was made; `null` before the first one. */
  readonly updated_at: string | null;
  /** The places of this page, best first; without those that are no longer listed. */
  readonly results: readonly ReadLeaderboardReplyResult[] | readonly ReadLeaderboardReplyResult[];
}
export interface ReadLeaderboardReplyResult {
  /** From 1, without holes or doubles. */
  readonly position: number;
  /** Places gained since the day before (UTC); `null` if it was not among the first 1,000 then. */
  readonly change: number | null;
  /** What the board counts; beyond 2^53 it is rounded to 53 bits. */
  readonly score: number;
  /** Only on `growth-week`: the score divided by the servers a week ago; else `null`. */
  readonly ratio: number | null;
  /** The bot or server, as lists show it. */
  readonly entity: IndexBot;
}
/** The positions of one bot or server on all leaderboards. */
export interface ReadRankReply {
  /** `bot` or `server`. */
  readonly target_type: string;
  /** Id of the bot or server. */
  readonly target_id: string;
  /** Rank on the board `votes`; `null` without a position there. */
  readonly votes: ReadRankReplyVotes | null;
  /** Rank on the board `votes-last-month`; `null` without a position there. */
  readonly votes_last_month: ReadRankReplyVotes | null;
  /** Rank on the board `votes-ever`; `null` without a position there. */
  readonly votes_ever: ReadRankReplyVotes | null;
  /** Rank on the board `unique-clicks-week`; `null` without a position there. */
  readonly unique_clicks_week: ReadRankReplyVotes | null;
  /** Rank on the board `growth-week`; `null` without a position there. */
  readonly growth_week: ReadRankReplyVotes | null;
  /** Rank on the board `trending`; `null` without a position there. */
  readonly trending: ReadRankReplyVotes | null;
  /** Rank on the board `newcomers`; `null` without a position there. */
  readonly newcomers: ReadRankReplyVotes | null;
  /** Rank on the board `uptime`; `null` without a position there. */
  readonly uptime: ReadRankReplyVotes | null;
}
export interface ReadRankReplyVotes {
  /** Its place on the board, from 1. */
  readonly position: number;
  /** How many listings are on the board. */
  readonly of: number;
  /** Whether the position is that of the board; else it is right within 0.1 % of `of`. */
  readonly exact: boolean;
}
/** Numbers of a listing over time. */
export interface History {
  /** Kind of the listing. */
  readonly target_type: string;
  /** Id of the listing. */
  readonly target_id: string;
  /** Time between two points, such as `5m`, `1h` or `1d`. */
  readonly step: string;
  /** Begin of the range. */
  readonly from: string;
  /** End of the range. */
  readonly to: string;
  /** The time of each point, in UTC. */
  readonly times: readonly string[];
  /** One value per time; `null` where no sample ran, or the listing did not exist. */
  readonly series: HistorySeries;
}
/** One value per time; `null` where no sample ran, or the listing did not exist. */
export interface HistorySeries {
  /** Servers of the bot. */
  readonly servers?: readonly (number | null)[];
  /** Users of the bot. */
  readonly users?: readonly (number | null)[];
  /** Shards of the bot. */
  readonly shards?: readonly (number | null)[];
  /** Presence of the bot: `online`, `idle`, `dnd` or `offline`. */
  readonly status?: readonly (string | null)[];
  /** Page views. */
  readonly clicks?: readonly (number | null)[];
  /** Visitors who viewed the page. */
  readonly unique_clicks?: readonly (number | null)[];
  /** Clicks on the invite. */
  readonly invite_clicks?: readonly (number | null)[];
  /** Upvotes minus downvotes since the last reset. */
  readonly votes?: readonly (number | null)[];
  /** All votes that have a number in the vote log. */
  readonly votes_logged?: readonly (number | null)[];
}
export interface GetVoteMonthsReply {
  /** Months with votes, the newest first. */
  readonly results: readonly GetVoteMonthsReplyResult[];
}
export interface GetVoteMonthsReplyResult {
  /** Year and month, in UTC. */
  readonly month: string;
  /** Votes up that were cast in the month. */
  readonly upvotes: number;
  /** Votes down that were cast in the month. */
  readonly downvotes: number;
  /** Different users who voted. */
  readonly voters: number;
  /** Votes that were redeemed for credits. */
  readonly redeemed: number;
  /** Votes that an operator voided. */
  readonly voided: number;
  /**
   * Place among listings of the same kind by upvotes minus downvotes, without voided votes; `null` until
   * it is known.
   */
  readonly rank: number | null;
}
/** One page of what a search found. */
export interface SearchListingsReply {
  /** How many listings were found. */
  readonly count: number;
  /** `exact`, or `at_least` where there may be more, as where another page follows. */
  readonly count_is: string;
  /** Listings on a full page. */
  readonly per_page: number;
  /**
   * Where nothing has exactly the words: results have another in the place of one of five letters or
   * more.
   */
  readonly instead: SearchListingsReplyInstead | null;
  /** The listings of this page. */
  readonly results: readonly SearchListingsReplyResult[];
}
/** The word that nothing has, and what was sought. */
export interface SearchListingsReplyInstead {
  /** The word of the search. */
  readonly word: string;
  /** The word, one letter apart, that the results have in its place. */
  readonly shown: string;
}
export interface SearchListingsReplyResult {
  /** `bot`, `server`, `team` or `pack`. */
  readonly target_type: string;
  /** Its id; of a pack its url. */
  readonly target_id: string;
  /** Its short address, as in `/@{code}`; empty for a pack. */
  readonly vanity: string;
  /** Its name. */
  readonly name: string;
  /** Address of its picture; may be empty. */
  readonly avatar: string;
  /** Its short description. */
  readonly short: string;
  /** Its tags. */
  readonly tags: readonly string[];
  /** Whether it is for adults only. */
  readonly nsfw: boolean;
  /** Upvotes minus downvotes, at most a few seconds late. */
  readonly votes: number;
  /** Views of its page, at most a few seconds late. */
  readonly clicks: number;
  /** Of bots: servers they are in. */
  readonly servers: number | null;
  /** Of servers: members. */
  readonly total_members: number | null;
  /** When it was added to this directory. */
  readonly created_at: string;
}
/** What a number of votes is worth. */
export interface VoteCreditTier {
  /** Value of one vote, in hundredths. */
  readonly cents: number;
  /** When the operator created the tier. */
  readonly created_at: string;
  /** Id of the tier. */
  readonly id: string;
  /** Order of the tiers of a kind, lowest first. */
  readonly position: number;
  /** Whose votes it is about: `bot` or `server`. */
  readonly target_type: string;
  /** Number of votes in this tier; the last tier takes all further votes. */
  readonly votes: number;
}
export interface GetCreditOverviewReply {
  /** How many redeemable votes fall into each tier; votes redeemed this month fill the tiers first. */
  readonly slab_overview: readonly number[];
  /** The tiers for this kind of entity, by `position`. */
  readonly tiers: readonly VoteCreditTier[];
  /** Value of these votes, in hundredths. */
  readonly total_credits: number;
  /** The rules for votes on this entity, as of now. */
  readonly vote_info: VoteInfo;
  /** Upvotes minus downvotes that were not redeemed; may be negative. */
  readonly votes: number;
}
export interface GetCreditsReply {
  /** What can still be spent, in hundredths. */
  readonly available_credits: number;
  /** Spent in the shop, in hundredths. */
  readonly redeemed_credits: number;
  /** The newest 2,000 redeems, newest first. */
  readonly redeems: readonly VoteRedeem[];
  /** Credits of all redeems together, in hundredths. */
  readonly total_credits: number;
}
/** Votes that were turned into credits at once. */
export interface VoteRedeem {
  /** When the votes were redeemed. */
  readonly created_at: string;
  /** What the votes were worth, in hundredths. */
  readonly credits: number;
  /** Id of the redeem; its votes have it as `credit_redeem`. */
  readonly id: string;
  /** When its credits were spent; `null`: not yet. */
  readonly redeemed_at: string | null;
  /** How much of `credits` was spent in the shop, in hundredths. */
  readonly redeemed_credits: number;
  /** Id of the bot or server. */
  readonly target_id: string;
  /** `bot` or `server`. */
  readonly target_type: string;
}
export interface ListRemindersReply {
  /** All reminders of the user, oldest first; up to 200. */
  readonly reminders: readonly ListRemindersReplyReminder[];
}
export interface ListRemindersReplyReminder {
  /** When the reminder was set. */
  readonly created_at: string;
  /** When a push service last accepted a message of this reminder; `null`: never. */
  readonly last_acked: string | null;
  /** How the entity looks now. */
  readonly resolved: ListRemindersReplyReminderResolved;
  /** Id of the entity to vote for; of a pack its url. */
  readonly target_id: string;
  /** `bot`, `server`, `team` or `pack`. */
  readonly target_type: string;
  /** Id of the user who is reminded. */
  readonly user_id: string;
}
/** How the entity looks now. */
export interface ListRemindersReplyReminderResolved {
  /** Address of its picture; empty if there is none. */
  readonly avatar: string;
  /** Its name. */
  readonly name: string;
}
export interface ListPublicCouponsReply {
  /** Coupons that are public, usable and not expired. */
  readonly items: readonly Coupon[];
}
/** A code that takes something off a price. */
export interface Coupon {
  /** When the operator created it. */
  readonly created_at: string;
  /** The user who created it; `null`: no user did. */
  readonly created_by: User | null;
  /** When it was last changed. */
  readonly last_updated: string;
  /** The kinds of entities it is for: `bot`, `server`. */
  readonly target_types: readonly string[];
  /** The user who last changed it; `null`: no user did. */
  readonly updated_by: User | null;
  /** Always empty: the users who may use a coupon are not shown. */
  readonly allowed_users: readonly string[];
  /** Ids of the items it is for. */
  readonly applicable_items: readonly string[];
  /** What it takes off the price, in hundredths; may be fractional. */
  readonly cents: number;
  /** What a buyer types in. */
  readonly code: string;
  /** How long the coupon can be used after its creation (0: without limit), in hours. */
  readonly expiry: number;
  /** Id of the coupon. */
  readonly id: string;
  /** How often the coupon can be used; 0 means without limit. */
  readonly max_uses: number;
  /** Whether this list shows it: always true here. */
  readonly public: boolean;
  /** What a buyer must fulfil, in the operator's words; usually `[]`. */
  readonly requirements: readonly string[];
  /** How long a user waits before using the coupon again, in hours. */
  readonly reuse_wait_duration: number;
  /** Whether it can be used: always true here. */
  readonly usable: boolean;
}
export interface ListShopItemsReply {
  /** The items, in the order of their creation. */
  readonly items: readonly Item[];
}
/** Something that the shop sells for credits. */
export interface Item {
  /** When the operator created it. */
  readonly created_at: string;
  /** The user who created it; `null`: no user did. */
  readonly created_by: User | null;
  /** When it was last changed. */
  readonly last_updated: string;
  /** The kinds of entities it is for: `bot`, `server`. */
  readonly target_types: readonly string[];
  /** The user who last changed it; `null`: no user did. */
  readonly updated_by: User | null;
  /** Ids of the benefits that it gives. */
  readonly benefits: readonly string[];
  /** Its price, in hundredths; may be fractional. */
  readonly cents: number;
  /** What it is, for buyers. */
  readonly description: string;
  /** How long the item lasts, in hours. */
  readonly duration: number;
  /** Id of the item. */
  readonly id: string;
  /** Name of the item. */
  readonly name: string;
}
export interface ListItemBenefitsReply {
  /** The benefits, in the order of their creation. */
  readonly items: readonly ItemBenefit[];
}
/** Something that an item gives to its buyer. */
export interface ItemBenefit {
  /** When the operator created it. */
  readonly created_at: string;
  /** The user who created it; `null`: no user did. */
  readonly created_by: User | null;
  /** When it was last changed. */
  readonly last_updated: string;
  /** The kinds of entities it is for: `bot`, `server`. */
  readonly target_types: readonly string[];
  /** The user who last changed it; `null`: no user did. */
  readonly updated_by: User | null;
  /** What it gives, for buyers. */
  readonly description: string;
  /** Id of the benefit, as items name it. */
  readonly id: string;
  /** Name of the benefit. */
  readonly name: string;
}
/** A short address, and the entity that has it. */
export interface Vanity {
  /** The vanity code: 2 to 32 of `a-z 0-9 - _`. */
  readonly code: string;
  /** When the entity got its first vanity code. */
  readonly created_at: string;
  /** Id of the vanity code; it stays when the code changes. */
  readonly itag: string;
  /** Id of the entity that has the code. */
  readonly target_id: string;
  /** `bot`, `server` or `team`. */
  readonly target_type: string;
}
export interface GetPositionsReply {
  /** All positions, hidden and closed ones too. */
  readonly positions: readonly GetPositionsReplyPosition[];
  /** Whether applications work as documented: always true. */
  readonly stable: boolean;
}
export interface GetPositionsReplyPosition {
  /** Whether it takes no applications now. */
  readonly closed: boolean;
  /** Hours between two applications of a user. */
  readonly cooldown: number;
  /** True if menus should not show the position. Users can still apply for it. */
  readonly hidden: boolean;
  /** Id of the position. */
  readonly id: string;
  /** What the position is about. */
  readonly info: string;
  /** Name of the position. */
  readonly name: string;
  /** The questions to answer, in their order. */
  readonly questions: readonly GetPositionsReplyPositionQuestion[];
  /** Words that describe the position. */
  readonly tags: readonly string[];
}
export interface GetPositionsReplyPositionQuestion {
  /** Id of the question, by which `answers` names it. */
  readonly id: string;
  /** Explains the question. */
  readonly paragraph: string;
  /** What an empty input field shows. */
  readonly placeholder: string;
  /** The question. */
  readonly question: string;
  /** If true, an answer has at most 4,096 characters; if false, 50 to 10,000. */
  readonly short: boolean;
}
export interface ListApplicationsReply {
  /** The 200 newest applications of the user, newest first. */
  readonly apps: readonly ListApplicationsReplyApp[];
}
export interface ListApplicationsReplyApp {
  /** The answers, by question id. */
  readonly answers: Readonly<Record<string, string>>;
  /** Id of the application. */
  readonly app_id: string;
  /** When it was sent. */
  readonly created_at: string;
  /** Id of the position. */
  readonly position: string;
  /** The questions as they were when the application was sent. */
  readonly questions: readonly GetPositionsReplyPositionQuestion[];
  /** What the reviewer answered; empty until the review. */
  readonly review_feedback: string;
  /** `pending`, `approved` or `denied`. */
  readonly state: string;
  /** The applicant. */
  readonly user: User;
  /** Id of the applicant. */
  readonly user_id: string;
}
export interface ListPostsReply {
  /** The 500 newest published posts, newest first. */
  readonly posts: readonly ListPostsReplyPost[];
}
export interface ListPostsReplyPost {
  /** Who wrote it. */
  readonly author: User;
  /** When it was written. */
  readonly created_at: string;
  /** What it is about, in a sentence or two. */
  readonly description: string;
  /** Always false: drafts are not shown. */
  readonly draft: boolean;
  /** Its address and id: 1 to 64 of `a-z 0-9 - _`. */
  readonly slug: string;
  /** Words that describe the post. */
  readonly tags: readonly string[];
  /** Its title. */
  readonly title: string;
}
export interface GetPostReply extends ListPostsReplyPost {
  /** The whole text, as the author wrote it. */
  readonly content: string;
}
export interface GetPushInfoReply {
  /** The `applicationServerKey` of `PushManager.subscribe`, in base64url. */
  readonly public_key: string;
}
export interface ListNotificationsReply {
  /** The subscriptions, oldest first; up to 20. */
  readonly notifications: readonly ListNotificationsReplyNotification[];
}
export interface ListNotificationsReplyNotification {
  /** The browser that subscribed, from the `User-Agent` of its request. */
  readonly browser_info: ListNotificationsReplyNotificationBrowserInfo;
  /** When the browser subscribed. */
  readonly created_at: string;
  /** Its address at the push service. */
  readonly endpoint: string;
  /** Id of the subscription, to end it by. */
  readonly notif_id: string;
}
/** The browser that subscribed, from the `User-Agent` of its request. */
export interface ListNotificationsReplyNotificationBrowserInfo {
  /** Name of the browser; empty if it is not known. */
  readonly browser: string;
  /** Version of the browser; empty if it is not known. */
  readonly browser_ver: string;
  /** Whether it runs on a phone or tablet. */
  readonly mobile: boolean;
  /** The operating system; empty if it is not known. */
  readonly os: string;
}
/** What each operation replies, by method and path; `null` for nothing. */
export interface Replies {
  readonly 'GET /{target_type}/{target_id}/sessions': ListSessionsReply;
  readonly 'POST /{target_type}/{target_id}/sessions': CreateSessionReply;
  readonly 'DELETE /{target_type}/{target_id}/sessions/{session_id}': ApiResponse;
  readonly 'POST /auth/test': TestTokenReply;
  readonly 'GET /auth/login/chat-oauth2': GetLoginUrlReply;
  readonly 'POST /auth/login/chat-oauth2': CreateSessionReply;
  readonly 'GET /bots/@all': ListBotsReply;
  readonly 'GET /bots/@random': RandomBotsReply;
  readonly 'GET /bots/@index': IndexBotsReply;
  readonly 'GET /bots/{id}': Bot;
  readonly 'DELETE /bots/{id}': null;
  readonly 'GET /bots/{id}/seo': Seo;
  readonly 'POST /bots/stats': ApiResponse;
  readonly 'PUT /bots': null;
  readonly 'GET /bots/{client_id}/meta': GetBotMetaReply;
  readonly 'PATCH /bots/{id}/settings': null;
  readonly 'PATCH /users/{uid}/bots/{bid}/teams': null;
  readonly 'POST /bots/stats/shards': ApiResponse;
  readonly 'GET /bots/{id}/shards': GetShardsReply;
  readonly 'GET /servers/@all': ListServersReply;
  readonly 'GET /servers/{id}': Server;
  readonly 'GET /teams/meta/permissions': ListTeamPermissionsReply;
  readonly 'GET /teams/{id}': Team;
  readonly 'PATCH /teams/{id}': null;
  readonly 'DELETE /teams/{id}': null;
  readonly 'GET /teams/{id}/seo': Seo;
  readonly 'POST /teams': CreateTeamReply;
  readonly 'PUT /teams/{tid}/members': null;
  readonly 'PATCH /teams/{tid}/members/{mid}': null;
  readonly 'DELETE /teams/{tid}/members/{mid}': null;
  readonly 'GET /users/{id}/{target_type}/{target_id}/perms': GetPermissionsReply;
  readonly 'GET /packs/@all': ListPacksReply;
  readonly 'GET /packs/{id}': Pack;
  readonly 'GET /packs/{id}/seo': Seo;
  readonly 'PUT /users/{id}/packs': null;
  readonly 'PATCH /users/{uid}/packs/{id}': null;
  readonly 'DELETE /users/{uid}/packs/{id}': null;
  readonly 'PUT /users/{uid}/{target_type}/{target_id}/votes': null;
  readonly 'GET /users/{uid}/{target_type}/{target_id}/votes': VoteStatus;
  readonly 'GET /users/{uid}/{target_type}/{target_id}/votes/@all': ListUserVotesReply;
  readonly 'GET /{target_type}/{target_id}/votes/user-list': readonly string[];
  readonly 'GET /{target_type}/{target_id}/votes/log': VoteLog;
  readonly 'GET /users/{uid}/{target_type}/{target_id}/votes/summary': GetVoterSummaryReply;
  readonly 'GET /users/{uid}/votes/summary': ListVoterSummariesReply;
  readonly 'GET /{target_type}/{target_id}/votes/top': ListTopVotersReply;
  readonly 'GET /{target_type}/{target_id}/votes/refs': ListRefsReply;
  readonly 'GET /{target_type}/{target_id}/webhooks': ListWebhooksReply;
  readonly 'POST /{target_type}/{target_id}/webhooks': CreateWebhookReply;
  readonly 'PATCH /{target_type}/{target_id}/webhooks/{webhook_id}': null;
  readonly 'DELETE /{target_type}/{target_id}/webhooks/{webhook_id}': null;
  readonly 'POST /{target_type}/{target_id}/webhooks/{webhook_id}/secret': ReplaceWebhookSecretReply;
  readonly 'POST /{target_type}/{target_id}/webhooks/{webhook_id}/test': TestWebhookReply;
  readonly 'GET /{target_type}/{target_id}/webhooks/{webhook_id}/deliveries': ListWebhookDeliveriesReply;
  readonly 'DELETE /{target_type}/{target_id}/webhooks/{webhook_id}/deliveries': null;
  readonly 'POST /{target_type}/{target_id}/webhooks/{webhook_id}/replay': ReplayWebhookReply;
  readonly 'GET /badges/{target_type}/{target_id}/{file}': GetBadgeReply;
  readonly 'GET /leaderboards/{kind}/{board}': ReadLeaderboardReply;
  readonly 'GET /{target_type}/{target_id}/rank': ReadRankReply;
  readonly 'GET /{target_type}/{target_id}/history': History;
  readonly 'GET /{target_type}/{target_id}/votes/months': GetVoteMonthsReply;
  readonly 'GET /feed': null;
  readonly 'GET /search': SearchListingsReply;
  readonly 'GET /votes/credit-tiers': readonly VoteCreditTier[];
  readonly 'GET /{target_type}/{target_id}/votes/credit-tiers': GetCreditOverviewReply;
  readonly 'GET /{target_type}/{target_id}/votes/credits': GetCreditsReply;
  readonly 'POST /{target_type}/{target_id}/votes/credits': ApiResponse;
  readonly 'GET /users/{id}/reminders': ListRemindersReply;
  readonly 'PUT /users/{uid}/{target_type}/{target_id}/reminders': ListRemindersReply;
  readonly 'DELETE /users/{uid}/{target_type}/{target_id}/reminders': null;
  readonly 'GET /shop/public-coupons': ListPublicCouponsReply;
  readonly 'GET /shop/items': ListShopItemsReply;
  readonly 'GET /shop/item-benefits': ListItemBenefitsReply;
  readonly 'GET /vanity/{code}': Vanity;
  readonly 'GET /@{code}': null;
  readonly 'PATCH /{target_type}/{target_id}/vanity': null;
  readonly 'GET /apps/meta': GetPositionsReply;
  readonly 'GET /users/{user_id}/apps': ListApplicationsReply;
  readonly 'POST /users/{user_id}/apps': null;
  readonly 'GET /blogs/@all': ListPostsReply;
  readonly 'GET /blogs/{slug}': GetPostReply;
  readonly 'GET /blogs/{slug}/seo': Seo;
  readonly 'GET /users/notifications/info': GetPushInfoReply;
  readonly 'GET /users/{id}/notifications': ListNotificationsReply;
  readonly 'POST /users/{id}/notifications': null;
  readonly 'DELETE /users/{id}/notification': null;
}
