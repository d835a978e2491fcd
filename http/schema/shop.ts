/**
 * Schemas of the shop (contract §2.21): coupons, items, and the benefits of items.
 */
import { type Static, Type } from 'typebox';
import { buildFlag, buildText, buildTextList, Timestamp, toNullable, User } from './common.ts';
import { buildObject, describe, findExample } from './example.ts';

const buildMoney = (example: number, meaning: string) =>
  Type.Number({
    minimum: 0,
    description: `${meaning}, in hundredths; may be fractional.`,
    examples: [example],
  });
const buildHours = (meaning: string, example: number) =>
  Type.Integer({ minimum: 0, description: `${meaning}, in hours.`, examples: [example] });

const sharedFields = {
  created_at: describe(Timestamp, 'When the operator created it.'),
  created_by: describe(toNullable(User), 'The user who created it; `null`: no user did.'),
  last_updated: describe(Timestamp, 'When it was last changed.'),
  target_types: buildTextList('The kinds of entities it is for: `bot`, `server`.', ['bot', 'server']),
  updated_by: describe(toNullable(User), 'The user who last changed it; `null`: no user did.'),
};
const sharedExamples = { created_by: findExample(User) };

export const ItemBenefit = describe(
  buildObject(
    {
      ...sharedFields,
      description: buildText('Votes every four hours.', 'What it gives, for buyers.'),
      id: buildText('faster-votes', 'Id of the benefit, as items name it.'),
      name: buildText('Faster votes', 'Name of the benefit.'),
    },
    sharedExamples,
  ),
  'Something that an item gives to its buyer.',
);
export type ItemBenefit = Static<typeof ItemBenefit>;

export const ShopItem = describe(
  buildObject(
    {
      ...sharedFields,
      benefits: buildTextList('Ids of the benefits that it gives.', ['faster-votes']),
      cents: buildMoney(499.5, 'Its price'),
      description: buildText(
        'A month in which everybody can vote every four hours.',
        'What it is, for buyers.',
      ),
      duration: buildHours('How long the item lasts', 720),
      id: buildText('premium-month', 'Id of the item.'),
      name: buildText('Premium for a month', 'Name of the item.'),
    },
    sharedExamples,
  ),
  'Something that the shop sells for credits.',
);
export type ShopItem = Static<typeof ShopItem>;

const wholeCoupon = buildObject(
  {
    ...sharedFields,
    allowed_users: Type.Array(Type.String(), {
      description: 'Always empty: the users who may use a coupon are not shown.',
    }),
    applicable_items: buildTextList('Ids of the items it is for.', ['premium-month']),
    cents: buildMoney(100, 'What it takes off the price'),
    code: buildText('SPRING', 'What a buyer types in.'),
    expiry: buildHours('How long the coupon can be used after its creation (0: without limit)', 720),
    id: buildText('spring-sale', 'Id of the coupon.'),
    max_uses: Type.Integer({
      minimum: 0,
      description: 'How often the coupon can be used; 0 means without limit.',
    }),
    public: buildFlag('Whether this list shows it: always true here.', true),
    requirements: buildTextList("What a buyer must fulfil, in the operator's words; usually `[]`.", []),
    reuse_wait_duration: buildHours('How long a user waits before using the coupon again', 24),
    usable: buildFlag('Whether it can be used: always true here.', true),
  },
  sharedExamples,
);
export const Coupon = describe(wholeCoupon, 'A code that takes something off a price.');
export type Coupon = Static<typeof Coupon>;

export const Coupons = buildObject({
  items: describe(Type.Array(Coupon), 'Coupons that are public, usable and not expired.'),
});
export type Coupons = Static<typeof Coupons>;
export const Items = buildObject({
  items: describe(Type.Array(ShopItem), 'The items, in the order of their creation.'),
});
export type Items = Static<typeof Items>;
export const ItemBenefits = buildObject({
  items: describe(Type.Array(ItemBenefit), 'The benefits, in the order of their creation.'),
});
export type ItemBenefits = Static<typeof ItemBenefits>;
