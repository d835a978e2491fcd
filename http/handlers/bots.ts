/**
 * A bot as clients see it: its text from bot-text.ts, the texts that are handed out again, and the visit that
 * is counted.
 */
import type { EntityView } from '../../engine/engine.ts';
import type { BotProfile } from '../../storage/catalogue/bots/bots.ts';
import type { MaybePromise } from '../../storage/catalogue/catalogue.ts';
import { type App, type Reply, replyOk } from '../route.ts';
import type { TeamTarget } from '../schema/teams.ts';
import {
  type BotExtras,
  type BotParts,
  type BotTemplate,
  buildBotParts,
  buildBotTemplate,
  fillBotTemplate,
  isCurrent,
} from './bot-json.ts';
import { createNotFoundError, splitList, thenMaybe, toUser } from './convert.ts';
import { parseTeamTargets, renderTeam } from './teams.ts';

/** A bot without `long`, as it was last read: handed out again until something in it changes. */
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

/** A bot with thousands of shards is not kept twice. */
const cachedCharactersMax = 8_192;

const cachedBots = new WeakMap<BotProfile, CachedBot>();
/** What is kept with a profile: an edit makes another profile, so nothing here can be from before it. */
export const getCachedBot = (profile: BotProfile): CachedBot => {
  let known = cachedBots.get(profile);
  if (known === undefined) {
    known = { parts: buildBotParts(profile), template: null, rendered: null };
    cachedBots.set(profile, known);
  }
  return known;
};

/** A view at a moment. */
interface TimedView {
  readonly view: EntityView;
  readonly nowMs: number;
  /** This very request moves a counter: nobody will be shown the same text. */
  readonly movesCounter: boolean;
}

const getCurrentTemplate = (known: CachedBot, { view, nowMs }: TimedView, extras: BotExtras): BotTemplate => {
  const { template } = known;
  const counted = { state: view.state, nowMs };
  if (template !== null && isCurrent(template, counted, extras)) return template;
  return buildBotTemplate(known.parts, counted, extras);
};

/** The reply for this view, maybe an earlier one: the engine gives out one view until a counter changes. */
export const renderBotReply = (known: CachedBot, seen: TimedView, extras: BotExtras): Reply => {
  const { view, nowMs } = seen;
  const { rendered } = known;
  const { long, teamOwner } = extras;
  if (
    long === '' &&
    rendered?.view === view &&
    rendered.teamOwner === teamOwner &&
    nowMs < rendered.validUntilMs
  ) {
    return rendered.reply;
  }
  const frame = getCurrentTemplate(known, seen, extras);
  const body = fillBotTemplate(frame, view.state);
  if (long !== '' || body.length > cachedCharactersMax) return { status: 200, text: body };
  known.template = frame;
  if (seen.movesCounter) return { status: 200, text: body };
  const reply: Reply = { status: 200, text: body, tag: { etag: '' } };
  known.rendered = { view, teamOwner, validUntilMs: frame.validUntilMs, reply };
  return reply;
};

/** Who looks at an entity's page, and where on it. */
export interface PageVisit {
  readonly query: { readonly target?: string };
  readonly clientAddress: string;
  readonly head: boolean;
}

/** What a visit counts; `address` is set for a page view. */
export interface VisitCount {
  readonly what: 'nothing' | 'click' | 'invite';
  readonly address: string;
}
const noCount: VisitCount = { what: 'nothing', address: '' };
const inviteCount: VisitCount = { what: 'invite', address: '' };

/** What a visit counts. Ask before waiting for anything: the address goes with the client. */
export const toVisitCount = (visit: PageVisit): VisitCount => {
  const { target } = visit.query;
  if (visit.head || (target !== 'page' && target !== 'invite')) return noCount;
  return target === 'invite' ? inviteCount : { what: 'click', address: visit.clientAddress };
};

/** Counts it, once the entity is read. */
export const countVisit = (app: App, view: EntityView, { what, address }: VisitCount): void => {
  if (what === 'click') app.engine.countClick(view, address);
  else if (what === 'invite') app.engine.countInvite(view);
};

export interface ShowEntityRequest extends PageVisit {
  readonly params: { readonly id: string };
  readonly query: { readonly target?: string; readonly include?: string; readonly team_includes?: string };
}

/** What was asked for, and is kept while something is waited for. */
interface ShowBotOptions {
  readonly count: VisitCount;
  readonly long: boolean;
  readonly targets: readonly TeamTarget[];
}

const showCountedBot = (
  app: App,
  { count, profile }: { readonly count: VisitCount; readonly profile: BotProfile },
  extras: BotExtras,
): MaybePromise<Reply> =>
  thenMaybe(app.engine.read('bot', profile.id), (view) => {
    countVisit(app, view, count);
    const movesCounter = count.what !== 'nothing';
    return renderBotReply(getCachedBot(profile), { view, nowMs: app.clock.nowMs(), movesCounter }, extras);
  });

const noExtras: BotExtras = { long: '', teamOwner: '' };

const showBotProfile = (app: App, asked: ShowBotOptions, profile: BotProfile | null): MaybePromise<Reply> => {
  if (profile === null) throw createNotFoundError('bot');
  const seen = { count: asked.count, profile };
  if (profile.team_id === null && !asked.long) return showCountedBot(app, seen, noExtras);
  const long = asked.long ? JSON.stringify(profile.long) : '';
  return thenMaybe(
    profile.team_id === null ? '' : renderTeam(app, profile.team_id, asked.targets),
    (teamOwner) => showCountedBot(app, seen, { long, teamOwner }),
  );
};

/** `GET /bots/{id}`: no promise when all of it is in memory. Shows the totals before this visit. */
export const showBot = (app: App, request: ShowEntityRequest): MaybePromise<Reply> => {
  const { query } = request;
  const asked: ShowBotOptions = {
    targets: parseTeamTargets('team_includes', query.team_includes),
    count: toVisitCount(request),
    long: splitList(query.include).includes('long'),
  };
  const found = app.catalogue.bots.find(request.params.id);
  if (found instanceof Promise) return found.then((profile) => showBotProfile(app, asked, profile));
  return showBotProfile(app, asked, found);
};

/** `GET /bots/{id}/seo`. */
export const showBotSeo = (app: App, word: string): MaybePromise<Reply> =>
  thenMaybe(app.catalogue.bots.find(word), (profile) => {
    if (profile === null) throw createNotFoundError('bot');
    const user = toUser(profile.person, { id: profile.id, bot: true });
    return replyOk({ avatar: user.avatar, id: profile.id, name: user.username, short: profile.short });
  });
