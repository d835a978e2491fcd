/**
 * Shows a bot and counts the visit. bot-json.ts renders the JSON; this file caches rendered replies.
 */
import type { EntityView } from '../../../engine/engine.ts';
import type { MaybePromise } from '../../../storage/catalogue/catalogue.ts';
import type { BotProfile } from '../../../storage/catalogue/shared/profiles.ts';
import type { App } from '../../app.ts';
import { requireFound } from '../../response/errors.ts';
import type { Reply } from '../../response/reply.ts';
import { parseTeamTargets, splitList, type TeamTarget, thenMaybe } from '../shared/convert.ts';
import { renderTeam } from '../teams.ts';
import {
  type BotExtras,
  type BotParts,
  type BotTemplate,
  buildBotParts,
  buildBotTemplate,
  fillBotTemplate,
  isCurrent,
} from './bot-json.ts';

/** The last rendered reply of a bot, without `long`: sent again until something in it changes. */
interface RenderedBot {
  readonly view: EntityView;
  readonly teamOwner: string;
  readonly validUntilMs: number;
  readonly reply: Reply;
}

export interface CachedBot {
  readonly parts: BotParts;
  template: BotTemplate | null;
  rendered: RenderedBot | null;
}

/** The longest JSON that is cached: a bot with thousands of shards is rendered each time. */
const cachedBytesMax = 8_192;

const cachedBots = new WeakMap<BotProfile, CachedBot>();

/** Returns the cache entry of a profile. An edit creates another profile object, so no entry is stale. */
export const getCachedBot = (profile: BotProfile): CachedBot => {
  let cached = cachedBots.get(profile);
  if (cached === undefined) {
    cached = { parts: buildBotParts(profile), template: null, rendered: null };
    cachedBots.set(profile, cached);
  }
  return cached;
};

/** A view, and the time at which it is shown. */
interface TimedView {
  readonly view: EntityView;
  readonly nowMs: number;
  /** This request changes a counter, so no later reply has the same text. */
  readonly movesCounter: boolean;
}

const getCurrentTemplate = (cached: CachedBot, { view, nowMs }: TimedView, extras: BotExtras) => {
  const { template } = cached;
  const timedState = { state: view.state, nowMs };
  if (template !== null && isCurrent(template, timedState, extras)) return template;
  return buildBotTemplate(cached.parts, timedState, extras);
};

/** Renders a reply, or returns a cached one: the engine returns the same view until a counter changes. */
export const renderBotReply = (cached: CachedBot, timedView: TimedView, extras: BotExtras): Reply => {
  const { view, nowMs } = timedView;
  const { rendered } = cached;
  const { long, teamOwner } = extras;
  if (
    long === '' &&
    rendered?.view === view &&
    rendered.teamOwner === teamOwner &&
    nowMs < rendered.validUntilMs
  ) {
    return rendered.reply;
  }
  const template = getCurrentTemplate(cached, timedView, extras);
  const bytes = fillBotTemplate(template, view.state);
  if (long !== '' || bytes.length > cachedBytesMax) return { status: 200, text: bytes.toString() };
  cached.template = template;
  if (timedView.movesCounter) return { status: 200, bytes };
  const reply: Reply = { status: 200, text: bytes.toString(), tag: { etag: '' } };
  cached.rendered = { view, teamOwner, validUntilMs: template.validUntilMs, reply };
  return reply;
};

/** The parts of a request that decide whether it counts as a visit. */
export interface PageVisit {
  readonly query: { readonly target?: string };
  readonly clientAddress: string;
  readonly headers: { readonly userAgent: string };
  readonly head: boolean;
}

/** The counter that a visit increments; `address` and `agent` are set for a page view. */
export interface VisitCount {
  readonly what: 'nothing' | 'click' | 'invite';
  readonly address: string;
  readonly agent: string;
}

const noCount: VisitCount = { what: 'nothing', address: '', agent: '' };
const inviteCount: VisitCount = { ...noCount, what: 'invite' };

/**
 * Decides which counter a visit increments. Call it before any `await`: the client's address cannot be read
 * any more once the client has disconnected.
 */
export const toVisitCount = (visit: PageVisit): VisitCount => {
  const { target } = visit.query;
  if (visit.head || (target !== 'page' && target !== 'invite')) return noCount;
  if (target === 'invite') return inviteCount;
  return { what: 'click', address: visit.clientAddress, agent: visit.headers.userAgent };
};

/** Without an invite there is none to follow, so nothing counts. */
export const skipMissingInvite = (count: VisitCount, { invite }: { readonly invite: string }): VisitCount =>
  count.what === 'invite' && invite.trim() === '' ? noCount : count;

/** Counts a visit of an entity that has been read. */
export const countVisit = (app: App, view: EntityView, { what, address, agent }: VisitCount): void => {
  if (what === 'click') {
    app.engine.countClick(view, address);
    app.noteView?.(view.ref.incarnation, address, agent);
    app.counts.clicks += 1;
  } else if (what === 'invite') app.engine.countInvite(view);
};

export interface ShowEntityRequest extends PageVisit {
  readonly params: { readonly id: string };
  readonly query: { readonly target?: string; readonly include?: string; readonly team_includes?: string };
}

/** The options of a request, which are needed after a wait. */
interface ShowBotOptions {
  readonly count: VisitCount;
  readonly long: boolean;
  readonly targets: readonly TeamTarget[];
}

const showCountedBot = (
  app: App,
  { count, profile }: { count: VisitCount; profile: BotProfile },
  extras: BotExtras,
): MaybePromise<Reply> =>
  thenMaybe(app.engine.read('bot', profile.id), (view) => {
    countVisit(app, view, count);
    const movesCounter = count.what !== 'nothing';
    return renderBotReply(getCachedBot(profile), { view, nowMs: app.clock.nowMs(), movesCounter }, extras);
  });

const showBotProfile = (app: App, options: ShowBotOptions, profile: BotProfile) => {
  const counted = { count: skipMissingInvite(options.count, profile), profile };
  const long = options.long ? JSON.stringify(profile.long) : '';
  return thenMaybe(
    profile.team_id === null ? '' : renderTeam(app, profile.team_id, options.targets),
    (teamOwner) => showCountedBot(app, counted, { long, teamOwner }),
  );
};

/** `GET /bots/{id}`: no promise if everything is in memory. The reply shows the totals before this visit. */
export const showBot = (app: App, request: ShowEntityRequest): MaybePromise<Reply> => {
  const { query } = request;
  const options: ShowBotOptions = {
    targets: parseTeamTargets('team_includes', query.team_includes),
    count: toVisitCount(request),
    long: splitList(query.include).includes('long'),
  };
  return thenMaybe(app.catalogue.bots.find(request.params.id), (profile) =>
    showBotProfile(app, options, requireFound(profile, 'bot')),
  );
};
