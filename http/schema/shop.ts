/**
 * Schemas of the shop (contract §2.21): coupons, items and what items give.
 */
import { type Static, Type } from 'typebox';
import { Flag, Text, TextList, Timestamp, toNullable, User, userExample } from './common.ts';

const Money = Type.Number({ minimum: 0, description: 'In hundredths; may be fractional.' });
const buildHours = (what: string) => Type.Integer({ minimum: 0, description: `${what}, in hours.` });

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
    duration: buildHours('How long it lasts'),
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
    allowed_users: Type.Array(Type.String(), { description: 'Always empty: nobody sees for whom it is.' }),
    applicable_items: TextList,
    cents: Money,
    code: Text,
    expiry: buildHours('How long it can be used from its creation; 0 is for ever'),
    max_uses: Type.Integer({ minimum: 0, description: '0 is any number.' }),
    public: Flag,
    requirements: TextList,
    reuse_wait_duration: buildHours('How long a user waits before using it again'),
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
