/**
 * Schemas of the content that operators write: tiers, shop, blog, positions, applications. A write replaces
 * the whole object; absent fields get the default that their description names.
 */
import { type Static, Type } from 'typebox';
import { creditKinds } from '../../engine/rules/credits.ts';
import { Flag, Text, TextList, Timestamp, Uuid } from '../api/shared/common.ts';
import { buildLine, buildProse, buildTags } from '../api/shared/fields.ts';
import { slug } from '../api/shared/patterns.ts';
import { buildList } from './list-schema.ts';
import { NewUserId } from './schema.ts';

const Slug = Type.String({
  pattern: slug,
  description: 'Letters a-z, digits, - and _.',
});

export const SlugParams = Type.Object({ id: Slug });
const optional = Type.Optional;

const buildNameList = (example: string) =>
  optional(Type.Array(buildLine(1, 128, example), { maxItems: 200, uniqueItems: true }));

const targetTypes = optional(
  Type.Array(Type.Enum(['bot', 'server'], { description: 'bot or server.' }), {
    maxItems: 2,
    uniqueItems: true,
  }),
);

const hours = optional(Type.Integer({ minimum: 0, maximum: 876_000, description: 'Hours; 0 if absent.' }));
const cents = Type.Number({ minimum: 0, maximum: 1e12, description: 'In hundredths; may be fractional.' });

export const TierBody = Type.Object({
  target_type: Type.Enum([...creditKinds], { description: 'bot or server.' }),
  position: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'Position of the tier among the tiers.',
  }),
  votes: Type.Integer({
    minimum: 1,
    maximum: 1_000_000_000_000,
    description: 'Number of votes in the tier.',
  }),
  cents: Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'Value of one vote, in hundredths.' }),
});

export const TierList = buildList('tiers', {
  id: Text,
  target_type: Text,
  position: Type.Number(),
  votes: Type.Number(),
  cents: Type.Number(),
});

export const BenefitBody = Type.Object({
  name: buildLine(1, 100, 'Faster votes'),
  description: optional(buildProse(0, 2_000, 'Votes every four hours.')),
  target_types: targetTypes,
});

export const ItemBody = Type.Object({
  name: buildLine(1, 100, 'Premium for a month'),
  cents,
  description: optional(buildProse(0, 2_000, 'A month of faster votes.')),
  duration: hours,
  benefits: buildNameList('faster-votes'),
  target_types: targetTypes,
});

export const CouponBody = Type.Object({
  code: buildLine(1, 64, 'SPRING'),
  cents,
  public: optional(Flag),
  usable: optional(
    Type.Boolean({
      description: 'Whether the coupon can be used; true if absent. --no-usable sets it to false.',
    }),
  ),
  expiry: hours,
  max_uses: optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_147_483_647,
      description: 'How often the coupon can be used; 0 or absent means without limit.',
    }),
  ),
  reuse_wait_duration: hours,
  allowed_users: buildNameList('728871946456137770'),
  applicable_items: buildNameList('premium-month'),
  requirements: buildNameList('certified'),
  target_types: targetTypes,
});
export type CouponBody = Static<typeof CouponBody>;

export const ItemList = buildList('items', {
  id: Text,
  name: Text,
  cents: Text,
  duration: Type.Integer(),
  benefits: TextList,
});

export const BenefitList = buildList('benefits', { id: Text, name: Text, target_types: TextList });

export const CouponList = buildList('coupons', {
  id: Text,
  code: Text,
  cents: Text,
  public: Flag,
  usable: Flag,
  created_at: Timestamp,
});

export const BlogPostBody = Type.Object({
  title: buildLine(1, 200, 'Welcome'),
  description: optional(buildLine(0, 500, 'What this directory is.')),
  content: buildProse(1, 200_000, 'Everything here is counted.'),
  tags: optional(buildTags(0)),
  author: NewUserId,
  draft: optional(Flag),
});

export const BlogPostList = buildList('posts', {
  slug: Text,
  title: Text,
  draft: Flag,
  created_at: Timestamp,
});

const QuestionBody = Type.Object({
  id: Slug,
  question: buildLine(1, 300, 'Why do you want to join?'),
  paragraph: optional(buildProse(0, 2_000, 'Tell us what draws you to this.')),
  placeholder: optional(buildLine(0, 300, 'I want to join because …')),
  short: optional(Flag),
});

export const PositionList = buildList('positions', {
  id: Text,
  name: Text,
  closed: Flag,
  hidden: Flag,
  questions: Type.Integer(),
});

export const PositionBody = Type.Object({
  name: buildLine(1, 100, 'Staff'),
  ordinal: optional(Type.Integer({ minimum: 0, maximum: 1_000_000, description: 'Position in the list.' })),
  info: optional(buildProse(0, 4_000, 'Review new entries.')),
  tags: buildNameList('Reviews'),
  questions: Type.Array(QuestionBody, { minItems: 1, maxItems: 50 }),
  closed: optional(Flag),
  hidden: optional(Flag),
  cooldown: hours,
});
export type PositionBody = Static<typeof PositionBody>;

export const ApplicationParams = Type.Object({
  app_id: Type.String({ ...Uuid, description: 'Id of the application, as `applications list` shows it.' }),
});

export const ApplicationsQuery = Type.Object({
  state: optional(
    Type.Enum(['pending', 'approved', 'denied'], {
      description: 'pending, approved or denied; pending if absent.',
    }),
  ),
  page: optional(Type.String({ description: 'Page number, from 1.' })),
});

export const ReviewBody = Type.Object({
  state: Type.Enum(['approved', 'denied'], { description: 'approved or denied.' }),
  feedback: optional(buildProse(0, 4_000, 'Welcome aboard.')),
});

export const OperatorApplications = buildList('applications', {
  app_id: Text,
  user_id: Text,
  position: Text,
  state: Text,
  created_at: Timestamp,
  answers: Type.Record(Type.String(), Type.String()),
});
