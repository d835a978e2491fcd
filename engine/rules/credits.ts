/**
 * What votes are worth as credits, by the tiers of their kind of entity.
 *
 * Pure. Each tier pays its price for up to its number of votes, in order; what is left joins the last tier.
 * A redeem is worth what it adds to those before it in the same month, so cutting one up gains nothing (I6).
 * Whole numbers of any size: bigint, because votes times cents may pass 2^53. Called by storage and replies.
 */

/** One tier; the order of a list of tiers is that of their positions. */
export interface CreditTier {
  /** Votes this tier takes; the last one takes all that is left. */
  readonly votes: bigint;
  /** What each is worth, in hundredths. */
  readonly cents: bigint;
}

/** How many of `votes` fall into each tier. Without tiers, nothing does. */
export const splitIntoTiers = (tiers: readonly CreditTier[], votes: bigint): readonly bigint[] => {
  let left = votes;
  return tiers.map((tier, index) => {
    const isLast = index === tiers.length - 1;
    const taken = isLast || left < tier.votes ? left : tier.votes;
    left -= taken;
    return taken;
  });
};

/** How `votes` more fall into the tiers when `redeemed` were redeemed this month already. */
export const computeTierSlices = (
  tiers: readonly CreditTier[],
  votes: bigint,
  redeemed: bigint,
): readonly bigint[] => {
  const before = splitIntoTiers(tiers, redeemed);
  return splitIntoTiers(tiers, redeemed + votes).map((taken, index) => taken - (before[index] ?? 0n));
};

/** What `votes` more are worth, in cents, when `redeemed` were redeemed this month already. */
export const computeValueCents = (tiers: readonly CreditTier[], votes: bigint, redeemed: bigint): bigint =>
  computeTierSlices(tiers, votes, redeemed).reduce(
    (worth, taken, index) => worth + taken * (tiers[index]?.cents ?? 0n),
    0n,
  );
