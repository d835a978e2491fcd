/**
 * Rows of vote credits (contract §4.5): tiers, what an entity can redeem, its redeems, and redeeming.
 */
import {
  parseVotes,
  redeemCredits,
  showCreditOverview,
  showCredits,
  showTiers,
} from '../handlers/credits.ts';
import { parseTargetKind } from '../handlers/request-values.ts';
import { type AnyRoute, defineRoute } from '../route.ts';
import { ApiResponse, NoParams } from '../schema/common.ts';
import { CreditOverview, Credits, RedeemQuery, TiersQuery, VoteCreditTiers } from '../schema/credits.ts';
import { TargetVotesParams } from '../schema/votes.ts';

const section = 'Votes';
const creditKinds = ['bot', 'server'] as const;

const parseTarget = (params: { readonly target_type: string; readonly target_id: string }) => ({
  kind: parseTargetKind(params.target_type, creditKinds),
  id: params.target_id,
});
/** As in paths, a trailing `s` is accepted. */
const parseCreditKind = (word: string | undefined) =>
  word === undefined ? null : parseTargetKind(word.replace(/(?<=.)s$/, ''), creditKinds);

export const creditRoutes: readonly AnyRoute[] = [
  defineRoute({
    name: 'listCreditTiers',
    method: 'GET',
    path: '/votes/credit-tiers',
    section,
    summary: 'What votes are worth, tier by tier.',
    auth: { kind: 'public' },
    caching: 'no-store',
    params: NoParams,
    query: TiersQuery,
    replies: { 200: VoteCreditTiers },
    errors: ['target_type_unsupported'],
    check: ({ query }) => void parseCreditKind(query.target_type),
    handle: (app, { query }) => showTiers(app, parseCreditKind(query.target_type)),
  }),
  defineRoute({
    name: 'getCreditOverview',
    method: 'GET',
    path: '/{target_type}/{target_id}/votes/credit-tiers',
    section,
    summary:
      'How the votes of a bot or server that are not redeemed yet fall into the tiers, and their worth.',
    auth: { kind: 'public' },
    caching: 'no-store',
    params: TargetVotesParams,
    replies: { 200: CreditOverview },
    errors: ['target_type_unsupported', 'not_found'],
    check: ({ params }) => void parseTarget(params),
    handle: (app, { params }) => showCreditOverview(app, parseTarget(params)),
  }),
  defineRoute({
    name: 'getCredits',
    method: 'GET',
    path: '/{target_type}/{target_id}/votes/credits',
    section,
    summary: 'Credits of a bot or server: what was redeemed, and what of it was spent.',
    auth: { kind: 'public' },
    caching: 'no-store',
    params: TargetVotesParams,
    replies: { 200: Credits },
    errors: ['target_type_unsupported', 'not_found'],
    check: ({ params }) => void parseTarget(params),
    handle: (app, { params }) => showCredits(app, parseTarget(params)),
  }),
  defineRoute({
    name: 'redeemCredits',
    method: 'POST',
    path: '/{target_type}/{target_id}/votes/credits',
    section,
    summary: 'Redeems votes of a bot or server as credits for the shop, the oldest upvotes first.',
    description:
      'The votes become void and go on holding their voters back. More than there are: 409. After a 503 ' +
      'with the outcome `unknown`, look at the redeems before trying again.',
    auth: {
      kind: 'entity',
      kinds: ['user', 'bot', 'server', 'team'],
      permission: 'redeem_vote_credits',
      type: 'target_type',
      id: 'target_id',
    },
    caching: 'no-store',
    params: TargetVotesParams,
    query: RedeemQuery,
    replies: { 200: ApiResponse },
    errors: ['target_type_unsupported', 'not_found', 'votes_insufficient', 'no_credit_tiers'],
    check: ({ params, query }) => void [parseTarget(params), parseVotes(query.votes)],
    handle: (app, { params, query }) => redeemCredits(app, parseTarget(params), parseVotes(query.votes)),
  }),
];
