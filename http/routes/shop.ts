/**
 * Rows of the shop (contract §4.10): three public lists.
 */
import { showBenefits, showCoupons, showItems } from '../replies/shop.ts';
import { type AnyRow, route } from '../route.ts';
import { NoParams } from '../schema/common.ts';
import { Coupons, ItemBenefits, Items } from '../schema/shop.ts';

const section = 'Shop';

export const shopRows: readonly AnyRow[] = [
  route({
    name: 'listPublicCoupons',
    method: 'GET',
    path: '/shop/public-coupons',
    section,
    summary: 'Coupons that everybody may see and that can be used now.',
    auth: { word: 'public' },
    caching: 'list',
    params: NoParams,
    replies: { 200: Coupons },
    errors: [],
    handle: (app) => showCoupons(app),
  }),
  route({
    name: 'listShopItems',
    method: 'GET',
    path: '/shop/items',
    section,
    summary: 'What the shop sells.',
    auth: { word: 'public' },
    caching: 'list',
    params: NoParams,
    replies: { 200: Items },
    errors: [],
    handle: (app) => showItems(app),
  }),
  route({
    name: 'listItemBenefits',
    method: 'GET',
    path: '/shop/item-benefits',
    section,
    summary: 'What items give.',
    auth: { word: 'public' },
    caching: 'list',
    params: NoParams,
    replies: { 200: ItemBenefits },
    errors: [],
    handle: (app) => showBenefits(app),
  }),
];
