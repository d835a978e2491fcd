/**
 * Operations on bots, servers, teams and packs (docs/operators/commands.md).
 */
import { checkBotAddresses } from '../api/bot-edits.ts';
import { BotIdParams } from '../api/shared/common.ts';
import { toTarget } from '../api/shared/convert.ts';
import { checkAddresses } from '../api/shared/fields.ts';
import { showBotDetails, showPackDetails, showTeamDetails } from './details.ts';
import {
  BotList,
  ListBotsQuery,
  ListServersQuery,
  PackList,
  SearchQuery,
  ServerList,
  TeamList,
} from './list-schema.ts';
import {
  addBot,
  claimBot,
  putServer,
  removeListing,
  removePack,
  removeTeam,
  reviewListing,
  setPremium,
  setVoteBan,
} from './listing-edits.ts';
import { defineList, replyWhole, toRequest } from './lists.ts';
import { type AdminOperation, defineOperation } from './operation.ts';
import { previewRemoval, previewVoteBan } from './previews.ts';
import {
  AddBotBody,
  ClaimBody,
  DenialBody,
  FindParams,
  FoundList,
  ListingParams,
  NewBotParams,
  NoteBody,
  OperatorBot,
  OperatorPack,
  OperatorPackParams,
  OperatorServerParams,
  OperatorTeam,
  OperatorTeamLookupParams,
  OperatorTeamParams,
  PremiumBody,
  ReasonBody,
  ServerBody,
} from './schema.ts';

const verdicts = [
  {
    verb: 'approve',
    type: 'approved',
    summary: 'Approves the listing: it is shown in lists and can receive votes.',
  },
  {
    verb: 'deny',
    type: 'denied',
    summary: 'Denies the listing, with a reason: it is not shown in lists and cannot receive votes.',
  },
  {
    verb: 'pend',
    type: 'pending',
    summary: 'Sets the listing back to pending: it waits for a review again.',
  },
] as const;

const reviewOperations = (['bot', 'server'] as const).flatMap((kind) => [
  ...verdicts.map(({ verb, type, summary }) =>
    defineOperation(`${kind}s ${verb}`, `POST /${kind}s/{id}/${verb}`, {
      summary,
      params: kind === 'bot' ? BotIdParams : OperatorServerParams,
      body: verb === 'deny' ? DenialBody : NoteBody,
      handle: (app, { params, body }) =>
        reviewListing(app, { kind, id: params.id }, { type, note: body.note ?? '' }),
    }),
  ),
  defineOperation(`${kind}s certify`, `POST /${kind}s/{id}/certify`, {
    summary: 'Certifies the listing.',
    params: kind === 'bot' ? BotIdParams : OperatorServerParams,
    body: ReasonBody,
    handle: (app, { params, body }) =>
      reviewListing(app, { kind, id: params.id }, { type: 'certified', note: body.reason ?? '' }),
  }),
  defineOperation(`${kind}s premium`, `PUT /${kind}s/{id}/premium`, {
    summary: 'Makes the listing premium for some hours, from now or from a given time; 0 hours ends premium.',
    params: kind === 'bot' ? BotIdParams : OperatorServerParams,
    body: PremiumBody,
    handle: (app, { params, body }) => setPremium(app, { kind, id: params.id }, body),
  }),
  defineOperation(`${kind}s delete`, `DELETE /${kind}s/{id}`, {
    summary: 'Deletes the listing for good: its votes become void, and its tokens are revoked.',
    params: kind === 'bot' ? BotIdParams : OperatorServerParams,
    preview: (app, { params }) => previewRemoval(app, { kind, id: params.id }),
    handle: (app, { params }) => removeListing(app, { kind, id: params.id }),
  }),
]);

const voteBanOperations = [
  defineOperation('listings vote-ban', 'PUT /{target_type}/{target_id}/vote-ban', {
    summary: 'Bans votes: users can no longer vote for the listing.',
    params: ListingParams,
    preview: (app, { params }) => previewVoteBan(app, toTarget(params)),
    handle: (app, { params }) => setVoteBan(app, toTarget(params), true),
  }),
  defineOperation('listings find', 'GET /found/{uuid}', {
    summary: 'Finds the listing, vote, webhook or token that has a UUID.',
    params: FindParams,
    replies: { 200: FoundList },
    handle: async (app, { params }) =>
      replyWhole('found', await app.catalogue.operator.findByUuid(params.uuid)),
  }),
  defineOperation('listings unvote-ban', 'DELETE /{target_type}/{target_id}/vote-ban', {
    summary: 'Lifts a vote ban: users can vote for the listing again.',
    params: ListingParams,
    handle: (app, { params }) => setVoteBan(app, toTarget(params), false),
  }),
];

const teamOperations = [
  defineList('teams list', 'GET /teams', {
    summary: 'Lists teams by id, 50 per page; a search also finds names.',
    query: SearchQuery,
    list: TeamList,
    read: (app, { query }) => app.catalogue.operator.lists.teams(toRequest(query)),
  }),
  defineOperation('teams show', 'GET /teams/{id}', {
    summary: 'Shows a team: its members with their permissions, its bots and its servers.',
    params: OperatorTeamLookupParams,
    replies: { 200: OperatorTeam },
    handle: (app, { params }) => showTeamDetails(app, params.id),
  }),
  defineOperation('teams delete', 'DELETE /teams/{id}', {
    summary:
      'Deletes a team; refused while it owns bots or servers. Its votes become void; its tokens are revoked.',
    params: OperatorTeamParams,
    preview: (app, { params }) => previewRemoval(app, { kind: 'team', id: params.id }),
    handle: (app, { params }) => removeTeam(app, params.id),
  }),
];

const packOperations = [
  defineList('packs list', 'GET /packs', {
    summary: 'Lists packs by url, 50 per page; a search also finds names.',
    query: SearchQuery,
    list: PackList,
    read: (app, { query }) => app.catalogue.operator.lists.packs(toRequest(query)),
  }),
  defineOperation('packs show', 'GET /packs/{url}', {
    summary: 'Shows a pack: its owner, and the bots and servers in it.',
    params: OperatorPackParams,
    replies: { 200: OperatorPack },
    handle: (app, { params }) => showPackDetails(app, params.url),
  }),
  defineOperation('packs delete', 'DELETE /packs/{url}', {
    summary: 'Deletes a pack, but not the bots and servers in it. Its votes become void.',
    params: OperatorPackParams,
    preview: (app, { params }) => previewRemoval(app, { kind: 'pack', id: params.url }),
    handle: (app, { params }) => removePack(app, params.url),
  }),
];

export const listingOperations: readonly AdminOperation[] = [
  defineList('bots list', 'GET /bots', {
    summary: 'Lists the bots of one type, oldest first, or searches; else those that wait for a review.',
    query: ListBotsQuery,
    list: BotList,
    // Without a type and a search: the bots that wait for a review.
    read: (app, { query }) => {
      const request = toRequest(query);
      const type = query.type ?? (request.search === '' ? 'pending' : null);
      return app.catalogue.operator.lists.bots({ ...request, type });
    },
  }),
  defineOperation('bots show', 'GET /bots/{id}', {
    summary: 'Shows a bot: its owner, its review, its totals and its active tokens.',
    params: BotIdParams,
    replies: { 200: OperatorBot },
    handle: (app, { params }) => showBotDetails(app, params.id),
  }),
  defineOperation('bots add', 'PUT /bots/{id}', {
    summary: 'Adds a pending bot for a user or a team. Give long text in a file.',
    callsOutbound: true,
    params: NewBotParams,
    body: AddBotBody,
    check: ({ body }) => checkBotAddresses(body),
    handle: (app, { params, body }) => addBot(app, params.id, body),
  }),
  ...reviewOperations,
  defineOperation('bots claim', 'PUT /bots/{id}/claim', {
    summary: 'Records which user reviews the bot; the claim expires after an hour.',
    params: BotIdParams,
    body: ClaimBody,
    handle: (app, { params, body }) => claimBot(app, params.id, body.user_id),
  }),
  defineOperation('bots unclaim', 'DELETE /bots/{id}/claim', {
    summary: 'Removes the claim on a bot.',
    params: BotIdParams,
    handle: (app, { params }) => claimBot(app, params.id, ''),
  }),
  defineList('servers list', 'GET /servers', {
    summary: 'Lists servers by id, 50 per page; a search also finds names.',
    query: ListServersQuery,
    list: ServerList,
    read: (app, { query }) =>
      app.catalogue.operator.lists.servers({ ...toRequest(query), type: query.type ?? null }),
  }),
  defineOperation('servers put', 'PUT /servers/{id}', {
    summary: 'Adds a pending server, or replaces all its fields; absent fields get their defaults.',
    params: OperatorServerParams,
    body: ServerBody,
    check: ({ body: { invite } }) => checkAddresses(invite ? { '/invite': invite } : {}),
    handle: (app, { params, body }) => putServer(app, params.id, body),
  }),
  ...voteBanOperations,
  ...teamOperations,
  ...packOperations,
];
