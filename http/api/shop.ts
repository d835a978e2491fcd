/**
 * The shop (contract §2.21, §4.10): three public lists, snapshots that are serialised once. The users who
 * may use a coupon are not shown.
 */
import { Type } from 'typebox';
import type { BenefitRow, CouponRow, ItemRow } from '../../storage/catalogue/content/shop.ts';
import { type Reply, showRow } from '../response/reply.ts';
import { definePublicRoute, defineRoutes } from '../route.ts';
import { buildFlag, buildText, buildTextList, Timestamp, toNullable, User } from './shared/common.ts';
import { replySnapshot, toUser } from './shared/convert.ts';
import { buildObject, describe, describeObject, findExample } from './shared/example.ts';

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
  created_by: toNullable(User, 'The user who created it; `null`: no user did.'),
  last_updated: describe(Timestamp, 'When it was last changed.'),
  target_types: buildTextList('The kinds of entities it is for: `bot`, `server`.', ['bot', 'server']),
  updated_by: toNullable(User, 'The user who last changed it; `null`: no user did.'),
};

const sharedExamples = { created_by: findExample(User) };

export const ItemBenefit = describeObject(
  'Something that an item gives to its buyer.',
  {
    ...sharedFields,
    description: buildText('Votes every four hours.', 'What it gives, for buyers.'),
    id: buildText('faster-votes', 'Id of the benefit, as items name it.'),
    name: buildText('Faster votes', 'Name of the benefit.'),
  },
  sharedExamples,
);

export const ShopItem = describeObject(
  'Something that the shop sells for credits.',
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
);

export const Coupon = describeObject(
  'A code that takes something off a price.',
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

export const Coupons = buildObject({
  items: describe(Type.Array(Coupon), 'Coupons that are public, usable and not expired.'),
});

export const Items = buildObject({
  items: describe(Type.Array(ShopItem), 'The items, in the order of their creation.'),
});

export const ItemBenefits = buildObject({
  items: describe(Type.Array(ItemBenefit), 'The benefits, in the order of their creation.'),
});

export const shopRoutes = defineRoutes('Shop', [
  definePublicRoute('listPublicCoupons', 'GET /shop/public-coupons', {
    summary: 'List coupons',
    description: 'The public coupons that can be used now, in the order of their creation.',
    caching: 'list',
    replies: { 200: Coupons },
    handle: async (app) => replyItems(await app.catalogue.shop.listPublicCoupons(), toCoupon),
  }),
  definePublicRoute('listShopItems', 'GET /shop/items', {
    summary: 'List items',
    description: 'What the shop sells, in the order of creation.',
    caching: 'list',
    replies: { 200: Items },
    handle: async (app) => replyItems(await app.catalogue.shop.listItems(), toItem),
  }),
  definePublicRoute('listItemBenefits', 'GET /shop/item-benefits', {
    summary: 'List benefits',
    description: 'What the items of the shop give, in the order of creation.',
    caching: 'list',
    replies: { 200: ItemBenefits },
    handle: async (app) => replyItems(await app.catalogue.shop.listBenefits(), toBenefit),
  }),
]);

const toUserOrNull = (id: string | null, row: BenefitRow['creator']) =>
  id === null ? null : toUser(row, { id, bot: false });

const toWriters = (row: BenefitRow | ItemRow | CouponRow) => ({
  created_by: toUserOrNull(row.created_by, row.creator),
  updated_by: toUserOrNull(row.updated_by, row.updater),
});

const toBenefit = (row: BenefitRow) => showRow(ItemBenefit, row, toWriters(row));

const toItem = (row: ItemRow) =>
  showRow(ShopItem, row, { ...toWriters(row), cents: Number(row.cents), duration: row.duration_hours });

const toCoupon = (row: CouponRow) =>
  showRow(Coupon, row, {
    ...toWriters(row),
    allowed_users: [],
    cents: Number(row.cents),
    expiry: row.expiry_hours,
    reuse_wait_duration: row.reuse_wait_hours,
  });

const replyItems = <Row>(list: { readonly rows: readonly Row[] }, show: (row: Row) => unknown): Reply =>
  replySnapshot(list, () => ({ items: list.rows.map(show) }));
