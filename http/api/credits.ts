/**
 * Vote credits (contract §2.13, §2.14, §4.5): tiers, what an entity can redeem, its redeems, and
 * redeeming.
 *
 * The redeemable votes are shown without a flush: the engine's totals minus the ledger's adjustments that
 * the hot store has not applied yet. Redeeming itself counts SQL rows. Money is in hundredths, exact at
 * any size.
 */
import { type Static, Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import {
  type CreditKind,
  computeTierSlices,
  computeValueCents,
  creditKinds,
} from '../../engine/rules/credits.ts';
import type { RedeemOutcome, RedeemRow, TierRow } from '../../storage/catalogue/votes/credits.ts';
import type { App } from '../app.ts';
import { buildTargetAuth } from '../auth/auth.ts';
import { createNotFoundError } from '../response/errors.ts';
import { type Reply, replyMessage, replyOk, showRow } from '../response/reply.ts';
import { definePublicRoute, defineRoute, defineRoutes } from '../route.ts';
import {
  ApiResponse,
  buildCount,
  buildSum,
  buildTargetParams,
  buildTargetType,
  buildText,
  Timestamp,
  toNullable,
  Uuid,
} from './shared/common.ts';
import { toExactInteger, toTarget } from './shared/convert.ts';
import { buildObject, describe, describeObject, findExample } from './shared/example.ts';
import { type KeyedRequest, markReplayed, readOnce, requireOutcome } from './shared/once.ts';
import { voteCount } from './shared/patterns.ts';
import { toVoteInfo, VoteInfo } from './votes.ts';

export const CreditsParams = buildTargetParams(creditKinds);

export const TiersQuery = Type.Object({
  target_type: Type.Optional(
    describe(
      buildTargetType(creditKinds),
      'Only tiers of this kind; a trailing `s` is accepted. All tiers if absent.',
    ),
  ),
});

export const RedeemQuery = Type.Object({
  votes: Type.String({
    pattern: voteCount,
    description: 'How many votes to redeem: a whole number from 1 to 1,000,000,000,000.',
    examples: ['250'],
  }),
});

export const VoteCreditTier = describeObject('What a number of votes is worth.', {
  cents: buildCount(10, 'Value of one vote, in hundredths.'),
  created_at: describe(Timestamp, 'When the operator created the tier.'),
  id: buildText('bot-first-hundred', 'Id of the tier.'),
  position: buildCount(0, 'Order of the tiers of a kind, lowest first.'),
  target_type: buildText('bot', 'Whose votes it is about: `bot` or `server`.'),
  votes: Type.Integer({
    minimum: 1,
    description: 'Number of votes in this tier; the last tier takes all further votes.',
    examples: [100],
  }),
});

export const VoteCreditTiers = Type.Array(VoteCreditTier, {
  description: 'The tiers of each kind, by `position`; `[]` while there are none.',
  examples: [[findExample(VoteCreditTier)]],
});

const buildCents = (description: string) =>
  Type.Integer({ minimum: 0, description: `${description}, in hundredths.`, examples: [1_750] });

export const CreditOverview = buildObject({
  slab_overview: Type.Array(buildCount(40), {
    description:
      'How many redeemable votes fall into each tier; votes redeemed this month fill the tiers first.',
  }),
  tiers: describe(Type.Array(VoteCreditTier), 'The tiers for this kind of entity, by `position`.'),
  total_credits: buildCount(400, 'Value of these votes, in hundredths.'),
  vote_info: describe(VoteInfo, 'The rules for votes on this entity, as of now.'),
  votes: buildSum(40, 'Upvotes minus downvotes that were not redeemed; may be negative.'),
});
export type CreditOverview = Static<typeof CreditOverview>;

export const VoteRedeem = describeObject('Votes that were turned into credits at once.', {
  created_at: describe(Timestamp, 'When the votes were redeemed.'),
  credits: buildCents('What the votes were worth'),
  id: describe(Uuid, 'Id of the redeem; its votes have it as `credit_redeem`.'),
  redeemed_at: toNullable(Timestamp, 'When its credits were spent; `null`: not yet.'),
  redeemed_credits: Type.Integer({
    minimum: 0,
    description: 'How much of `credits` was spent in the shop, in hundredths.',
  }),
  target_id: buildText('815553000470478850', 'Id of the bot or server.'),
  target_type: buildText('bot', '`bot` or `server`.'),
});

export const Credits = buildObject({
  available_credits: buildCents('What can still be spent'),
  redeemed_credits: Type.Integer({ minimum: 0, description: 'Spent in the shop, in hundredths.' }),
  redeems: Type.Array(VoteRedeem, { description: 'The newest 2,000 redeems, newest first.' }),
  total_credits: buildCents('Credits of all redeems together'),
});
export type Credits = Static<typeof Credits>;

export const creditRoutes = defineRoutes('Votes', [
  definePublicRoute('listCreditTiers', 'GET /votes/credit-tiers', {
    summary: 'List credit tiers',
    description:
      'What votes are worth: each tier pays its `cents` for up to its `votes`, the last one for all ' +
      'further votes.',
    query: TiersQuery,
    replies: { 200: VoteCreditTiers },
    handle: async (app, { query }) =>
      replyOk((await app.catalogue.credits.tiers(query.target_type ?? null)).map(toTier)),
  }),
  definePublicRoute('getCreditOverview', 'GET /{target_type}/{target_id}/votes/credit-tiers', {
    summary: 'Get what votes are worth',
    description:
      'How the votes of a bot or server that can be redeemed fall into the credit tiers, and their ' +
      'value.',
    params: CreditsParams,
    replies: { 200: CreditOverview },
    handle: (app, { params }) => showCreditOverview(app, toTarget(params)),
  }),
  definePublicRoute('getCredits', 'GET /{target_type}/{target_id}/votes/credits', {
    summary: 'Get credits',
    description:
      'The credits of a bot or server: how many were redeemed, how many of them were spent, and the ' +
      'redeems.',
    params: CreditsParams,
    replies: { 200: Credits },
    handle: async (app, { params }) => {
      const target = toTarget(params);
      const { ref } = await app.engine.read(target.kind, target.id);
      const { credits, spent, rows } = await app.catalogue.credits.redeems(ref);
      return replyOk<Credits>({
        available_credits: toExactInteger(String(BigInt(credits) - BigInt(spent))),
        redeemed_credits: toExactInteger(spent),
        redeems: rows.map((row) => toVoteRedeem(row, target)),
        total_credits: toExactInteger(credits),
      });
    },
  }),
  defineRoute('redeemCredits', 'POST /{target_type}/{target_id}/votes/credits', {
    keyed: true,
    summary: 'Redeem votes',
    description:
      'Turns votes of a bot or server into credits for the shop, oldest upvotes first. The redeemed ' +
      'votes become void, but their voters still have to wait before they vote again. A request for ' +
      'more votes than can be redeemed gets 409. After a 503 with the outcome `unknown`, check the ' +
      'redeems before you try again.',
    auth: buildTargetAuth('redeem_vote_credits'),
    params: CreditsParams,
    query: RedeemQuery,
    replies: { 200: ApiResponse },
    errors: ['votes_insufficient', 'no_credit_tiers'],
    handle: (app, request) => redeemCredits(app, request, toTarget(request.params)),
  }),
]);

/** An entity whose votes can be redeemed. */
export interface CreditTarget {
  readonly kind: CreditKind;
  readonly id: string;
}

const toTier = (row: TierRow) => showRow(VoteCreditTier, row);

/** Stands for no user where only the current vote window is needed. */
const noUser = '';

/** `GET …/votes/credit-tiers`: the value of the redeemable votes. */
const showCreditOverview = async (app: App, { kind, id }: CreditTarget): Promise<Reply> => {
  const { view, window } = await app.engine.readVoteStatus(kind, id, noUser);
  const { ref, state } = view;
  const { tiers, redeemed, pendingDownvotes, pendingUpvotes } = await app.catalogue.credits.balance(
    { ref, kind },
    state.adjustment,
  );
  const votes = state.upvotes + pendingUpvotes - state.downvotes - pendingDownvotes;
  const redeemable = BigInt(Math.max(0, votes));
  const rules = tiers.map((row) => ({ votes: BigInt(row.votes), cents: BigInt(row.cents) }));
  return replyOk<CreditOverview>({
    slab_overview: computeTierSlices(rules, redeemable, redeemed).map((taken) =>
      toExactInteger(String(taken)),
    ),
    tiers: tiers.map(toTier),
    total_credits: toExactInteger(String(computeValueCents(rules, redeemable, redeemed))),
    vote_info: toVoteInfo(kind, window),
    votes,
  });
};

const toVoteRedeem = (row: RedeemRow, target: CreditTarget) =>
  showRow(VoteRedeem, row, {
    credits: toExactInteger(row.credits),
    redeemed_credits: toExactInteger(row.redeemed_credits),
    target_id: target.id,
    target_type: target.kind,
  });

const toRedeemError = (outcome: Exclude<RedeemOutcome, { kind: 'redeemed' }>, target: CreditTarget) => {
  switch (outcome.kind) {
    case 'too_few':
      return new DomainError('votes_insufficient', `Only ${outcome.redeemable} votes can be redeemed.`, {
        redeemable: String(outcome.redeemable),
      });
    case 'no_tiers':
      return new DomainError(
        'no_credit_tiers',
        `Votes of a ${target.kind} have no value now: there are no credit tiers for them.`,
      );
    case 'unknown_listing':
      return createNotFoundError(target.kind);
  }
};

/**
 * `POST …/votes/credits`. *Ledger* when it resolves, and normally *hot*. If the hot store is not available,
 * the redeem is still valid, and the flusher lowers the totals later.
 */
const redeemCredits = async (
  app: App,
  request: KeyedRequest & { readonly query: { readonly votes: string } },
  target: CreditTarget,
): Promise<Reply> => {
  const votes = Number(request.query.votes);
  const once = readOnce('redeemCredits', request);
  const { ref } = await app.engine.read(target.kind, target.id);
  await app.engine.waitForFlush(target.kind, target.id);
  const outcome = requireOutcome(await app.catalogue.credits.redeem({ ref, kind: target.kind, votes }, once));
  if (outcome.kind !== 'redeemed') throw toRedeemError(outcome, target);
  if (!outcome.replayed) app.counts.redeemedCents += Number(outcome.credits);
  await app.engine.deliverAdjustments(target.kind, target.id).catch(() => undefined);
  const context = { credits: String(outcome.credits), id: outcome.id, votes: String(votes) };
  return markReplayed(outcome, replyMessage(`Redeemed ${votes} votes.`, context));
};
