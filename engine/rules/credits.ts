/**
 * Computes what votes are worth as credits, by the tiers of their kind of entity.
 *
 * Pure. Each tier pays its price for up to its number of votes, in order; remaining votes join the last tier.
 * A redeem is worth what it adds to the earlier ones of the same month, so splitting one gains nothing (I6).
 * Uses bigint, because votes times cents may exceed 2^53.
 */

/** Kinds of entities whose votes can be redeemed. */
export const creditKinds = ['bot', 'server'] as const;
export type CreditKind = (typeof creditKinds)[number];

/** One tier; a list of tiers is in the order of their positions. */
export interface CreditTier {
  /** Votes that this tier takes; the last tier takes all remaining ones. */
  readonly votes: bigint;
  /** The value of each vote, in cents. */
  readonly cents: bigint;
}

/** Computes how many of `votes` fall into each tier; an empty list if there are no tiers. */
export const splitIntoTiers = (tiers: readonly CreditTier[], votes: bigint): readonly bigint[] => {
  let left = votes;
  return tiers.map((tier, index) => {
    const isLast = index === tiers.length - 1;
    const taken = isLast || left < tier.votes ? left : tier.votes;
    left -= taken;
    return taken;
  });
};

/** Computes how many of `votes` fall into each tier if `redeemed` were redeemed earlier this month. */
export const computeTierSlices = (
  tiers: readonly CreditTier[],
  votes: bigint,
  redeemed: bigint,
): readonly bigint[] => {
  const before = splitIntoTiers(tiers, redeemed);
  return splitIntoTiers(tiers, redeemed + votes).map((taken, index) => taken - (before[index] ?? 0n));
};

/** Computes the value of `votes` in cents if `redeemed` votes were redeemed earlier this month. */
export const computeValueCents = (tiers: readonly CreditTier[], votes: bigint, redeemed: bigint): bigint =>
  computeTierSlices(tiers, votes, redeemed).reduce(
    (worth, taken, index) => worth + taken * (tiers[index]?.cents ?? 0n),
    0n,
  );
