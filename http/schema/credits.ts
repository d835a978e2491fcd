/**
 * Schemas of vote credits (contract §2.13, §2.14): tiers, what can be redeemed, and redeems.
 */
import { type Static, Type } from 'typebox';
import { countText } from '../request/patterns.ts';
import {
  buildCount,
  buildSum,
  buildTargetParams,
  buildTargetType,
  buildText,
  Timestamp,
  toNullable,
  Uuid,
} from './common.ts';
import { buildObject, describe, findExample } from './example.ts';
import { VoteInfo } from './votes.ts';

const creditKinds = ['bot', 'server'] as const;
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
    pattern: countText,
    description: 'How many votes to redeem: a whole number from 1.',
    examples: ['250'],
  }),
});

const tierFields = {
  cents: Type.Integer({ minimum: 0, description: 'Value of one vote, in hundredths.', examples: [10] }),
  created_at: describe(Timestamp, 'When the operator created the tier.'),
  id: buildText('bot-first-hundred', 'Id of the tier.'),
  position: buildCount(0, 'Order of the tiers of a kind, lowest first.'),
  target_type: buildText('bot', 'Whose votes it is about: `bot` or `server`.'),
  votes: Type.Integer({
    minimum: 1,
    description: 'Number of votes in this tier; the last tier takes all further votes.',
    examples: [100],
  }),
};
export const VoteCreditTier = describe(buildObject(tierFields), 'What a number of votes is worth.');
export type VoteCreditTier = Static<typeof VoteCreditTier>;

export const VoteCreditTiers = Type.Array(VoteCreditTier, {
  description: 'The tiers of each kind, by `position`; `[]` while there are none.',
  examples: [[findExample(VoteCreditTier)]],
});

const buildCents = (example: number, description: string) =>
  Type.Integer({ minimum: 0, description: `${description}, in hundredths.`, examples: [example] });

export const CreditOverview = buildObject({
  slab_overview: Type.Array(buildCount(40), {
    description:
      'How many redeemable votes fall into each tier; votes redeemed this month fill the tiers first.',
  }),
  tiers: describe(Type.Array(VoteCreditTier), 'The tiers for this kind of entity, by `position`.'),
  total_credits: Type.Integer({
    minimum: 0,
    description: 'Value of these votes, in hundredths.',
    examples: [400],
  }),
  vote_info: describe(VoteInfo, 'The rules for votes on this entity, as of now.'),
  votes: buildSum(40, 'Upvotes minus downvotes that were not redeemed; may be negative.'),
});
export type CreditOverview = Static<typeof CreditOverview>;

const redeemFields = {
  created_at: describe(Timestamp, 'When the votes were redeemed.'),
  credits: buildCents(1_750, 'What the votes were worth'),
  id: describe(Uuid, 'Id of the redeem; its votes have it as `credit_redeem`.'),
  redeemed_at: describe(toNullable(Timestamp), 'When its credits were spent; `null`: not yet.'),
  redeemed_credits: Type.Integer({
    minimum: 0,
    description: 'How much of `credits` was spent in the shop, in hundredths.',
  }),
  target_id: buildText('815553000470478850', 'Id of the bot or server.'),
  target_type: buildText('bot', '`bot` or `server`.'),
};
export const VoteRedeem = describe(buildObject(redeemFields), 'Votes that were turned into credits at once.');
export type VoteRedeem = Static<typeof VoteRedeem>;

export const Credits = buildObject({
  available_credits: buildCents(1_750, 'What can still be spent'),
  redeemed_credits: Type.Integer({ minimum: 0, description: 'Spent in the shop, in hundredths.' }),
  redeems: Type.Array(VoteRedeem, { description: 'The newest 2,000 redeems, newest first.' }),
  total_credits: buildCents(1_750, 'Credits of all redeems together'),
});
export type Credits = Static<typeof Credits>;
