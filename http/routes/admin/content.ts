/**
 * Operations on credit tiers, the shop and the blog (docs/operating.md, "The operator's side"). A write
 * replaces the whole object; the operator chooses its id.
 */
import {
  listBenefits,
  listCoupons,
  listItems,
  listPosts,
  listTiers,
  putBenefit,
  putCoupon,
  putItem,
  putPost,
  putTier,
  replyRemoved,
  toShopReply,
} from '../../handlers/operator/content.ts';
import { previewRowRemoval } from '../../handlers/operator/previews.ts';
import type { App } from '../../route.ts';
import {
  BenefitBody,
  BenefitList,
  BlogPostBody,
  BlogPostList,
  CouponBody,
  CouponList,
  ItemBody,
  ItemList,
  SlugParams,
  TierBody,
  TierList,
} from '../../schema/operator-content.ts';
import { type AdminOperation, defineOperation } from './operation.ts';

const tierOperations = [
  defineOperation({
    command: 'tiers list',
    name: 'listTiers',
    pattern: 'GET /tiers',
    summary: 'Lists all credit tiers.',
    replies: { 200: TierList },
    handle: (app) => listTiers(app),
  }),
  defineOperation({
    command: 'tiers put',
    name: 'putTier',
    pattern: 'PUT /tiers/{id}',
    summary: 'Adds or replaces a credit tier.',
    params: SlugParams,
    body: TierBody,
    handle: (app, { params, body }) => putTier(app, params.id, body),
  }),
  defineOperation({
    command: 'tiers delete',
    name: 'deleteTier',
    pattern: 'DELETE /tiers/{id}',
    summary: 'Deletes a credit tier.',
    params: SlugParams,
    preview: (app, { params }) =>
      previewRowRemoval(
        'tier',
        params.id,
        app.catalogue.credits.tiers(null).then((rows) => rows.map(({ id }) => ({ id, title: '' }))),
      ),
    handle: async (app, { params }) =>
      replyRemoved(await app.catalogue.operator.tiers.remove(params.id), 'tier', params.id),
  }),
];

const shopLists = [
  defineOperation({
    command: 'benefits list',
    name: 'listAllBenefits',
    pattern: 'GET /shop-benefits',
    summary: 'Lists all benefits.',
    replies: { 200: BenefitList },
    handle: (app) => listBenefits(app),
  }),
  defineOperation({
    command: 'items list',
    name: 'listAllItems',
    pattern: 'GET /shop-items',
    summary: 'Lists all items of the shop.',
    replies: { 200: ItemList },
    handle: (app) => listItems(app),
  }),
];

const shopWrites = [
  defineOperation({
    command: 'benefits put',
    name: 'putBenefit',
    pattern: 'PUT /shop/benefits/{id}',
    summary: 'Adds or replaces a benefit that items can give.',
    params: SlugParams,
    body: BenefitBody,
    handle: (app, { params, body }) => putBenefit(app, params.id, body),
  }),
  defineOperation({
    command: 'items put',
    name: 'putItem',
    pattern: 'PUT /shop/items/{id}',
    summary: 'Adds or replaces an item of the shop.',
    params: SlugParams,
    body: ItemBody,
    handle: (app, { params, body }) => putItem(app, params.id, body),
  }),
  defineOperation({
    command: 'coupons put',
    name: 'putCoupon',
    pattern: 'PUT /shop/coupons/{id}',
    summary: 'Adds or replaces a coupon.',
    params: SlugParams,
    body: CouponBody,
    handle: (app, { params, body }) => putCoupon(app, params.id, body),
  }),
  defineOperation({
    command: 'coupons list',
    name: 'listCoupons',
    pattern: 'GET /shop/coupons',
    summary: 'Lists all coupons, including those that are not public.',
    replies: { 200: CouponList },
    handle: (app) => listCoupons(app),
  }),
];

const toTitledRow = ({ id, name }: { readonly id: string; readonly name: string }) => ({ id, title: name });

const shopNouns = [
  {
    noun: 'benefit',
    remove: 'removeBenefit',
    summary: 'Deletes a benefit; refused while an item gives it.',
    listRows: async (app: App) => (await app.catalogue.operator.shop.benefits()).map(toTitledRow),
  },
  {
    noun: 'item',
    remove: 'removeItem',
    summary: 'Deletes an item; refused while a coupon applies to it.',
    listRows: async (app: App) => (await app.catalogue.operator.shop.items()).map(toTitledRow),
  },
  {
    noun: 'coupon',
    remove: 'removeCoupon',
    summary: 'Deletes a coupon.',
    listRows: async (app: App) =>
      (await app.catalogue.operator.shop.coupons()).map(({ id, code }) => ({ id, title: code })),
  },
] as const;
const shopDeletions = shopNouns.map(({ noun, remove, summary, listRows }) =>
  defineOperation({
    command: `${noun}s delete`,
    name: `delete_${noun}`,
    pattern: `DELETE /shop/${noun}s/{id}`,
    summary,
    params: SlugParams,
    preview: (app, { params }) => previewRowRemoval(noun, params.id, listRows(app)),
    handle: async (app, { params }) =>
      toShopReply(await app.catalogue.operator.shop[remove](params.id), { noun, id: params.id }, 'deleted'),
  }),
);

const blogOperations = [
  defineOperation({
    command: 'blog list',
    name: 'listAllPosts',
    pattern: 'GET /blog',
    summary: 'Lists all posts, including drafts.',
    replies: { 200: BlogPostList },
    handle: (app) => listPosts(app),
  }),
  defineOperation({
    command: 'blog put',
    name: 'putPost',
    pattern: 'PUT /blog/{id}',
    summary: 'Adds or replaces a post; a draft is not published. Give long text in a file.',
    params: SlugParams,
    body: BlogPostBody,
    handle: (app, { params, body }) => putPost(app, params.id, body),
  }),
  defineOperation({
    command: 'blog delete',
    name: 'deletePost',
    pattern: 'DELETE /blog/{id}',
    summary: 'Deletes a post or draft.',
    params: SlugParams,
    preview: (app, { params }) =>
      previewRowRemoval(
        'post',
        params.id,
        app.catalogue.operator.blog
          .posts()
          .then((rows) => rows.map(({ slug: id, title }) => ({ id, title }))),
      ),
    handle: async (app, { params }) =>
      replyRemoved(await app.catalogue.operator.blog.remove(params.id), 'post', params.id),
  }),
];

export const contentOperations: readonly AdminOperation[] = [
  ...tierOperations,
  ...shopLists,
  ...shopWrites,
  ...shopDeletions,
  ...blogOperations,
];
