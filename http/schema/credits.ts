/**
 * Schemas of vote credits (contract §2.13, §2.14): tiers, what can be redeemed, and redeems.
 */
import { type Static, Type } from 'typebox';
import { Count, Sum, TargetType, Text, Timestamp, toNullable, Uuid } from './common.ts';
import { VoteInfo, voteInfoExample } from './votes.ts';

export const TiersQuery = Type.Object({ target_type: Type.Optional(TargetType) });

export const RedeemQuery = Type.Object({
  votes: Type.String({ description: 'How many votes to redeem: a whole number from 1.', examples: ['250'] }),
});

const tierExample = {
  cents: 10,
  created_at: '2026-03-01T12:00:00.000Z',
  id: 'bot-first-hundred',
  position: 0,
  target_type: 'bot',
  votes: 100,
};
export const VoteCreditTier = Type.Object(
  {
    cents: Type.Integer({ minimum: 0, description: 'Value of one vote, in hundredths.' }),
    created_at: Timestamp,
    id: Text,
    position: Count,
    target_type: Text,
    votes: Type.Integer({
      minimum: 1,
      description: 'Number of votes in this tier; the last tier takes all further votes.',
    }),
  },
  { examples: [tierExample] },
);
export type VoteCreditTier = Static<typeof VoteCreditTier>;

export const VoteCreditTiers = Type.Array(VoteCreditTier, { examples: [[tierExample]] });

const Cents = Type.Integer({ minimum: 0, description: 'In hundredths.' });

export const CreditOverview = Type.Object(
  {
    slab_overview: Type.Array(Count, {
      description:
        'How many redeemable votes fall into each tier; votes redeemed this month fill the tiers first.',
    }),
    tiers: Type.Array(VoteCreditTier),
    total_credits: Type.Integer({ minimum: 0, description: 'Value of these votes, in hundredths.' }),
    vote_info: VoteInfo,
    votes: Sum,
  },
  {
    examples: [
      {
        slab_overview: [40],
        tiers: [tierExample],
        total_credits: 400,
        vote_info: voteInfoExample,
        votes: 40,
      },
    ],
  },
);
export type CreditOverview = Static<typeof CreditOverview>;

const redeemExample = {
  created_at: '2026-03-01T12:00:00.000Z',
  credits: 1_750,
  id: '018f3b7e-7c1a-7d52-9d1e-2f6b1f6f7a20',
  redeemed_at: null,
  redeemed_credits: 0,
  target_id: '815553000470478850',
  target_type: 'bot',
};
export const VoteRedeem = Type.Object(
  {
    created_at: Timestamp,
    credits: Cents,
    id: Uuid,
    redeemed_at: toNullable(Timestamp),
    redeemed_credits: Type.Integer({
      minimum: 0,
      description: 'How much of `credits` was spent in the shop, in hundredths.',
    }),
    target_id: Text,
    target_type: Text,
  },
  { examples: [redeemExample] },
);
export type VoteRedeem = Static<typeof VoteRedeem>;

export const Credits = Type.Object(
  {
    available_credits: Cents,
    redeemed_credits: Type.Integer({ minimum: 0, description: 'Spent in the shop, in hundredths.' }),
    redeems: Type.Array(VoteRedeem, { description: 'The newest 2,000 redeems, newest first.' }),
    total_credits: Cents,
  },
  {
    examples: [
      { available_credits: 1_750, redeemed_credits: 0, redeems: [redeemExample], total_credits: 1_750 },
    ],
  },
);
export type Credits = Static<typeof Credits>;
