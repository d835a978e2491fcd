/**
 * Shows and redeems vote credits.
 *
 * The redeemable votes are shown without a flush: the engine's totals minus the ledger's adjustments that the
 * hot store has not applied yet. Redeeming itself counts SQL rows. Money is in hundredths, exact at any size.
 */

import { DomainError } from '../../engine/errors.ts';
import { computeTierSlices, computeValueCents } from '../../engine/rules/credits.ts';
import type { CreditKind, RedeemOutcome, RedeemRow, TierRow } from '../../storage/catalogue/votes/credits.ts';
import { createValidationError } from '../response/validation-error.ts';
import { type App, type Reply, replyMessage, replyOk } from '../route.ts';
import type { CreditOverview, Credits, VoteCreditTier, VoteRedeem } from '../schema/credits.ts';
import { createNotFoundError, toExactInteger, toTimestamp, toTimestampOrNull } from './convert.ts';
import { toVoteInfo } from './votes.ts';

/** An entity whose votes can be redeemed. */
export interface CreditTarget {
  readonly kind: CreditKind;
  readonly id: string;
}

const votesMax = 1_000_000_000_000;
const votesRequirement = `must be a whole number from 1 to ${votesMax}, in digits`;

/** Parses the number of votes to redeem. Throws `validation_failed`. */
export const parseVotes = (text: string): number => {
  const votes = /^[1-9][0-9]{0,12}$/.test(text) ? Number(text) : 0;
  if (votes >= 1 && votes <= votesMax) return votes;
  throw createValidationError('query', { '/votes': votesRequirement });
};

const toTier = (row: TierRow): VoteCreditTier => ({
  cents: row.cents,
  created_at: toTimestamp(row.created_at),
  id: row.id,
  position: row.position,
  target_type: row.target_type,
  votes: row.votes,
});

/** `GET /votes/credit-tiers`: the tiers of one kind, or all tiers (`null`). */
export const showTiers = async (app: App, kind: CreditKind | null): Promise<Reply> =>
  replyOk((await app.catalogue.credits.tiers(kind)).map(toTier));

/** Stands for no user where only the current vote window is needed. */
const noUser = '';

/** `GET …/votes/credit-tiers`: the value of the redeemable votes. */
export const showCreditOverview = async (app: App, { kind, id }: CreditTarget): Promise<Reply> => {
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

const toVoteRedeem = (row: RedeemRow, target: CreditTarget): VoteRedeem => ({
  created_at: toTimestamp(row.created_at),
  credits: toExactInteger(row.credits),
  id: row.id,
  redeemed_at: toTimestampOrNull(row.redeemed_at),
  redeemed_credits: toExactInteger(row.redeemed_credits),
  target_id: target.id,
  target_type: target.kind,
});

/** `GET …/votes/credits`: the redeemed credits, and how many of them were spent. */
export const showCredits = async (app: App, target: CreditTarget): Promise<Reply> => {
  const { ref } = await app.engine.read(target.kind, target.id);
  const { credits, spent, rows } = await app.catalogue.credits.redeems(ref);
  return replyOk<Credits>({
    available_credits: toExactInteger(String(BigInt(credits) - BigInt(spent))),
    redeemed_credits: toExactInteger(spent),
    redeems: rows.map((row) => toVoteRedeem(row, target)),
    total_credits: toExactInteger(credits),
  });
};

const toRedeemError = (
  outcome: Exclude<RedeemOutcome, { kind: 'redeemed' }>,
  target: CreditTarget,
): DomainError => {
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
export const redeemCredits = async (app: App, target: CreditTarget, votes: number): Promise<Reply> => {
  const { ref } = await app.engine.read(target.kind, target.id);
  await app.engine.waitForFlush(target.kind, target.id);
  const outcome = await app.catalogue.credits.redeem({ ref, kind: target.kind, votes });
  if (outcome.kind !== 'redeemed') throw toRedeemError(outcome, target);
  app.meters.recordRedeem(outcome.credits);
  const delivery = app.engine.deliverAdjustments(target.kind, target.id);
  await delivery.catch(() => undefined);
  return replyMessage(`Redeemed ${votes} votes.`, {
    credits: String(outcome.credits),
    id: outcome.id,
    votes: String(votes),
  });
};
