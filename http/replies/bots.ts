/**
 * A bot as clients see it: its text from bot-text.ts, the texts that are handed out again, and the visit that
 * is counted.
 */
import type { EntityView } from '../../engine/engine.ts';
import type { BotProfile } from '../../storage/catalogue/bots.ts';
import type { Soon } from '../../storage/catalogue/catalogue.ts';
import { type App, ok, type Reply } from '../route.ts';
import type { TeamTarget } from '../schema/teams.ts';
import {
  type BotExtras,
  type BotPieces,
  botPieces,
  type Frame,
  fillFrame,
  frameOf,
  isCurrent,
} from './bot-text.ts';
import { teamTargetsOf, teamText } from './teams.ts';
import { notFound, soon, userOf, wordsOf } from './values.ts';

/** A bot without `long`, as it was last read: handed out again until something in it changes. */
interface Shown {
  readonly view: EntityView;
  readonly teamOwner: string;
  readonly untilMs: number;
  readonly reply: Reply;
}
export interface KeptBot {
  readonly pieces: BotPieces;
  frame: Frame | null;
  shown: Shown | null;
}

/** A bot with thousands of shards is not kept twice. */
const keptCharactersMax = 8_192;

const kept = new WeakMap<BotProfile, KeptBot>();
/** What is kept with a profile: an edit makes another profile, so nothing here can be from before it. */
export const keptBot = (profile: BotProfile): KeptBot => {
  let known = kept.get(profile);
  if (known === undefined) {
    known = { pieces: botPieces(profile), frame: null, shown: null };
    kept.set(profile, known);
  }
  return known;
};

/** A view at a moment. */
interface Seen {
  readonly view: EntityView;
  readonly nowMs: number;
  /** This very request moves a counter: nobody will be shown the same text. */
  readonly counts: boolean;
}

const currentFrame = (known: KeptBot, { view, nowMs }: Seen, extras: BotExtras): Frame => {
  const { frame } = known;
  const counted = { state: view.state, nowMs };
  if (frame !== null && isCurrent(frame, counted, extras)) return frame;
  return frameOf(known.pieces, counted, extras);
};

/** The reply for this view, maybe an earlier one: the engine gives out one view until a counter changes. */
export const botReply = (known: KeptBot, seen: Seen, extras: BotExtras): Reply => {
  const { view, nowMs } = seen;
  const { shown } = known;
  const { long, teamOwner } = extras;
  if (long === '' && shown?.view === view && shown.teamOwner === teamOwner && nowMs < shown.untilMs) {
    return shown.reply;
  }
  const frame = currentFrame(known, seen, extras);
  const body = fillFrame(frame, view.state);
  if (long !== '' || body.length > keptCharactersMax) return { status: 200, text: body };
  known.frame = frame;
  if (seen.counts) return { status: 200, text: body };
  const reply: Reply = { status: 200, text: body, tag: { etag: '' } };
  known.shown = { view, teamOwner, untilMs: frame.untilMs, reply };
  return reply;
};

/** Who looks at an entity's page, and where on it. */
export interface Visit {
  readonly query: { readonly target?: string };
  readonly clientAddress: string;
  readonly head: boolean;
}

/** What a visit counts; `address` is set for a page view. */
export interface Count {
  readonly what: 'nothing' | 'click' | 'invite';
  readonly address: string;
}
const noCount: Count = { what: 'nothing', address: '' };
const inviteCount: Count = { what: 'invite', address: '' };

/** What a visit counts. Ask before waiting for anything: the address goes with the client. */
export const countOf = (visit: Visit): Count => {
  const { target } = visit.query;
  if (visit.head || (target !== 'page' && target !== 'invite')) return noCount;
  return target === 'invite' ? inviteCount : { what: 'click', address: visit.clientAddress };
};

/** Counts it, once the entity is read. */
export const countVisit = (app: App, view: EntityView, { what, address }: Count): void => {
  if (what === 'click') app.engine.click(view, address);
  else if (what === 'invite') app.engine.invite(view);
};

export interface BotRequest extends Visit {
  readonly params: { readonly id: string };
  readonly query: { readonly target?: string; readonly include?: string; readonly team_includes?: string };
}

/** What was asked for, and is kept while something is waited for. */
interface Asked {
  readonly count: Count;
  readonly long: boolean;
  readonly targets: readonly TeamTarget[];
}

const showCounted = (
  app: App,
  { count, profile }: { readonly count: Count; readonly profile: BotProfile },
  extras: BotExtras,
): Soon<Reply> =>
  soon(app.engine.read('bot', profile.id), (view) => {
    countVisit(app, view, count);
    const counts = count.what !== 'nothing';
    return botReply(keptBot(profile), { view, nowMs: app.clock.nowMs(), counts }, extras);
  });

const noExtras: BotExtras = { long: '', teamOwner: '' };

const showProfile = (app: App, asked: Asked, profile: BotProfile | null): Soon<Reply> => {
  if (profile === null) throw notFound('bot');
  const seen = { count: asked.count, profile };
  if (profile.team_id === null && !asked.long) return showCounted(app, seen, noExtras);
  const long = asked.long ? JSON.stringify(profile.long) : '';
  return soon(profile.team_id === null ? '' : teamText(app, profile.team_id, asked.targets), (teamOwner) =>
    showCounted(app, seen, { long, teamOwner }),
  );
};

/** `GET /bots/{id}`: no promise when all of it is in memory. Shows the totals before this visit. */
export const showBot = (app: App, request: BotRequest): Soon<Reply> => {
  const { query } = request;
  const asked: Asked = {
    targets: teamTargetsOf('team_includes', query.team_includes),
    count: countOf(request),
    long: wordsOf(query.include).includes('long'),
  };
  const found = app.catalogue.bots.profile(request.params.id);
  if (found instanceof Promise) return found.then((profile) => showProfile(app, asked, profile));
  return showProfile(app, asked, found);
};

/** `GET /bots/{id}/seo`. */
export const showBotSeo = (app: App, word: string): Soon<Reply> =>
  soon(app.catalogue.bots.profile(word), (profile) => {
    if (profile === null) throw notFound('bot');
    const user = userOf(profile.person, { id: profile.id, bot: true });
    return ok({ avatar: user.avatar, id: profile.id, name: user.username, short: profile.short });
  });
