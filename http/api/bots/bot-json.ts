/**
 * Renders a bot as JSON bytes: the catalogue's profile, serialised once, joined with the engine's counters.
 *
 * A page view changes only two counters. So the text around those two is cached as a *template*, which is
 * built again only when another field changes (some change by time alone). Posted integers are inserted as
 * digits, so none beyond 2^53 is rounded.
 *
 * Each reply writes the digits of the two counters into the same bytes, so a page view neither joins a text
 * nor converts one to bytes. A reply that is not written at once may show the counters of a later one; bytes
 * of another length are a new buffer, so they never mix.
 */
import { Type } from 'typebox';
import { computeVotes, type HotState } from '../../../engine/entity/state.ts';
import { computePresence, presenceFreshMs } from '../../../engine/rules/presence.ts';
import type { Premium } from '../../../storage/catalogue/shared/index-rows.ts';
import type { BotProfile } from '../../../storage/catalogue/shared/profiles.ts';
import { renderTimestamp, showRow, toTimestamp } from '../../response/reply.ts';
import { isPremium, toUser } from '../shared/convert.ts';
import { Bot } from './schema.ts';

/** A counter's digits in the bytes. */
interface Digits {
  at: number;
  length: number;
  value: number;
  /** Integers from `least` to below `limit` have this length. */
  least: number;
  limit: number;
}

const createDigits = (at: number): Digits => ({ at, length: 1, value: 0, least: 0, limit: 10 });

const writeDigits = (bytes: Buffer, { at, length }: Digits, value: number): void => {
  let rest = value;
  for (let index = at + length - 1; index >= at; index--) {
    const digit = rest % 10;
    bytes[index] = 48 + digit;
    rest = (rest - digit) / 10;
  }
};

export class CounterText {
  private bytes: Buffer;
  private readonly first: Digits;
  private readonly second: Digits;

  /** The text around the counters, which are 0 at first. */
  constructor(before: string, between: string, after: string) {
    this.bytes = Buffer.from([before, between, after].join('0'));
    this.first = createDigits(Buffer.byteLength(before));
    this.second = createDigits(this.bytes.length - Buffer.byteLength(after) - 1);
  }

  /** Returns the bytes with these safe integers, valid until the next call. */
  write(first: number, second: number): Buffer {
    if (first !== this.first.value) this.change(this.first, first);
    if (second !== this.second.value) this.change(this.second, second);
    return this.bytes;
  }

  private change(digits: Digits, value: number): void {
    digits.value = value;
    if (value < digits.least || value >= digits.limit) this.resize(digits, String(value).length);
    writeDigits(this.bytes, digits, value);
  }

  private resize(digits: Digits, length: number): void {
    const { bytes, first, second } = this;
    const end = digits.at + digits.length;
    this.bytes = Buffer.concat([bytes.subarray(0, digits.at), Buffer.alloc(length), bytes.subarray(end)]);
    if (digits === first) second.at += length - first.length;
    digits.length = length;
    digits.least = length === 1 ? 0 : 10 ** (length - 1);
    digits.limit = 10 ** length;
  }
}

/** How long a reviewer's claim on a bot lasts. */
const claimDurationMs = 3_600_000;

export const computeClaimEndMs = ({ last_claimed: at }: Pick<BotProfile, 'last_claimed'>): number =>
  at === null ? 0 : at.getTime() + claimDurationMs;

/** Fields that change without an edit, or that are only shown on request. */
const volatileFields = [
  'approximate_votes',
  'claimed_by',
  'clicks',
  'invite_clicks',
  'last_stats_post',
  'long',
  'premium',
  'servers',
  'shard_list',
  'shards',
  'team_owner',
  'total_uptime',
  'unique_clicks',
  'uptime',
  'uptime_last_checked',
  'user',
  'users',
  'votes',
] as const;

const FixedFields = Type.Omit(Bot, volatileFields);

const toFixedFields = (profile: BotProfile) =>
  showRow(FixedFields, profile, {
    bot_id: profile.id,
    last_japi_update: profile.last_lookup && toTimestamp(profile.last_lookup),
    owner: profile.owner_id === null ? null : toUser(profile.owner, { id: profile.owner_id, bot: false }),
    premium_period_length: profile.premium_period_hours,
  });

/** A bot's profile: the JSON of the fields that only an edit changes, and the fields that can expire. */
export interface BotParts {
  /** `{…,"user":{…,"status":` */
  readonly head: string;
  readonly claimedBy: string;
  readonly claimedUntilMs: number;
  readonly premium: Premium;
}

/** Serialises the fields of a profile that only an edit changes. */
export const buildBotParts = (profile: BotProfile): BotParts => {
  const { status: _, ...user } = toUser(profile.person, { id: profile.id, bot: true });
  const fixed = JSON.stringify(toFixedFields(profile)).slice(0, -1);
  return {
    head: [fixed, ',"user":', JSON.stringify(user).slice(0, -1), ',"status":'].join(''),
    claimedBy: JSON.stringify(profile.claimed_by),
    claimedUntilMs: computeClaimEndMs(profile),
    premium: { premium_from: profile.premium_from, premium_until: profile.premium_until },
  };
};

/** Fields that are only shown on request, each as JSON text; `''` leaves the field out. */
export interface BotExtras {
  readonly long: string;
  readonly teamOwner: string;
}

/** A state, and the time at which it is shown. */
export interface TimedState {
  readonly state: HotState;
  readonly nowMs: number;
}

/** The JSON of a bot, into which a reply writes the clicks and unique clicks, and how long it is valid. */
export interface BotTemplate {
  readonly json: CounterText;
  readonly state: HotState;
  readonly extras: BotExtras;
  /** The next time at which the text changes without a change of state. */
  readonly validUntilMs: number;
}

/** The time when the claim expires, premium begins or ends, or a bot without a status counts as offline. */
const computeValidUntilMs = (parts: BotParts, { state, nowMs }: TimedState): number => {
  const changesAtMs = [
    parts.claimedUntilMs,
    parts.premium.premium_from?.getTime() ?? 0,
    parts.premium.premium_until?.getTime() ?? 0,
    state.status === '' ? state.lastStatsPostMs + presenceFreshMs + 1 : 0,
  ];
  return Math.min(...changesAtMs.filter((atMs) => atMs > nowMs));
};

const buildJson = (parts: BotParts, { state, nowMs }: TimedState, extras: BotExtras): CounterText =>
  new CounterText(
    [
      parts.head,
      `"${computePresence(state, nowMs)}"},"approximate_votes":${state.flushedVotes}`,
      `,"claimed_by":${nowMs < parts.claimedUntilMs ? parts.claimedBy : '""'},"clicks":`,
    ].join(''),
    [
      `,"invite_clicks":${state.inviteClicks},"last_stats_post":${renderTimestamp(state.lastStatsPostMs)}`,
      extras.long === '' ? '' : `,"long":${extras.long}`,
      `,"premium":${isPremium(parts.premium, nowMs)},"servers":${state.servers}`,
      `,"shard_list":[${state.shardList}],"shards":${state.shards}`,
      extras.teamOwner === '' ? '' : `,"team_owner":${extras.teamOwner}`,
      `,"total_uptime":${state.totalUptime},"unique_clicks":`,
    ].join(''),
    [
      `,"uptime":${state.uptime},"uptime_last_checked":${renderTimestamp(state.uptimeCheckedMs)}`,
      `,"users":${state.users},"votes":${computeVotes(state)}}`,
    ].join(''),
  );

/** Builds the template for the state at its time. */
export const buildBotTemplate = (
  parts: BotParts,
  timedState: TimedState,
  extras: BotExtras,
): BotTemplate => ({
  json: buildJson(parts, timedState, extras),
  state: timedState.state,
  extras,
  validUntilMs: computeValidUntilMs(parts, timedState),
});

/** Whether `buildBotTemplate` would build an equal template now. */
export const isCurrent = (
  template: BotTemplate,
  { state, nowMs }: TimedState,
  extras: BotExtras,
): boolean => {
  const before = template.state;
  return (
    nowMs < template.validUntilMs &&
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
    template.extras.teamOwner === extras.teamOwner &&
    template.extras.long === extras.long
  );
};

/** Writes the two click counters into a template: the bot as JSON, valid until the next call. */
export const fillBotTemplate = ({ json }: BotTemplate, { clicks, uniqueClicks }: HotState): Buffer =>
  json.write(clicks, uniqueClicks);
