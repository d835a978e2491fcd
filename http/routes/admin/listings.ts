/**
 * Operations on bots, servers, teams and packs (docs/operating.md, "The operator's side").
 */
import {
  addBot,
  claimBot,
  putServer,
  removeListing,
  removePack,
  removeTeam,
  review,
  setPremium,
  setVoteBan,
  showBotsOfType,
} from '../../replies/operator/listings.ts';
import { showPack, showTeam } from '../../replies/operator/looks.ts';
import { pageOf } from '../../replies/request.ts';
import { checkBotAddresses } from '../../schema/bot-edits.ts';
import { NoParams } from '../../schema/common.ts';
import {
  AddBotBody,
  BotParams,
  BotSummaries,
  BotsQuery,
  ClaimBody,
  Done,
  ListingParams,
  NewBotParams,
  NoteBody,
  OperatorPack,
  OperatorTeam,
  PackParams,
  PremiumBody,
  ReasonBody,
  ServerBody,
  ServerParams,
  TeamParams,
  TeamWordParams,
} from '../../schema/operator.ts';
import { type Operation, operation } from './operation.ts';

const verdicts = [
  { word: 'approve', type: 'approved', told: 'Lists it; people can vote for it.' },
  { word: 'deny', type: 'denied', told: 'Keeps it out of the lists; nobody can vote for it.' },
  { word: 'pend', type: 'pending', told: 'Puts it back among those that wait for a review.' },
] as const;

const reviewOperations = (['bot', 'server'] as const).flatMap((kind) => [
  ...verdicts.map(({ word, type, told }) =>
    operation({
      command: `${kind}s ${word}`,
      name: `${word}_${kind}`,
      method: 'POST',
      path: `/${kind}s/{id}/${word}`,
      summary: told,
      params: kind === 'bot' ? BotParams : ServerParams,
      body: NoteBody,
      replies: { 200: Done },
      handle: (app, { params, body }) =>
        review(app, { kind, id: params.id }, { type, words: body.note ?? '' }),
    }),
  ),
  operation({
    command: `${kind}s certify`,
    name: `certify_${kind}`,
    method: 'POST',
    path: `/${kind}s/{id}/certify`,
    summary: 'Lists it as certified.',
    params: kind === 'bot' ? BotParams : ServerParams,
    body: ReasonBody,
    replies: { 200: Done },
    handle: (app, { params, body }) =>
      review(app, { kind, id: params.id }, { type: 'certified', words: body.reason ?? '' }),
  }),
  operation({
    command: `${kind}s premium`,
    name: `premium_${kind}`,
    method: 'PUT',
    path: `/${kind}s/{id}/premium`,
    summary: 'Makes it premium for some hours, from now or from a moment; 0 hours ends it.',
    params: kind === 'bot' ? BotParams : ServerParams,
    body: PremiumBody,
    replies: { 200: Done },
    handle: (app, { params, body }) => setPremium(app, { kind, id: params.id }, body),
  }),
  operation({
    command: `${kind}s delete`,
    name: `delete_${kind}`,
    method: 'DELETE',
    path: `/${kind}s/{id}`,
    summary: 'Deletes it for good: its votes become void, its tokens die.',
    params: kind === 'bot' ? BotParams : ServerParams,
    replies: { 200: Done },
    handle: (app, { params }) => removeListing(app, { kind, id: params.id }),
  }),
]);

const voteBanOperations = [
  operation({
    command: 'listings vote-ban',
    name: 'banListingVotes',
    method: 'PUT',
    path: '/{target_type}/{target_id}/vote-ban',
    summary: 'Nobody may vote for it any more.',
    params: ListingParams,
    replies: { 200: Done },
    handle: (app, { params }) => setVoteBan(app, { kind: params.target_type, id: params.target_id }, true),
  }),
  operation({
    command: 'listings unvote-ban',
    name: 'liftListingVotes',
    method: 'DELETE',
    path: '/{target_type}/{target_id}/vote-ban',
    summary: 'It can be voted for again.',
    params: ListingParams,
    replies: { 200: Done },
    handle: (app, { params }) => setVoteBan(app, { kind: params.target_type, id: params.target_id }, false),
  }),
];

const teamOperations = [
  operation({
    command: 'teams show',
    name: 'showTeam',
    method: 'GET',
    path: '/teams/{id}',
    summary: 'One team: its members with their permissions, its bots and servers.',
    params: TeamWordParams,
    replies: { 200: OperatorTeam },
    handle: (app, { params }) => showTeam(app, params.id),
  }),
  operation({
    command: 'teams delete',
    name: 'removeTeam',
    method: 'DELETE',
    path: '/teams/{id}',
    summary: 'Deletes a team; refused while it owns bots or servers. Its votes become void, its tokens die.',
    params: TeamParams,
    replies: { 200: Done },
    handle: (app, { params }) => removeTeam(app, params.id),
  }),
];

const packOperations = [
  operation({
    command: 'packs show',
    name: 'showPack',
    method: 'GET',
    path: '/packs/{url}',
    summary: 'One pack: its owner, the bots and servers it names.',
    params: PackParams,
    replies: { 200: OperatorPack },
    handle: (app, { params }) => showPack(app, params.url),
  }),
  operation({
    command: 'packs delete',
    name: 'removePack',
    method: 'DELETE',
    path: '/packs/{url}',
    summary: 'Deletes a pack, not what it names; its votes become void.',
    params: PackParams,
    replies: { 200: Done },
    handle: (app, { params }) => removePack(app, params.url),
  }),
];

export const listingOperations: readonly Operation[] = [
  operation({
    command: 'bots list',
    name: 'listBotsOfType',
    method: 'GET',
    path: '/bots',
    summary: 'Bots of one type, the oldest first: what waits for a review stands on top.',
    params: NoParams,
    query: BotsQuery,
    replies: { 200: BotSummaries },
    handle: (app, { query }) => showBotsOfType(app, query.type ?? 'pending', pageOf(query)),
  }),
  operation({
    command: 'bots add',
    name: 'addBot',
    method: 'PUT',
    path: '/bots/{id}',
    summary: 'Adds a bot, pending, for a user or a team; long text is best given in a file.',
    asksOutside: true,
    params: NewBotParams,
    body: AddBotBody,
    check: ({ body }) => checkBotAddresses(body),
    replies: { 200: Done },
    handle: (app, { params, body }) => addBot(app, params.id, body),
  }),
  ...reviewOperations,
  operation({
    command: 'bots claim',
    name: 'claimBot',
    method: 'PUT',
    path: '/bots/{id}/claim',
    summary: 'Notes which user reviews it; lapses after an hour.',
    params: BotParams,
    body: ClaimBody,
    replies: { 200: Done },
    handle: (app, { params, body }) => claimBot(app, params.id, body.user_id),
  }),
  operation({
    command: 'bots unclaim',
    name: 'unclaimBot',
    method: 'DELETE',
    path: '/bots/{id}/claim',
    summary: 'Takes back a claim.',
    params: BotParams,
    replies: { 200: Done },
    handle: (app, { params }) => claimBot(app, params.id, ''),
  }),
  operation({
    command: 'servers put',
    name: 'putServer',
    method: 'PUT',
    path: '/servers/{id}',
    summary: 'Adds a server, pending, or changes all its fields; absent ones take their defaults.',
    params: ServerParams,
    body: ServerBody,
    replies: { 200: Done },
    handle: (app, { params, body }) => putServer(app, params.id, body),
  }),
  ...voteBanOperations,
  ...teamOperations,
  ...packOperations,
];
