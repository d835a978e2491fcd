/**
 * Operations on credit tiers, the shop and the blog (docs/operating.md, "The operator's side"). A write
 * replaces the whole object; the operator chooses its id. Public lists show a change within two seconds.
 */
import { DomainError } from '../../engine/errors.ts';
import type { ShopOutcome } from '../../storage/catalogue/content/shop.ts';
import type { App } from '../app.ts';
import { createNotFoundError } from '../response/errors.ts';
import { type Reply, replyMessage } from '../response/reply.ts';
import { createValidationError } from '../response/validation-error.ts';
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
} from './content-schema.ts';
import { replyList } from './lists.ts';
import { type AdminOperation, defineOperation } from './operation.ts';
import { previewRowRemoval } from './previews.ts';

const tierOperations = [
  defineOperation('tiers list', 'GET /tiers', {
    name: 'listTiers',
    summary: 'Lists all credit tiers.',
    replies: { 200: TierList },
    handle: (app) => listTiers(app),
  }),
  defineOperation('tiers put', 'PUT /tiers/{id}', {
    name: 'putTier',
    summary: 'Adds or replaces a credit tier.',
    params: SlugParams,
    body: TierBody,
    handle: (app, { params, body }) => putTier(app, params.id, body),
  }),
  defineOperation('tiers delete', 'DELETE /tiers/{id}', {
    name: 'deleteTier',
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
  defineOperation('benefits list', 'GET /shop-benefits', {
    name: 'listAllBenefits',
    summary: 'Lists all benefits.',
    replies: { 200: BenefitList },
    handle: (app) => listBenefits(app),
  }),
  defineOperation('items list', 'GET /shop-items', {
    name: 'listAllItems',
    summary: 'Lists all items of the shop.',
    replies: { 200: ItemList },
    handle: (app) => listItems(app),
  }),
];

const shopWrites = [
  defineOperation('benefits put', 'PUT /shop/benefits/{id}', {
    name: 'putBenefit',
    summary: 'Adds or replaces a benefit that items can give.',
    params: SlugParams,
    body: BenefitBody,
    handle: (app, { params, body }) => putBenefit(app, params.id, body),
  }),
  defineOperation('items put', 'PUT /shop/items/{id}', {
    name: 'putItem',
    summary: 'Adds or replaces an item of the shop.',
    params: SlugParams,
    body: ItemBody,
    handle: (app, { params, body }) => putItem(app, params.id, body),
  }),
  defineOperation('coupons put', 'PUT /shop/coupons/{id}', {
    name: 'putCoupon',
    summary: 'Adds or replaces a coupon.',
    params: SlugParams,
    body: CouponBody,
    handle: (app, { params, body }) => putCoupon(app, params.id, body),
  }),
  defineOperation('coupons list', 'GET /shop/coupons', {
    name: 'listCoupons',
    summary: 'Lists all coupons, including those that are not public.',
    replies: { 200: CouponList },
    handle: (app) => listCoupons(app),
  }),
];

const toTitledRow = ({ id, name }: { id: string; name: string }) => ({ id, title: name });

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
  defineOperation(`${noun}s delete`, `DELETE /shop/${noun}s/{id}`, {
    name: `delete_${noun}`,
    summary,
    params: SlugParams,
    preview: (app, { params }) => previewRowRemoval(noun, params.id, listRows(app)),
    handle: async (app, { params }) =>
      toShopReply(await app.catalogue.operator.shop[remove](params.id), { noun, id: params.id }, 'deleted'),
  }),
);

const blogOperations = [
  defineOperation('blog list', 'GET /blog', {
    name: 'listAllPosts',
    summary: 'Lists all posts, including drafts.',
    replies: { 200: BlogPostList },
    handle: (app) => listPosts(app),
  }),
  defineOperation('blog put', 'PUT /blog/{id}', {
    name: 'putPost',
    summary: 'Adds or replaces a post; a draft is not published. Give long text in a file.',
    params: SlugParams,
    body: BlogPostBody,
    handle: (app, { params, body }) => putPost(app, params.id, body),
  }),
  defineOperation('blog delete', 'DELETE /blog/{id}', {
    name: 'deletePost',
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

const createFullError = (noun: string): DomainError =>
  new DomainError('limit_reached', `The maximum number of ${noun} is reached. Delete one first.`);

/** Turns the outcome of a change into a reply, or throws its refusal. `done`: `written` or `deleted`. */
export const toShopReply = (
  outcome: ShopOutcome,
  { noun, id }: { noun: string; id: string },
  done: string,
): Reply => {
  switch (outcome.kind) {
    case 'done':
      return replyMessage(`${noun} ${id} is ${done}.`);
    case 'unknown':
      throw createValidationError('body', {
        [noun === 'item' ? '/benefits' : '/applicable_items']: `do not exist: ${outcome.ids.join(', ')}`,
      });
    case 'full':
      throw createFullError(`${noun}s`);
    case 'code_taken':
      throw new DomainError('already_exists', 'Another coupon already has this code.', {
        '/code': 'is taken',
      });
    case 'in_use':
      throw new DomainError('already_exists', `${noun} ${id} is still used by: ${outcome.by.join(', ')}.`);
    case 'not_found':
      throw createNotFoundError(noun);
  }
};

/** Replies to a deletion. Throws `not_found` if nothing was deleted. */
export const replyRemoved = (removed: boolean, noun: string, id: string): Reply => {
  if (!removed) throw createNotFoundError(noun);
  return replyMessage(`${noun} ${id} is deleted.`);
};

export const listTiers = async (app: App): Promise<Reply> =>
  replyList(TierList, await app.catalogue.credits.tiers(null));

export const putTier = async (app: App, id: string, body: TierBody): Promise<Reply> => {
  if (!(await app.catalogue.operator.tiers.put({ id, ...body }))) throw createFullError('tiers');
  return replyMessage(`tier ${id} is written.`);
};

export const putBenefit = async (app: App, id: string, body: BenefitBody): Promise<Reply> => {
  const fields = {
    id,
    name: body.name,
    description: body.description ?? '',
    target_types: body.target_types ?? [],
  };
  return toShopReply(
    await app.catalogue.operator.shop.putBenefit(fields),
    { noun: 'benefit', id },
    'written',
  );
};

export const putItem = async (app: App, id: string, body: ItemBody): Promise<Reply> => {
  const fields = {
    id,
    name: body.name,
    cents: String(body.cents),
    description: body.description ?? '',
    duration_hours: body.duration ?? 0,
    benefits: body.benefits ?? [],
    target_types: body.target_types ?? [],
  };
  return toShopReply(await app.catalogue.operator.shop.putItem(fields), { noun: 'item', id }, 'written');
};

export const putCoupon = async (app: App, id: string, body: CouponBody): Promise<Reply> => {
  const fields = {
    id,
    code: body.code,
    cents: String(body.cents),
    public: body.public ?? false,
    usable: body.usable ?? true,
    expiry_hours: body.expiry ?? 0,
    max_uses: body.max_uses ?? 0,
    reuse_wait_hours: body.reuse_wait_duration ?? 0,
    allowed_users: body.allowed_users ?? [],
    applicable_items: body.applicable_items ?? [],
    requirements: body.requirements ?? [],
    target_types: body.target_types ?? [],
  };
  return toShopReply(await app.catalogue.operator.shop.putCoupon(fields), { noun: 'coupon', id }, 'written');
};

export const listBenefits = async (app: App): Promise<Reply> =>
  replyList(BenefitList, await app.catalogue.operator.shop.benefits());

export const listItems = async (app: App): Promise<Reply> => {
  const rows = await app.catalogue.operator.shop.items();
  return replyList(
    ItemList,
    rows.map((row) => ({ ...row, duration: row.duration_hours })),
  );
};

export const listCoupons = async (app: App): Promise<Reply> =>
  replyList(CouponList, await app.catalogue.operator.shop.coupons());

export const listPosts = async (app: App): Promise<Reply> =>
  replyList(BlogPostList, await app.catalogue.operator.blog.posts());

export const putPost = async (app: App, slug: string, body: BlogPostBody): Promise<Reply> => {
  await app.catalogue.operator.blog.put({
    slug,
    title: body.title,
    description: body.description ?? '',
    content: body.content,
    tags: body.tags ?? [],
    authorId: body.author,
    draft: body.draft ?? false,
  });
  return replyMessage(`post ${slug} is ${body.draft ? 'a draft' : 'published'}.`);
};
