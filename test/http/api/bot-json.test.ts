/**
 * Compares the rendered JSON of a bot with a plain serialisation of the same object.
 */
import fc from 'fast-check';
import { Errors } from 'typebox/schema';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyFacts, type HotState, presenceStatuses } from '../../../engine/entity/state.ts';
import { computePresence } from '../../../engine/rules/presence.ts';
import {
  type BotExtras,
  type BotParts,
  buildBotParts,
  buildBotTemplate,
  fillBotTemplate,
  type TimedState,
} from '../../../http/api/bots/bot-json.ts';
import { getCachedBot, renderBotReply } from '../../../http/api/bots/bots.ts';
import { Bot } from '../../../http/api/bots/schema.ts';
import { toExactInteger } from '../../../http/api/shared/convert.ts';
import type { BotProfile } from '../../../storage/catalogue/shared/profiles.ts';
import { pluck } from '../../support/pluck.ts';
import { refOf } from '../../support/refs.ts';

const test = suite('a bot in one text');
const nowMs = Date.UTC(2026, 2, 1);
const hourMs = 3_600_000;

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
/** The format `date-time` of the checks begins here. */
const sinceMs = Date.UTC(2000, 0);
const time = fc.date({ min: new Date(sinceMs), max: new Date(nowMs + 40 * hourMs), noInvalidDate: true });
const timeOrNull = fc.option(time, { nil: null });
const counter = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const decimal = fc.bigInt({ min: 0n, max: 18_446_744_073_709_552_000n }).map(String);
const person = fc.option(
  fc.record({
    id: text,
    username: text,
    display_name: text,
    avatar: text,
    bot: fc.boolean(),
    flags: fc.array(text, { maxLength: 3 }),
    extra_data: fc.dictionary(text, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }),
    status: fc.constantFrom(...presenceStatuses),
  }),
  { nil: null },
);
const profiles: fc.Arbitrary<BotProfile> = fc.record({
  id: text,
  vanity: text,
  weightBytes: fc.constant(1),
  approval_note: text,
  captcha_opt_out: fc.boolean(),
  cert_reason: text,
  claimed_by: text,
  client_id: text,
  created_at: time,
  extra_links: fc.array(fc.record({ name: text, value: text }), { maxLength: 2 }),
  invite: text,
  itag: fc.uuid(),
  last_claimed: timeOrNull,
  last_lookup: timeOrNull,
  library: text,
  long: text,
  nsfw: fc.boolean(),
  owner_id: fc.option(text, { nil: null }),
  owner: person,
  person,
  prefix: text,
  premium_period_hours: fc.nat({ max: 10_000 }),
  premium_from: timeOrNull,
  premium_until: timeOrNull,
  short: text,
  start_premium_period: timeOrNull,
  tags: fc.array(text, { maxLength: 5 }),
  team_id: fc.option(text, { nil: null }),
  type: fc.constantFrom('pending', 'approved', 'certified', 'denied'),
  updated_at: time,
  vanity_ref: fc.uuid(),
  vote_banned: fc.boolean(),
});
const states: fc.Arbitrary<HotState> = fc.record({
  clicks: counter,
  uniqueClicks: counter,
  inviteClicks: counter,
  upvotes: counter,
  downvotes: counter,
  servers: decimal,
  shards: decimal,
  users: decimal,
  shardList: fc.array(decimal, { maxLength: 4 }).map((list) => list.join(',')),
  status: fc.constantFrom('' as const, ...presenceStatuses),
  lastStatsPostMs: fc.oneof(fc.constant(0), fc.integer({ min: sinceMs, max: nowMs })),
  uptime: counter,
  totalUptime: counter,
  uptimeCheckedMs: fc.oneof(fc.constant(0), fc.integer({ min: sinceMs, max: nowMs })),
  releasedBeforeMs: fc.constant(0),
  adjustment: fc.constant(0),
  facts: fc.constant(emptyFacts),
  flushedVotes: fc.integer(),
  version: counter,
});

const instant = (atMs: number): string | null => (atMs === 0 ? null : new Date(atMs).toISOString());
const instantOf = (date: Date | null): string | null => (date === null ? null : date.toISOString());
const shown = (known: BotProfile['person'], id: string, bot: boolean) =>
  known ?? {
    id,
    username: id,
    display_name: id,
    avatar: '',
    bot,
    flags: [],
    extra_data: {},
    status: 'offline',
  };

const isWithin = (from: Date | null, until: Date | null): boolean =>
  from !== null && until !== null && nowMs >= from.getTime() && nowMs < until.getTime();

/** The bot as the documents describe it, in simple and slow code. */
const plainBot = (profile: BotProfile, state: HotState) => ({
  approval_note: profile.approval_note,
  approximate_votes: state.flushedVotes,
  bot_id: profile.id,
  captcha_opt_out: profile.captcha_opt_out,
  cert_reason: profile.cert_reason,
  claimed_by:
    profile.last_claimed !== null && nowMs - profile.last_claimed.getTime() < hourMs
      ? profile.claimed_by
      : '',
  clicks: state.clicks,
  client_id: profile.client_id,
  created_at: profile.created_at.toISOString(),
  extra_links: profile.extra_links,
  invite: profile.invite,
  invite_clicks: state.inviteClicks,
  itag: profile.itag,
  last_claimed: instantOf(profile.last_claimed),
  last_japi_update: instantOf(profile.last_lookup),
  last_stats_post: instant(state.lastStatsPostMs),
  library: profile.library,
  long: profile.long,
  nsfw: profile.nsfw,
  owner: profile.owner_id === null ? null : shown(profile.owner, profile.owner_id, false),
  prefix: profile.prefix,
  premium: isWithin(profile.premium_from, profile.premium_until),
  premium_period_length: profile.premium_period_hours,
  servers: toExactInteger(state.servers),
  shard_list: state.shardList === '' ? [] : state.shardList.split(',').map(toExactInteger),
  shards: toExactInteger(state.shards),
  short: profile.short,
  start_premium_period: instantOf(profile.start_premium_period),
  tags: profile.tags,
  team_owner: { id: 'team1' },
  total_uptime: state.totalUptime,
  type: profile.type,
  unique_clicks: state.uniqueClicks,
  updated_at: profile.updated_at.toISOString(),
  uptime: state.uptime,
  uptime_last_checked: instant(state.uptimeCheckedMs),
  user: { ...shown(profile.person, profile.id, true), status: computePresence(state, nowMs) },
  users: toExactInteger(state.users),
  vanity: profile.vanity,
  vanity_ref: profile.vanity_ref,
  vote_banned: profile.vote_banned,
  votes: state.upvotes - state.downvotes,
});

const renderBot = (parts: BotParts, timedState: TimedState, extras: BotExtras): Buffer =>
  fillBotTemplate(buildBotTemplate(parts, timedState, extras), timedState.state);

/** Integers as strings, so that digits beyond 2^53 are compared as well. */
const parseExactly = (json: string): unknown => {
  type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
  const reviver: Reviver = (_key, value, { source }) => (typeof value === 'number' ? source : value);
  return JSON.parse(json, reviver as (key: string, value: unknown) => unknown);
};

test('the rendered text equals JSON.stringify of the whole object, to the digit', () => {
  fc.assert(
    fc.property(profiles, states, (profile, state) => {
      const extras = { long: JSON.stringify(profile.long), teamOwner: '{"id":"team1"}' };
      const stitched = renderBot(buildBotParts(profile), { state, nowMs }, extras);

      assert.equal(parseExactly(String(stitched)), parseExactly(JSON.stringify(plainBot(profile, state))));
    }),
    { numRuns: 300 },
  );
});

test('without extras the rendered bot is exactly what its schema says', () => {
  fc.assert(
    fc.property(profiles, states, (profile, state) => {
      const bot = JSON.parse(
        String(renderBot(buildBotParts(profile), { state, nowMs }, { long: '', teamOwner: '' })),
      );

      assert.not.ok('long' in bot);
      assert.not.ok('team_owner' in bot);
      assert.equal(pluck(Errors(Bot, bot)[1], 'instancePath'), []);
      assert.equal(
        Object.keys(bot).sort(),
        Object.keys(Bot.properties).filter((name) => !['long', 'team_owner'].includes(name)),
      );
    }),
    { numRuns: 100 },
  );
});

test('a cached reply equals a reply that is rendered now', () => {
  const extras = { long: '', teamOwner: '' };
  const ref = refOf('bot', '1', 1);
  const claimed = fc.option(fc.integer({ min: nowMs - 3 * hourMs, max: nowMs }), { nil: null });
  fc.assert(
    fc.property(profiles, states, claimed, fc.boolean(), fc.nat(3), fc.nat(2), (...given) => {
      const [drawn, drawnState, claimedMs, posted, which, off] = given;
      const profile = { ...drawn, last_claimed: claimedMs === null ? null : new Date(claimedMs) };
      const state = { ...drawnState, lastStatsPostMs: posted ? nowMs - hourMs : drawnState.lastStatsPostMs };
      const kept = getCachedBot(profile);
      const view = { ref, state };
      const movesCounter = false;
      const turnsMs = [
        kept.parts.claimedUntilMs,
        profile.premium_from?.getTime() ?? 0,
        profile.premium_until?.getTime() ?? 0,
        state.lastStatsPostMs + 24 * hourMs,
      ];
      const laterMs = Math.max(nowMs, (turnsMs[which] ?? 0) + off - 1);
      const fresh = (atMs: number, now: HotState) =>
        String(renderBot(kept.parts, { state: now, nowMs: atMs }, extras));

      const first = renderBotReply(kept, { view, nowMs, movesCounter }, extras);
      assert.is(first.text, fresh(nowMs, state));
      assert.is(renderBotReply(kept, { view, nowMs, movesCounter }, extras), first, 'handed out again');
      assert.is(
        renderBotReply(kept, { view, nowMs: laterMs, movesCounter }, extras).text,
        fresh(laterMs, state),
      );
      const clicked = { ...state, clicks: 7 };
      const after = renderBotReply(
        kept,
        { view: { ref, state: clicked }, nowMs: laterMs, movesCounter },
        extras,
      );
      assert.is(after.text, fresh(laterMs, clicked));
      const owned = renderBotReply(
        kept,
        { view, nowMs: laterMs, movesCounter },
        { long: '', teamOwner: '{"id":"t"}' },
      );
      assert.match(owned.text ?? '', '"team_owner":{"id":"t"}');
    }),
  );
});

test('after any change or changes, the text equals a text that is rendered now', () => {
  const ref = refOf('bot', '1', 1);
  const extras = { long: '', teamOwner: '' };
  fc.assert(
    fc.property(profiles, fc.tuple(states, states), fc.boolean(), (profile, [state, other], movesCounter) => {
      const kept = getCachedBot(profile);
      const shows = (now: HotState): void => {
        const reply = renderBotReply(kept, { view: { ref, state: now }, nowMs, movesCounter }, extras);
        assert.is(
          reply.text ?? String(reply.bytes),
          String(renderBot(kept.parts, { state: now, nowMs }, extras)),
        );
      };
      for (const [name, value] of Object.entries(other)) {
        shows(state);
        shows({ ...state, [name]: value });
      }
      shows(other);
    }),
    { numRuns: 100 },
  );
});

test.run();
