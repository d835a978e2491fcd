/**
 * Servers: a list and a page like those of bots, which the contract has for bots alone. The condensed form
 * is the contract's (§2.5).
 */
import { Type } from 'typebox';
import { computeVotes, type HotState } from '../../engine/entity/state.ts';
import { perPage } from '../../engine/rules/pages.ts';
import type { MaybePromise } from '../../storage/catalogue/catalogue.ts';
import type { ServerProfile } from '../../storage/catalogue/shared/profiles.ts';
import type { App } from '../app.ts';
import { createNotFoundError } from '../response/errors.ts';
import { type Reply, showRow } from '../response/reply.ts';
import { definePublicRoute, defineRoutes } from '../route.ts';
import { countVisit, type ShowEntityRequest, skipMissingInvite, toVisitCount } from './bots/bots.ts';
import { BotQuery } from './bots/schema.ts';
import {
  buildCount,
  buildFlag,
  buildPageSchema,
  buildText,
  ExtraLink,
  PageQuery,
  ServerIdOrVanity,
  Timestamp,
} from './shared/common.ts';
import { isPremium, parsePage, parseTeamTargets, replyPage, splitList, thenMaybe } from './shared/convert.ts';
import { describe, describeObject } from './shared/example.ts';
import { IndexServer, indexServerFields, toIndexServer } from './shared/index-entities.ts';
import { renderTeam, Team } from './teams.ts';

export const ServerParams = Type.Object({ id: ServerIdOrVanity });

export const Server = describeObject(
  'A chat server with all that is public about it. Its numbers are live.',
  {
    ...indexServerFields,
    created_at: describe(Timestamp, 'When the server was added to this directory.'),
    extra_links: describe(Type.Array(ExtraLink), 'Up to 20 links of the server.'),
    invite: buildText('https://example.org/join', 'An https address that leads in; may be empty.'),
    long: Type.Optional(
      buildText(
        'We meet every evening. …',
        'Long description, up to 65,536 characters. Only with `include=long`.',
      ),
    ),
    team_owner: describe(Team, 'The team that owns it.'),
    unique_clicks: buildCount(230, 'Visitors of its page, each counted once, up to 1,000,000.'),
    updated_at: describe(Timestamp, 'When its profile was last changed.'),
    vote_banned: buildFlag('Whether the operator has banned it from receiving votes.'),
  },
  { extra_links: [] },
);

export const serverRoutes = defineRoutes('Beyond the contract', [
  definePublicRoute('listServers', 'GET /servers/@all', {
    summary: 'List servers',
    description: 'All approved and certified public servers, newest first, 12 per page.',
    caching: 'list',
    query: PageQuery,
    replies: { 200: buildPageSchema(IndexServer, perPage.servers) },
    handle: async (app, { query }) =>
      replyPage(await app.catalogue.servers.page(parsePage(query)), perPage.servers, (rows) =>
        rows.map((row) => toIndexServer(row, app.clock.nowMs())),
      ),
  }),
  definePublicRoute('getServer', 'GET /servers/{id}', {
    summary: 'Get a server',
    description:
      'One server of any type, with live numbers. `target=page` and `target=invite` count the visit; ' +
      'the reply shows the totals before it.',
    caching: 'entity',
    params: ServerParams,
    query: BotQuery,
    replies: { 200: Server },
    handle: (app, request) => showServer(app, request),
  }),
]);

const OwnFields = Type.Omit(Server, ['long', 'team_owner']);

const toServer = (profile: ServerProfile, state: HotState, nowMs: number) =>
  showRow(OwnFields, profile, {
    approximate_votes: state.flushedVotes,
    clicks: state.clicks,
    invite_clicks: state.inviteClicks,
    premium: isPremium(profile, nowMs),
    server_id: profile.id,
    unique_clicks: state.uniqueClicks,
    votes: computeVotes(state),
  });

/** `GET /servers/{id}`. The reply shows the totals before this visit. */
const showServer = (app: App, request: ShowEntityRequest): MaybePromise<Reply> => {
  const targets = parseTeamTargets('team_includes', request.query.team_includes);
  const count = toVisitCount(request);
  return thenMaybe(app.catalogue.servers.find(request.params.id), (profile) => {
    if (profile === null) throw createNotFoundError('server');
    const long = splitList(request.query.include).includes('long') ? { long: profile.long } : {};
    return thenMaybe(renderTeam(app, profile.team_id, targets), (teamOwner) =>
      thenMaybe(app.engine.read('server', profile.id), (view) => {
        countVisit(app, view, skipMissingInvite(count, profile));
        const server = { ...toServer(profile, view.state, app.clock.nowMs()), ...long };
        return { status: 200, text: `${JSON.stringify(server).slice(0, -1)},"team_owner":${teamOwner}}` };
      }),
    );
  });
};
