/**
 * Schemas of vote credits (contract §2.13, §2.14): tiers, what can be redeemed, and redeems.
 */
import { type Static, Type } from 'typebox';
import { buildCount, buildSum, buildText, Count, TargetType, Timestamp, toNullable, Uuid } from './common.ts';
import { buildObject, findExample } from './example.ts';
import { VoteInfo } from './votes.ts';

export const TiersQuery = Type.Object({ target_type: Type.Optional(TargetType) });

export const RedeemQuery = Type.Object({
  votes: Type.String({ description: 'How many votes to redeem: a whole number from 1.', examples: ['250'] }),
});

export const VoteCreditTier = buildObject({
  cents: Type.Integer({ minimum: 0, description: 'Value of one vote, in hundredths.', examples: [10] }),
  created_at: Timestamp,
  id: buildText('bot-first-hundred'),
  position: Count,
  target_type: buildText('bot'),
  votes: Type.Integer({
    minimum: 1,
    description: 'Number of votes in this tier; the last tier takes all further votes.',
    examples: [100],
  }),
});
export type VoteCreditTier = Static<typeof VoteCreditTier>;

export const VoteCreditTiers = Type.Array(VoteCreditTier, { examples: [[findExample(VoteCreditTier)]] });

const buildCents = (example: number) =>
  Type.Integer({ minimum: 0, description: 'In hundredths.', examples: [example] });

export const CreditOverview = buildObject({
  slab_overview: Type.Array(buildCount(40), {
    description:
      'How many redeemable votes fall into each tier; votes redeemed this month fill the tiers first.',
  }),
  tiers: Type.Array(VoteCreditTier),
  total_credits: Type.Integer({
    minimum: 0,
    description: 'Value of these votes, in hundredths.',
    examples: [400],
  }),
  vote_info: VoteInfo,
  votes: buildSum(40),
});
export type CreditOverview = Static<typeof CreditOverview>;

export const VoteRedeem = buildObject({
  created_at: Timestamp,
  credits: buildCents(1_750),
  id: Uuid,
  redeemed_at: toNullable(Timestamp),
  redeemed_credits: Type.Integer({
    minimum: 0,
    description: 'How much of `credits` was spent in the shop, in hundredths.',
  }),
  target_id: buildText('815553000470478850'),
  target_type: buildText('bot'),
});
export type VoteRedeem = Static<typeof VoteRedeem>;

export const Credits = buildObject({
  available_credits: buildCents(1_750),
  redeemed_credits: Type.Integer({ minimum: 0, description: 'Spent in the shop, in hundredths.' }),
  redeems: Type.Array(VoteRedeem, { description: 'The newest 2,000 redeems, newest first.' }),
  total_credits: buildCents(1_750),
});
export type Credits = Static<typeof Credits>;
