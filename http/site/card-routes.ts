/**
 * The routes of the cards: pictures that previews show beside a link to a listing without a picture, and to
 * every other page. Nothing is counted.
 */
import { type EntityKind, entityKinds } from '../../engine/ids.ts';
import { buildTargetParams } from '../api/shared/common.ts';
import { toTarget } from '../api/shared/convert.ts';
import type { App } from '../app.ts';
import { requireFound } from '../response/errors.ts';
import { type AnyRoute, defineDocument } from '../route.ts';
import type { NodeCounts } from '../telemetry/counts.ts';
import { type Listing, toCard } from './listing-html.ts';
import { describeBot, describePack, describeServer, describeTeam } from './listings.ts';
import type { Site } from './site.ts';

const noHoldings = { members: [], bots: [], servers: [] };

type Find = (app: App, id: string) => Promise<Listing>;
const finds: Readonly<Record<EntityKind, Find>> = {
  bot: async ({ catalogue, clock }, id) =>
    describeBot(requireFound(await catalogue.bots.find(id), 'bot'), null, clock.nowMs()).listing,
  server: async ({ catalogue, clock }, id) =>
    describeServer(requireFound(await catalogue.servers.find(id), 'server'), null, clock.nowMs()).listing,
  team: async ({ catalogue }, id) =>
    describeTeam(requireFound(await catalogue.teams.find(id), 'team'), noHoldings),
  pack: async ({ catalogue }, id) => {
    const page = await catalogue.packs.find(id);
    return describePack(requireFound(page.packs[0], 'pack'), page);
  },
};

export const buildCardRoutes = ({ cards }: Site): readonly AnyRoute[] =>
  cards === null
    ? []
    : [
        defineDocument('siteCard', 'GET /cards/site.png', {
          summary: 'The picture of the site for previews.',
          caching: 'no-store',
          handle: () => cards.showOwn(),
        }),
        defineDocument('listingCard', 'GET /cards/{target_type}/{target_id}/card.png', {
          summary: 'The picture of a listing for previews.',
          caching: 'no-store',
          params: buildTargetParams(entityKinds),
          handle: async (app, { params }) => {
            const { kind, id } = toTarget(params);
            const listing = await finds[kind](app, id);
            return cards.show(toCard(requireFound(listing.hidden === '' ? listing : null, kind)));
          },
        }),
      ];

const missing =
  'link previews have no picture: the add-on @resvg/resvg-js is not installed (npm install brings it)';

/** Notes that the add-on is missing, until the next start. */
export const noteCards = (
  { cards, settings }: Pick<Site, 'cards' | 'settings'>,
  app: { readonly counts: Pick<NodeCounts, 'notes'> },
): void => {
  if (cards === null && settings.sitePages === 'on')
    app.counts.notes.meet('cards_off', '', { text: missing, holdMs: Infinity });
};
