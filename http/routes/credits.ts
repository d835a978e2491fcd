/**
 * Routes of vote credits (contract §4.5): tiers, what an entity can redeem, its redeems, and redeeming.
 */
import {
  parseVotes,
  redeemCredits,
  showCreditOverview,
  showCredits,
  showTiers,
} from '../handlers/credits.ts';
import { toTarget } from '../handlers/request-values.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { ApiResponse } from '../schema/common.ts';
import {
  CreditOverview,
  Credits,
  CreditsParams,
  RedeemQuery,
  TiersQuery,
  VoteCreditTiers,
} from '../schema/credits.ts';

export const creditRoutes = defineRoutes('Votes', [
  defineRoute({
    name: 'listCreditTiers',
    pattern: 'GET /votes/credit-tiers',
    summary: 'List credit tiers',
    description:
      'What votes are worth: each tier pays its `cents` for up to its `votes`, the last one for all ' +
      'further votes.',
    auth: { kind: 'public' },
    query: TiersQuery,
    replies: { 200: VoteCreditTiers },
    handle: (app, { query }) => showTiers(app, query.target_type ?? null),
  }),
  defineRoute({
    name: 'getCreditOverview',
    pattern: 'GET /{target_type}/{target_id}/votes/credit-tiers',
    summary: 'Get what votes are worth',
    description:
      'How the votes of a bot or server that can be redeemed fall into the credit tiers, and their ' +
      'value.',
    auth: { kind: 'public' },
    params: CreditsParams,
    replies: { 200: CreditOverview },
    errors: ['not_found'],
    handle: (app, { params }) => showCreditOverview(app, toTarget(params)),
  }),
  defineRoute({
    name: 'getCredits',
    pattern: 'GET /{target_type}/{target_id}/votes/credits',
    summary: 'Get credits',
    description:
      'The credits of a bot or server: how many were redeemed, how many of them were spent, and the ' +
      'redeems.',
    auth: { kind: 'public' },
    params: CreditsParams,
    replies: { 200: Credits },
    errors: ['not_found'],
    handle: (app, { params }) => showCredits(app, toTarget(params)),
  }),
  defineRoute({
    name: 'redeemCredits',
    pattern: 'POST /{target_type}/{target_id}/votes/credits',
    summary: 'Redeem votes',
    description:
      'Turns votes of a bot or server into credits for the shop, oldest upvotes first. The redeemed ' +
      'votes become void, but their voters still have to wait before they vote again. A request for ' +
      'more votes than can be redeemed gets 409. After a 503 with the outcome `unknown`, check the ' +
      'redeems before you try again.',
    auth: {
      kind: 'entity',
      kinds: ['user', 'bot', 'server', 'team'],
      permission: 'redeem_vote_credits',
      type: 'target_type',
      id: 'target_id',
    },
    params: CreditsParams,
    query: RedeemQuery,
    replies: { 200: ApiResponse },
    errors: ['not_found', 'votes_insufficient', 'no_credit_tiers'],
    check: ({ query }) => void parseVotes(query.votes),
    handle: (app, { params, query }) => redeemCredits(app, toTarget(params), parseVotes(query.votes)),
  }),
]);
