/**
 * A bot as clients see it: the catalogue's profile stitched together with the engine's counters, as text.
 *
 * `GET /bots/{id}` is hot, so the profile is serialised once and kept with the cached row; a request only
 * adds what changes by itself. Posted integers go in as their digits, so nothing beyond 2^53 is rounded.
 */
import type { EntityView } from '../../engine/engine.ts';
import type { HotState } from '../../engine/entity/state.ts';
import { presenceFreshMs, presenceOf } from '../../engine/rules/presence.ts';
import type { BotProfile } from '../../storage/catalogue/bots.ts';
import type { Soon } from '../../storage/catalogue/catalogue.ts';
import { type App, ok, type Reply } from '../route.ts';
import type { Bot } from '../schema/bots.ts';
import { teamTargetsOf, teamText } from './teams.ts';
import {
  isPremium,
  notFound,
  soon,
  timestamp,
  timestampOrNull,
  timestampText,
  userOf,
  votesOf,
  wordsOf,
} from './values.ts';

/** A claim lapses when its reviewer did nothing for this long. */
const claimLastsMs = 3_600_000;

/** Fields that change without an edit, or are only there when asked for. */
type Changing =
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

const fixedOf = (profile: BotProfile): Omit<Bot, Changing> => ({
  approval_note: profile.approval_note,
  bot_id: profile.id,
  captcha_opt_out: profile.captcha_opt_out,
  cert_reason: profile.cert_reason,
  client_id: profile.client_id,
  created_at: timestamp(profile.created_at),
  extra_links: [...profile.extra_links],
  invite: profile.invite,
  itag: profile.itag,
  last_claimed: timestampOrNull(profile.last_claimed),
  last_japi_update: timestampOrNull(profile.last_lookup),
  library: profile.library,
  nsfw: profile.nsfw,
  owner: profile.owner_id === null ? null : userOf(profile.owner, { id: profile.owner_id, bot: false }),
  prefix: profile.prefix,
  premium_period_length: profile.premium_period_hours,
  short: profile.short,
  start_premium_period: timestampOrNull(profile.start_premium_period),
  tags: [...profile.tags],
  type: profile.type,
  updated_at: timestamp(profile.updated_at),
  vanity: profile.vanity,
  vanity_ref: profile.vanity_ref,
  vote_banned: profile.vote_banned,
});

/** The serialised profile, up to where the bot's own presence goes. */
export interface BotPieces {
  /** `{…,"user":{…,"status":` */
  readonly head: string;
  readonly claimedBy: string;
  readonly claimedUntilMs: number;
  readonly premiumUntil: Date | null;
}

export const botPieces = (profile: BotProfile): BotPieces => {
  const { status: _, ...user } = userOf(profile.person, { id: profile.id, bot: true });
  const fixed = JSON.stringify(fixedOf(profile)).slice(0, -1);
  return {
    head: `${fixed},"user":${JSON.stringify(user).slice(0, -1)},"status":`,
    claimedBy: JSON.stringify(profile.claimed_by),
    claimedUntilMs: profile.last_claimed === null ? 0 : profile.last_claimed.getTime() + claimLastsMs,
    premiumUntil: profile.premium_until,
  };
};

/** What is added when asked for, each already JSON text; `''` leaves the field out. */
export interface BotExtras {
  readonly long: string;
  readonly teamOwner: string;
}

/** The whole bot as JSON text. Pure. */
export const stitchBot = (
  pieces: BotPieces,
  counted: { state: HotState; nowMs: number },
  extras: BotExtras,
): string => {
  const { state, nowMs } = counted;
  return (
    `${pieces.head}"${presenceOf(state, nowMs)}"},"approximate_votes":${state.flushedVotes}` +
    `,"claimed_by":${nowMs < pieces.claimedUntilMs ? pieces.claimedBy : '""'},"clicks":${state.clicks}` +
    `,"invite_clicks":${state.inviteClicks},"last_stats_post":${timestampText(state.lastStatsPostMs)}` +
    (extras.long === '' ? '' : `,"long":${extras.long}`) +
    `,"premium":${isPremium(pieces.premiumUntil, nowMs)},"servers":${state.servers}` +
    `,"shard_list":[${state.shardList}],"shards":${state.shards}` +
    (extras.teamOwner === '' ? '' : `,"team_owner":${extras.teamOwner}`) +
    `,"total_uptime":${state.totalUptime},"unique_clicks":${state.uniqueClicks},"uptime":${state.uptime}` +
    `,"uptime_last_checked":${timestampText(state.uptimeCheckedMs)},"users":${state.users}` +
    `,"votes":${votesOf(state)}}`
  );
};

/** A bot without `long`, as it was last shown: handed out again until something in it changes. */
interface Shown {
  readonly view: EntityView;
  readonly teamOwner: string;
  /** The next moment at which time alone changes the text. */
  readonly untilMs: number;
  readonly reply: Reply;
}
export interface KeptBot {
  readonly pieces: BotPieces;
  shown: Shown | null;
}

/** A bot with thousands of shards is not kept twice. */
const keptCharactersMax = 8_192;

const kept = new WeakMap<BotProfile, KeptBot>();
/** What is kept with a profile: an edit makes another profile, so nothing here can be from before it. */
export const keptBot = (profile: BotProfile): KeptBot => {
  let known = kept.get(profile);
  if (known === undefined) {
    known = { pieces: botPieces(profile), shown: null };
    kept.set(profile, known);
  }
  return known;
};

/** When a claim lapses, premium ends, or a bot that posts no status is taken for offline. */
const unchangedUntilMs = (
  pieces: BotPieces,
  { state, nowMs }: { state: HotState; nowMs: number },
): number => {
  const turnsMs = [
    pieces.claimedUntilMs,
    pieces.premiumUntil?.getTime() ?? 0,
    state.status === '' ? state.lastStatsPostMs + presenceFreshMs + 1 : 0,
  ];
  return Math.min(...turnsMs.filter((atMs) => atMs > nowMs));
};

/** The reply for this view, maybe an earlier one: the engine gives out one view until a counter changes. */
export const botReply = (
  known: KeptBot,
  counted: { view: EntityView; nowMs: number },
  extras: BotExtras,
): Reply => {
  const { view, nowMs } = counted;
  const { shown, pieces } = known;
  const { long, teamOwner } = extras;
  if (long === '' && shown?.view === view && shown.teamOwner === teamOwner && nowMs < shown.untilMs) {
    return shown.reply;
  }
  const { state } = view;
  const body = stitchBot(pieces, { state, nowMs }, extras);
  if (long !== '' || body.length > keptCharactersMax) return { status: 200, text: body };
  const reply: Reply = { status: 200, text: body, tag: { etag: '' } };
  known.shown = { view, teamOwner, untilMs: unchangedUntilMs(pieces, { state, nowMs }), reply };
  return reply;
};

/** Who looks at an entity's page, and where on it. */
export interface Visit {
  readonly query: { readonly target?: string };
  readonly clientAddress: string;
  readonly head: boolean;
}

/** What to do about a visit once the entity is read. The address goes with the client: it is taken first. */
export const counterOf = (app: App, visit: Visit): ((view: EntityView) => void) => {
  const { target } = visit.query;
  if (visit.head || (target !== 'page' && target !== 'invite')) return () => {};
  if (target === 'invite') return (view) => app.engine.invite(view);
  const { clientAddress } = visit;
  return (view) => app.engine.click(view, clientAddress);
};

export interface BotRequest extends Visit {
  readonly params: { readonly id: string };
  readonly query: { readonly target?: string; readonly include?: string; readonly team_includes?: string };
}

/** `GET /bots/{id}`: no promise when all of it is in memory. Shows the totals before this visit. */
export const showBot = (app: App, request: BotRequest): Soon<Reply> => {
  const targets = teamTargetsOf('team_includes', request.query.team_includes);
  const count = counterOf(app, request);
  return soon(app.catalogue.bots.profile(request.params.id), (profile) => {
    if (profile === null) throw notFound('bot');
    const long = wordsOf(request.query.include).includes('long') ? JSON.stringify(profile.long) : '';
    return soon(profile.team_id === null ? '' : teamText(app, profile.team_id, targets), (teamOwner) =>
      soon(app.engine.read('bot', profile.id), (view) => {
        count(view);
        return botReply(keptBot(profile), { view, nowMs: app.clock.nowMs() }, { long, teamOwner });
      }),
    );
  });
};

/** `GET /bots/{id}/seo`. */
export const showBotSeo = (app: App, word: string): Soon<Reply> =>
  soon(app.catalogue.bots.profile(word), (profile) => {
    if (profile === null) throw notFound('bot');
    const user = userOf(profile.person, { id: profile.id, bot: true });
    return ok({ avatar: user.avatar, id: profile.id, name: user.username, short: profile.short });
  });
