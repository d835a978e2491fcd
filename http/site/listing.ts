/**
 * The page of a bot, server, team or pack: finds what an address names, counts the view, and fills the
 * numbers into the page.
 *
 * A view counts once, as `target=page` does; HEAD, fetchers (fetchers.ts) and what a browser fetches ahead do
 * not count. The text of a bot's or server's page is cached until its profile changes; with the cached
 * profile it is served even while SQL is away.
 */
import { LRUCache } from 'lru-cache';
import type { EntityView } from '../../engine/engine.ts';
import { computeVotes } from '../../engine/entity/state.ts';
import { StorageError } from '../../engine/errors.ts';
import type { Target } from '../../engine/ids.ts';
import { computePresence } from '../../engine/rules/presence.ts';
import { findVanityCodeFault, foldVanityCode } from '../../engine/rules/vanity.ts';
import { buildBound } from '../../engine/tools/cache-bounds.ts';
import type { MaybePromise } from '../../storage/catalogue/catalogue.ts';
import type { ListingProfile } from '../../storage/catalogue/shared/profiles.ts';
import type { TeamProfile } from '../../storage/catalogue/teams/teams.ts';
import { countVisit, toVisitCount, type VisitCount } from '../api/bots/bots.ts';
import { findVotesRank } from '../api/leaderboards.ts';
import { thenMaybe } from '../api/shared/convert.ts';
import type { App } from '../app.ts';
import { findRenderedText } from '../markdown/rendered-texts.ts';
import { createNotFoundError, requireFound } from '../response/errors.ts';
import type { Reply } from '../response/reply.ts';
import { formatNumber } from './entities.ts';
import { isFetcher } from './fetchers.ts';
import { type Listing, renderListing } from './listing-html.ts';
import { describeBot, describePack, describeServer, describeTeam, hasInvite } from './listings.ts';
import { fillTemplate, Html, type PageTemplate, type Site, toTemplate } from './site.ts';

/** The parts of a request that a page needs. */
export interface ListingRequest {
  readonly params: { readonly code: string };
  readonly query: { readonly itag?: string };
  readonly clientAddress: string;
  readonly headers: { readonly userAgent: string };
  readonly head: boolean;
  readonly isPrefetch: boolean;
}

type Profile = { readonly id: string; readonly vanity: string };
type NamedKind = 'bot' | 'server' | 'team';
/** A page whose text is current while these are the profile and team, and until `untilMs`. */
interface KeptPage {
  readonly profile: object;
  readonly team: object | null;
  readonly untilMs: number;
  readonly template: PageTemplate;
}

const keptCharactersMax = 16 * 1024 * 1024;
const keptCodesMax = 100_000;

/** Creates a search by code or id: at first in SQL, then in the profiles of the kind that had the code. */
const createResolver = () => {
  const kinds = new LRUCache<string, NamedKind>(buildBound(keptCodesMax));
  const findProfile = (app: App, kind: NamedKind, name: string): MaybePromise<Profile | null> =>
    app.catalogue[`${kind}s`].find(name);
  const search = async (app: App, code: string): Promise<Target | null> => {
    const row = await app.catalogue.vanity.findByCode(code);
    if (row !== null) {
      kinds.set(code, row.target_type);
      return { kind: row.target_type, id: row.target_id };
    }
    const {
      packs: [pack],
    } = await app.catalogue.packs.find(code);
    return pack === undefined ? null : { kind: 'pack', id: pack.url };
  };
  return (app: App, code: string): MaybePromise<Target | null> => {
    const kind = kinds.get(code);
    if (kind === undefined) return search(app, code);
    return thenMaybe(findProfile(app, kind, code), (profile) => {
      // Another entity may have the code by now, unless this one still has it, or an id was given.
      const folded = foldVanityCode(code);
      const isOwn = profile?.vanity === folded || (profile && findVanityCodeFault(folded) !== null);
      return profile && isOwn ? { kind, id: profile.id } : search(app, code);
    });
  };
};

/** Renders a time as people read it; a script of the page makes it relative. */
const renderTime = (atMs: number): string => {
  if (atMs === 0) return 'never';
  const iso = new Date(atMs).toISOString();
  return `<time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>`;
};

/** Formats the share of passed checks, rounded down to a tenth of a percent. */
const formatUptime = (uptime: number, total: number): string =>
  total === 0 ? 'no data yet' : `${Math.floor((uptime * 1_000) / total) / 10} %`;

const formatRank = (app: App, view: EntityView): string => {
  const rank = findVotesRank(app, view);
  if (rank === null) return '';
  return `Rank ${rank.exact ? '' : 'about '}${formatNumber(rank.position)} of ${formatNumber(rank.of)}`;
};

const readValues = (app: App, view: EntityView): Readonly<Record<string, string>> => {
  const { state } = view;
  const counted = {
    votes: formatNumber(computeVotes(state)),
    rank: formatRank(app, view),
    clicks: formatNumber(state.clicks),
    unique_clicks: formatNumber(state.uniqueClicks),
    invite_clicks: formatNumber(state.inviteClicks),
  };
  if (view.ref.kind !== 'bot') return counted;
  return {
    ...counted,
    servers: formatNumber(state.servers),
    users: formatNumber(state.users),
    shards: formatNumber(state.shards),
    uptime: formatUptime(state.uptime, state.totalUptime),
    last_post: renderTime(state.lastStatsPostMs),
    status: computePresence(state, app.clock.nowMs()),
  };
};

interface PageContext {
  readonly site: Site;
  readonly resolve: ReturnType<typeof createResolver>;
  readonly kept: LRUCache<string, KeptPage>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Reads the numbers of an entity, counts the view, and fills them in. */
const fill = (
  { headers }: PageContext,
  app: App,
  { kind, id, count, template }: Target & { readonly count: VisitCount; readonly template: PageTemplate },
): MaybePromise<Reply> =>
  thenMaybe(app.engine.read(kind, id), (view) => {
    if (kind === 'bot' || kind === 'server') countVisit(app, view, count);
    return { status: 200, text: fillTemplate(template, readValues(app, view)), headers };
  });

type ShowKind = (pages: PageContext, app: App, shown: ShownTarget) => MaybePromise<Reply>;
type ShownTarget = Target & { readonly count: VisitCount };

const findAbout = (long: string): MaybePromise<Pick<Listing, 'about' | 'isAboutCut'>> => {
  if (long.trim() === '') return { about: null, isAboutCut: false };
  return thenMaybe(findRenderedText(long), ({ html, isCut }) => ({
    about: new Html(html),
    isAboutCut: isCut,
  }));
};

/** Creates the function that shows bots or servers; it caches the texts of their pages. */
const createShow =
  <Profile extends ListingProfile & { readonly team_id: string | null }>(
    kind: 'bot' | 'server',
    find: (app: App, id: string) => MaybePromise<Profile | null>,
    describe: (profile: Profile, team: TeamProfile | null, nowMs: number) => ReturnType<typeof describeBot>,
  ): ShowKind =>
  (pages, app, target) =>
    thenMaybe(find(app, target.id), (found) => {
      const profile = requireFound(found, kind);
      return thenMaybe(profile.team_id && app.catalogue.teams.find(profile.team_id), (owner) => {
        const [team, nowMs, key] = [owner || null, app.clock.nowMs(), `${kind} ${profile.id}`];
        const page = pages.kept.get(key);
        if (page?.profile === profile && page.team === team && nowMs < page.untilMs)
          return fill(pages, app, { ...target, template: page.template });
        return thenMaybe(findAbout(profile.long), (about) => {
          const { listing, untilMs } = describe(profile, team, nowMs);
          const template = toTemplate(renderListing(pages.site, { ...listing, ...about }));
          pages.kept.set(key, { profile, team, untilMs, template });
          return fill(pages, app, { ...target, template });
        });
      });
    });

const showBot = createShow('bot', (app, id) => app.catalogue.bots.find(id), describeBot);
const showServer = createShow('server', (app, id) => app.catalogue.servers.find(id), describeServer);

/** Without SQL the page says that the team's lists are missing. */
const showTeam: ShowKind = async (pages, app, target) => {
  const profile = requireFound(await app.catalogue.teams.find(target.id), 'team');
  const holdings = await app.catalogue.teams
    .holdings(profile.id, { members: true, bots: true, servers: true })
    .catch((error: unknown) => {
      if (error instanceof StorageError) return null;
      throw error;
    });
  const template = toTemplate(renderListing(pages.site, describeTeam(profile, holdings)));
  return fill(pages, app, { ...target, template });
};

const showPack: ShowKind = async (pages, app, target) => {
  const page = await app.catalogue.packs.find(target.id);
  const pack = requireFound(page.packs[0], 'pack');
  const template = toTemplate(renderListing(pages.site, describePack(pack, page)));
  return fill(pages, app, { ...target, id: pack.url, template });
};

const shows = { bot: showBot, server: showServer, team: showTeam, pack: showPack } as const;

/** Call it before any `await`: the client's address cannot be read once the client has left. */
const toCount = (request: ListingRequest): VisitCount => {
  const { clientAddress, headers } = request;
  return toVisitCount({ query: { target: 'page' }, clientAddress, headers, head: !isVisit(request) });
};

const isVisit = ({ head, isPrefetch, headers }: ListingRequest): boolean =>
  !head && !isPrefetch && !isFetcher(headers);

const findTarget = (
  { resolve }: PageContext,
  app: App,
  { params: { code }, query: { itag } }: ListingRequest,
): MaybePromise<Target | null> => {
  if (itag === undefined || itag === 'false') return resolve(app, code);
  return app.catalogue.vanity
    .findByItag(itag === 'true' ? code : itag)
    .then((row) => row && { kind: row.target_type, id: row.target_id });
};

const followInvite = async (pages: PageContext, app: App, request: ListingRequest): Promise<Reply> => {
  const target = await findTarget(pages, app, request);
  if (target?.kind !== 'bot' && target?.kind !== 'server') throw createNotFoundError('invite');
  const profile = await app.catalogue[`${target.kind}s`].find(target.id);
  if (!profile || !hasInvite(profile)) throw createNotFoundError('invite');
  const view = await app.engine.read(target.kind, target.id);
  if (isVisit(request)) app.engine.countInvite(view);
  const headers = { Location: new URL(profile.invite).href, 'Referrer-Policy': 'no-referrer' };
  return { status: 302, headers };
};

/** Creates the pages, with the cache of their texts. */
export const createListingPages = (site: Site) => {
  const pages: PageContext = {
    site,
    resolve: createResolver(),
    kept: new LRUCache<string, KeptPage>({
      maxSize: keptCharactersMax,
      sizeCalculation: ({ template }) => 256 + template.reduce((sum, { length }) => sum + length, 0),
    }),
    headers: { ...site.sharedPageHeaders, 'Cache-Control': 'private, no-cache' },
  };
  return {
    /** Shows the page at `/@{code}`. Rejects or throws with `not_found`. */
    show: (app: App, request: ListingRequest) => {
      const count = toCount(request);
      return thenMaybe(findTarget(pages, app, request), (found) => {
        const target = requireFound(found, 'listing');
        return shows[target.kind](pages, app, { ...target, count });
      });
    },
    /** Shows the page of the pack with this url. Rejects with `not_found`. */
    showPack: async (app: App, request: ListingRequest) =>
      showPack(pages, app, { kind: 'pack', id: request.params.code, count: toCount(request) }),
    /** Counts the use of an invite, and leads to it. */
    followInvite: (app: App, request: ListingRequest) => followInvite(pages, app, request),
  };
};
