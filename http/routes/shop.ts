/**
 * Routes of the shop (contract §4.10): three public lists.
 */
import { showBenefits, showCoupons, showItems } from '../handlers/shop.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { Coupons, ItemBenefits, Items } from '../schema/shop.ts';

export const shopRoutes = defineRoutes('Shop', [
  defineRoute({
    name: 'listPublicCoupons',
    pattern: 'GET /shop/public-coupons',
    summary: 'List coupons',
    description: 'The public coupons that can be used now, in the order of their creation.',
    auth: { kind: 'public' },
    caching: 'list',
    replies: { 200: Coupons },
    handle: (app) => showCoupons(app),
  }),
  defineRoute({
    name: 'listShopItems',
    pattern: 'GET /shop/items',
    summary: 'List items',
    description: 'What the shop sells, in the order of creation.',
    auth: { kind: 'public' },
    caching: 'list',
    replies: { 200: Items },
    handle: (app) => showItems(app),
  }),
  defineRoute({
    name: 'listItemBenefits',
    pattern: 'GET /shop/item-benefits',
    summary: 'List benefits',
    description: 'What the items of the shop give, in the order of creation.',
    auth: { kind: 'public' },
    caching: 'list',
    replies: { 200: ItemBenefits },
    handle: (app) => showBenefits(app),
  }),
]);
