/**
 * The text of a bot: the catalogue's profile, serialised once, stitched together with the engine's counters.
 *
 * A page view moves two counters and nothing else, so the text around those two is kept as a *frame* and
 * stitched again only when anything else in it changes, be it by time alone. Posted integers go in as their
 * digits, so nothing beyond 2^53 is rounded. Pure. Used by bots.ts.
 */
import type { HotState } from '../../engine/entity/state.ts';
import { computePresence, presenceFreshMs } from '../../engine/rules/presence.ts';
import type { BotProfile } from '../../storage/catalogue/bots/bots.ts';
import type { Bot } from '../schema/bots.ts';
import {
  computeVotes,
  isPremium,
  renderTimestamp,
  toTimestamp,
  toTimestampOrNull,
  toUser,
} from './convert.ts';

/** A claim lapses when its reviewer did nothing for this long. */
const claimDurationMs = 3_600_000;

/** Fields that change without an edit, or are only there when asked for. */
type VolatileField =
  | 'approximate_votes'
  | 'claimed_by'
  | 'clicks'
  | 'invite_clicks'
  | 'last_stats_post'
  | 'long'
  | 'premium'
  | 'servers'
  | 'shard_list'
  | 'shards'
  | 'team_owner'
  | 'total_uptime'
  | 'unique_clicks'
  | 'uptime'
  | 'uptime_last_checked'
  | 'user'
  | 'users'
  | 'votes';

const toFixedFields = (profile: BotProfile): Omit<Bot, VolatileField> => ({
  approval_note: profile.approval_note,
  bot_id: profile.id,
  captcha_opt_out: profile.captcha_opt_out,
  cert_reason: profile.cert_reason,
  client_id: profile.client_id,
  created_at: toTimestamp(profile.created_at),
  extra_links: [...profile.extra_links],
  invite: profile.invite,
  itag: profile.itag,
  last_claimed: toTimestampOrNull(profile.last_claimed),
  last_japi_update: toTimestampOrNull(profile.last_lookup),
  library: profile.library,
  nsfw: profile.nsfw,
  owner: profile.owner_id === null ? null : toUser(profile.owner, { id: profile.owner_id, bot: false }),
  prefix: profile.prefix,
  premium_period_length: profile.premium_period_hours,
  short: profile.short,
  start_premium_period: toTimestampOrNull(profile.start_premium_period),
  tags: [...profile.tags],
  type: profile.type,
  updated_at: toTimestamp(profile.updated_at),
  vanity: profile.vanity,
  vanity_ref: profile.vanity_ref,
  vote_banned: profile.vote_banned,
});

/** The serialised profile, up to where the bot's own presence goes. */
export interface BotParts {
  /** `{…,"user":{…,"status":` */
  readonly head: string;
  readonly claimedBy: string;
  readonly claimedUntilMs: number;
  readonly premiumUntil: Date | null;
}

export const buildBotParts = (profile: BotProfile): BotParts => {
  const { status: _, ...user } = toUser(profile.person, { id: profile.id, bot: true });
  const fixed = JSON.stringify(toFixedFields(profile)).slice(0, -1);
  return {
    head: [fixed, ',"user":', JSON.stringify(user).slice(0, -1), ',"status":'].join(''),
    claimedBy: JSON.stringify(profile.claimed_by),
    claimedUntilMs: profile.last_claimed === null ? 0 : profile.last_claimed.getTime() + claimDurationMs,
    premiumUntil: profile.premium_until,
  };
};

/** What is added when asked for, each already JSON text; `''` leaves the field out. */
export interface BotExtras {
  readonly long: string;
  readonly teamOwner: string;
}

/** A state at a moment. */
export interface TimedState {
  readonly state: HotState;
  readonly nowMs: number;
}

/**
 * The whole text but for the clicks and the unique clicks, and how long it is good for. Joined, as text that
 * is added up stays a tree of its pieces, which every answer made of it walks through.
 */
export interface BotTemplate {
  readonly before: string;
  readonly between: string;
  readonly after: string;
  readonly state: HotState;
  readonly extras: BotExtras;
  /** The next moment at which time alone changes the text. */
  readonly validUntilMs: number;
}

/** When a claim lapses, premium ends, or a bot that posts no status is taken for offline. */
const computeValidUntilMs = (pieces: BotParts, { state, nowMs }: TimedState): number => {
  const turnsMs = [
    pieces.claimedUntilMs,
    pieces.premiumUntil?.getTime() ?? 0,
    state.status === '' ? state.lastStatsPostMs + presenceFreshMs + 1 : 0,
  ];
  return Math.min(...turnsMs.filter((atMs) => atMs > nowMs));
};

export const buildBotTemplate = (pieces: BotParts, counted: TimedState, extras: BotExtras): BotTemplate => {
  const { state, nowMs } = counted;
  return {
    before: [
      pieces.head,
      `"${computePresence(state, nowMs)}"},"approximate_votes":${state.flushedVotes}`,
      `,"claimed_by":${nowMs < pieces.claimedUntilMs ? pieces.claimedBy : '""'},"clicks":`,
    ].join(''),
    between: [
      `,"invite_clicks":${state.inviteClicks},"last_stats_post":${renderTimestamp(state.lastStatsPostMs)}`,
      extras.long === '' ? '' : `,"long":${extras.long}`,
      `,"premium":${isPremium(pieces.premiumUntil, nowMs)},"servers":${state.servers}`,
      `,"shard_list":[${state.shardList}],"shards":${state.shards}`,
      extras.teamOwner === '' ? '' : `,"team_owner":${extras.teamOwner}`,
      `,"total_uptime":${state.totalUptime},"unique_clicks":`,
    ].join(''),
    after: [
      `,"uptime":${state.uptime},"uptime_last_checked":${renderTimestamp(state.uptimeCheckedMs)}`,
      `,"users":${state.users},"votes":${computeVotes(state)}}`,
    ].join(''),
    state,
    extras,
    validUntilMs: computeValidUntilMs(pieces, counted),
  };
};

/** Whether the frame is what `buildBotTemplate` would make now. */
export const isCurrent = (frame: BotTemplate, { state, nowMs }: TimedState, extras: BotExtras): boolean => {
  const before = frame.state;
  return (
    nowMs < frame.validUntilMs &&
    before.lastStatsPostMs === state.lastStatsPostMs &&
    before.uptimeCheckedMs === state.uptimeCheckedMs &&
    before.uptime === state.uptime &&
    before.totalUptime === state.totalUptime &&
    before.flushedVotes === state.flushedVotes &&
    computeVotes(before) === computeVotes(state) &&
    before.inviteClicks === state.inviteClicks &&
    before.status === state.status &&
    before.servers === state.servers &&
    before.shards === state.shards &&
    before.users === state.users &&
    before.shardList === state.shardList &&
    frame.extras.teamOwner === extras.teamOwner &&
    frame.extras.long === extras.long
  );
};

/** The whole bot as JSON text. */
export const fillBotTemplate = (frame: BotTemplate, state: HotState): string =>
  [frame.before, state.clicks, frame.between, state.uniqueClicks, frame.after].join('');

/** The whole bot as JSON text, made anew. */
export const renderBot = (pieces: BotParts, counted: TimedState, extras: BotExtras): string =>
  fillBotTemplate(buildBotTemplate(pieces, counted, extras), counted.state);
