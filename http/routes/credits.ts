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
import { parseTarget, parseTargetKind } from '../handlers/request-values.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { ApiResponse } from '../schema/common.ts';
import { CreditOverview, Credits, RedeemQuery, TiersQuery, VoteCreditTiers } from '../schema/credits.ts';
import { TargetVotesParams } from '../schema/votes.ts';

const creditKinds = ['bot', 'server'] as const;

/** As in paths, a trailing `s` is accepted. */
const parseCreditKind = (targetType: string | undefined) =>
  targetType === undefined ? null : parseTargetKind(targetType.replace(/(?<=.)s$/, ''), creditKinds);

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
    errors: ['target_type_unsupported'],
    check: ({ query }) => void parseCreditKind(query.target_type),
    handle: (app, { query }) => showTiers(app, parseCreditKind(query.target_type)),
  }),
  defineRoute({
    name: 'getCreditOverview',
    pattern: 'GET /{target_type}/{target_id}/votes/credit-tiers',
    summary: 'Get what votes are worth',
    description:
      'How the votes of a bot or server that can be redeemed fall into the credit tiers, and their ' +
      'value.',
    auth: { kind: 'public' },
    params: TargetVotesParams,
    replies: { 200: CreditOverview },
    errors: ['target_type_unsupported', 'not_found'],
    check: ({ params }) => void parseTarget(params, creditKinds),
    handle: (app, { params }) => showCreditOverview(app, parseTarget(params, creditKinds)),
  }),
  defineRoute({
    name: 'getCredits',
    pattern: 'GET /{target_type}/{target_id}/votes/credits',
    summary: 'Get credits',
    description:
      'The credits of a bot or server: how many were redeemed, how many of them were spent, and the ' +
      'redeems.',
    auth: { kind: 'public' },
    params: TargetVotesParams,
    replies: { 200: Credits },
    errors: ['target_type_unsupported', 'not_found'],
    check: ({ params }) => void parseTarget(params, creditKinds),
    handle: (app, { params }) => showCredits(app, parseTarget(params, creditKinds)),
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
    params: TargetVotesParams,
    query: RedeemQuery,
    replies: { 200: ApiResponse },
    errors: ['target_type_unsupported', 'not_found', 'votes_insufficient', 'no_credit_tiers'],
    check: ({ params, query }) => void [parseTarget(params, creditKinds), parseVotes(query.votes)],
    handle: (app, { params, query }) =>
      redeemCredits(app, parseTarget(params, creditKinds), parseVotes(query.votes)),
  }),
]);
