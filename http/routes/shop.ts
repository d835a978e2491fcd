/**
 * Routes of the shop (contract §4.10): three public lists.
 */
import { showBenefits, showCoupons, showItems } from '../handlers/shop.ts';
import { defineRoute, defineRoutes } from '../route.ts';
import { Coupons, ItemBenefits, Items } from '../schema/shop.ts';

export const shopRoutes = defineRoutes('Shop', [
  defineRoute({
    name: 'listPublicCoupons',
    method: 'GET',
    path: '/shop/public-coupons',
    summary: 'Lists the public coupons that can be used now.',
    auth: { kind: 'public' },
    caching: 'list',
    replies: { 200: Coupons },
    handle: (app) => showCoupons(app),
  }),
  defineRoute({
    name: 'listShopItems',
    method: 'GET',
    path: '/shop/items',
    summary: 'Lists the items that the shop sells.',
    auth: { kind: 'public' },
    caching: 'list',
    replies: { 200: Items },
    handle: (app) => showItems(app),
  }),
  defineRoute({
    name: 'listItemBenefits',
    method: 'GET',
    path: '/shop/item-benefits',
    summary: 'Lists the benefits that items give.',
    auth: { kind: 'public' },
    caching: 'list',
    replies: { 200: ItemBenefits },
    handle: (app) => showBenefits(app),
  }),
]);
