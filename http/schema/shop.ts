/**
 * Schemas of the shop (contract §2.21): coupons, items, and the benefits of items.
 */
import { type Static, Type } from 'typebox';
import { buildText, TextList, Timestamp, TrueFlag, toNullable, User } from './common.ts';
import { buildObject, findExample } from './example.ts';

const buildMoney = (example: number) =>
  Type.Number({ minimum: 0, description: 'In hundredths; may be fractional.', examples: [example] });
const buildHours = (meaning: string, example: number) =>
  Type.Integer({ minimum: 0, description: `${meaning}, in hours.`, examples: [example] });

const sharedFields = {
  created_at: Timestamp,
  created_by: toNullable(User),
  last_updated: Timestamp,
  target_types: TextList,
  updated_by: toNullable(User),
};
const sharedExamples = { created_by: findExample(User), target_types: ['bot', 'server'] };

export const ItemBenefit = buildObject(
  {
    ...sharedFields,
    description: buildText('Votes every four hours.'),
    id: buildText('faster-votes'),
    name: buildText('Faster votes'),
  },
  sharedExamples,
);
export type ItemBenefit = Static<typeof ItemBenefit>;

export const ShopItem = buildObject(
  {
    ...sharedFields,
    benefits: TextList,
    cents: buildMoney(499.5),
    description: buildText('A month in which everybody can vote every four hours.'),
    duration: buildHours('How long the item lasts', 720),
    id: buildText('premium-month'),
    name: buildText('Premium for a month'),
  },
  { ...sharedExamples, benefits: ['faster-votes'] },
);
export type ShopItem = Static<typeof ShopItem>;

export const Coupon = buildObject(
  {
    ...sharedFields,
    allowed_users: Type.Array(Type.String(), {
      description: 'Always empty: the users who may use a coupon are not shown.',
    }),
    applicable_items: TextList,
    cents: buildMoney(100),
    code: buildText('SPRING'),
    expiry: buildHours('How long the coupon can be used after its creation (0: without limit)', 720),
    id: buildText('spring-sale'),
    max_uses: Type.Integer({
      minimum: 0,
      description: 'How often the coupon can be used; 0 means without limit.',
    }),
    public: TrueFlag,
    requirements: TextList,
    reuse_wait_duration: buildHours('How long a user waits before using the coupon again', 24),
    usable: TrueFlag,
  },
  { ...sharedExamples, applicable_items: ['premium-month'] },
);
export type Coupon = Static<typeof Coupon>;

export const Coupons = buildObject({ items: Type.Array(Coupon) });
export type Coupons = Static<typeof Coupons>;
export const Items = buildObject({ items: Type.Array(ShopItem) });
export type Items = Static<typeof Items>;
export const ItemBenefits = buildObject({ items: Type.Array(ItemBenefit) });
export type ItemBenefits = Static<typeof ItemBenefits>;
