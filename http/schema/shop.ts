/**
 * Schemas of the shop (contract §2.21): coupons, items, and the benefits of items.
 */
import { type Static, Type } from 'typebox';
import { Flag, Text, TextList, Timestamp, toNullable, User, userExample } from './common.ts';

const Money = Type.Number({ minimum: 0, description: 'In hundredths; may be fractional.' });
const buildHours = (meaning: string) => Type.Integer({ minimum: 0, description: `${meaning}, in hours.` });

const sharedFields = {
  created_at: Timestamp,
  created_by: toNullable(User),
  id: Text,
  last_updated: Timestamp,
  target_types: TextList,
  updated_by: toNullable(User),
};
const sharedExamples = {
  created_at: '2026-03-01T12:00:00.000Z',
  created_by: userExample,
  last_updated: '2026-03-02T12:00:00.000Z',
  target_types: ['bot', 'server'],
  updated_by: null,
};

const benefitExample = {
  ...sharedExamples,
  description: 'Votes every four hours.',
  id: 'faster-votes',
  name: 'Faster votes',
};
export const ItemBenefit = Type.Object(
  { ...sharedFields, description: Text, name: Text },
  { examples: [benefitExample] },
);
export type ItemBenefit = Static<typeof ItemBenefit>;

const itemExample = {
  ...sharedExamples,
  benefits: ['faster-votes'],
  cents: 499.5,
  description: 'A month in which everybody can vote every four hours.',
  duration: 720,
  id: 'premium-month',
  name: 'Premium for a month',
};
export const ShopItem = Type.Object(
  {
    ...sharedFields,
    benefits: TextList,
    cents: Money,
    description: Text,
    duration: buildHours('How long the item lasts'),
    name: Text,
  },
  { examples: [itemExample] },
);
export type ShopItem = Static<typeof ShopItem>;

const couponExample = {
  ...sharedExamples,
  allowed_users: [],
  applicable_items: ['premium-month'],
  cents: 100,
  code: 'SPRING',
  expiry: 720,
  id: 'spring-sale',
  max_uses: 0,
  public: true,
  requirements: [],
  reuse_wait_duration: 24,
  usable: true,
};
export const Coupon = Type.Object(
  {
    ...sharedFields,
    allowed_users: Type.Array(Type.String(), {
      description: 'Always empty: the users who may use a coupon are not shown.',
    }),
    applicable_items: TextList,
    cents: Money,
    code: Text,
    expiry: buildHours('How long the coupon can be used after its creation (0: without limit)'),
    max_uses: Type.Integer({
      minimum: 0,
      description: 'How often the coupon can be used; 0 means without limit.',
    }),
    public: Flag,
    requirements: TextList,
    reuse_wait_duration: buildHours('How long a user waits before using the coupon again'),
    usable: Flag,
  },
  { examples: [couponExample] },
);
export type Coupon = Static<typeof Coupon>;

export const Coupons = Type.Object({ items: Type.Array(Coupon) }, { examples: [{ items: [couponExample] }] });
export type Coupons = Static<typeof Coupons>;
export const Items = Type.Object({ items: Type.Array(ShopItem) }, { examples: [{ items: [itemExample] }] });
export type Items = Static<typeof Items>;
export const ItemBenefits = Type.Object(
  { items: Type.Array(ItemBenefit) },
  { examples: [{ items: [benefitExample] }] },
);
export type ItemBenefits = Static<typeof ItemBenefits>;
