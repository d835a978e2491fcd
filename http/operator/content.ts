/**
 * Operations on credit tiers, the shop and the blog (docs/operators/commands.md). A write
 * replaces the whole object; the operator chooses its id. Public lists show a change within two seconds.
 */
import { DomainError } from '../../engine/errors.ts';
import type { ShopOutcome } from '../../storage/catalogue/content/shop.ts';
import type { App } from '../app.ts';
import { createNotFoundError, createValidationError } from '../response/errors.ts';
import { replyMessage } from '../response/reply.ts';
import type { RoutePattern } from '../route.ts';
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
import { defineList } from './lists.ts';
import { type AdminOperation, defineOperation } from './operation.ts';
import { type NamedRow, previewRowRemoval } from './previews.ts';

interface Deletion {
  readonly summary: string;
  readonly noun: string;
  /** All rows that can be deleted, for the preview. */
  readonly listRows: (app: App) => Promise<readonly NamedRow[]>;
  /** False, like `not_found`, if there is none with this id. */
  readonly remove: (app: App, id: string) => Promise<ShopOutcome | boolean>;
}

/** An operation that deletes the row with the id in the path. */
export const defineDeletion = (
  command: string,
  pattern: RoutePattern,
  { summary, noun, listRows, remove }: Deletion,
): AdminOperation =>
  defineOperation(command, pattern, {
    summary,
    params: SlugParams,
    preview: (app, { params: { id } }) => previewRowRemoval(noun, id, listRows(app)),
    handle: async (app, { params: { id } }) => {
      const removed = await remove(app, id);
      const outcome =
        typeof removed === 'object' ? removed : ({ kind: removed ? 'done' : 'not_found' } as const);
      return toShopReply(outcome, { noun, id }, 'deleted');
    },
  });

const tierOperations = [
  defineList('tiers list', 'GET /tiers', {
    summary: 'Lists all credit tiers.',
    list: TierList,
    read: (app) => app.catalogue.credits.tiers(null),
  }),
  defineOperation('tiers put', 'PUT /tiers/{id}', {
    summary: 'Adds or replaces a credit tier.',
    params: SlugParams,
    body: TierBody,
    handle: async (app, { params: { id }, body }) => {
      if (!(await app.catalogue.operator.tiers.put({ ...body, id }))) throw createFullError('tiers');
      return replyMessage(`tier ${id} is written.`);
    },
  }),
  defineDeletion('tiers delete', 'DELETE /tiers/{id}', {
    summary: 'Deletes a credit tier.',
    noun: 'tier',
    listRows: (app) => app.catalogue.credits.tiers(null),
    remove: (app, id) => app.catalogue.operator.tiers.remove(id),
  }),
];

const shopLists = [
  defineList('benefits list', 'GET /shop-benefits', {
    summary: 'Lists all benefits.',
    list: BenefitList,
    read: (app) => app.catalogue.operator.shop.listBenefits(),
  }),
  defineList('items list', 'GET /shop-items', {
    summary: 'Lists all items of the shop.',
    list: ItemList,
    read: async (app) => {
      const rows = await app.catalogue.operator.shop.listItems();
      return rows.map((row) => ({ ...row, duration: row.duration_hours }));
    },
  }),
];

const shopWrites = [
  defineOperation('benefits put', 'PUT /shop/benefits/{id}', {
    summary: 'Adds or replaces a benefit that items can give.',
    params: SlugParams,
    body: BenefitBody,
    handle: async (app, { params: { id }, body }) => {
      const { name, description = '', target_types = [] } = body;
      const fields = { id, name, description, target_types };
      const outcome = await app.catalogue.operator.shop.upsertBenefit(fields);
      return toShopReply(outcome, { noun: 'benefit', id }, 'written');
    },
  }),
  defineOperation('items put', 'PUT /shop/items/{id}', {
    summary: 'Adds or replaces an item of the shop.',
    params: SlugParams,
    body: ItemBody,
    handle: async (app, { params: { id }, body }) => {
      const { name, cents, description = '', benefits = [], target_types = [], duration = 0 } = body;
      const texts = { id, name, cents: String(cents), description };
      const fields = { ...texts, duration_hours: duration, benefits, target_types };
      const outcome = await app.catalogue.operator.shop.upsertItem(fields);
      return toShopReply(outcome, { noun: 'item', id }, 'written');
    },
  }),
  defineOperation('coupons put', 'PUT /shop/coupons/{id}', {
    summary: 'Adds or replaces a coupon.',
    params: SlugParams,
    body: CouponBody,
    handle: async (app, { params: { id }, body }) => {
      const outcome = await app.catalogue.operator.shop.upsertCoupon(toCoupon(id, body));
      return toShopReply(outcome, { noun: 'coupon', id }, 'written');
    },
  }),
  defineList('coupons list', 'GET /shop/coupons', {
    summary: 'Lists all coupons, including those that are not public.',
    list: CouponList,
    read: (app) => app.catalogue.operator.shop.listCoupons(),
  }),
];

const shopDeletions = [
  defineDeletion('benefits delete', 'DELETE /shop/benefits/{id}', {
    summary: 'Deletes a benefit; refused while an item gives it.',
    noun: 'benefit',
    listRows: (app) => app.catalogue.operator.shop.listBenefits(),
    remove: (app, id) => app.catalogue.operator.shop.deleteBenefit(id),
  }),
  defineDeletion('items delete', 'DELETE /shop/items/{id}', {
    summary: 'Deletes an item; refused while a coupon applies to it.',
    noun: 'item',
    listRows: (app) => app.catalogue.operator.shop.listItems(),
    remove: (app, id) => app.catalogue.operator.shop.deleteItem(id),
  }),
  defineDeletion('coupons delete', 'DELETE /shop/coupons/{id}', {
    summary: 'Deletes a coupon.',
    noun: 'coupon',
    listRows: async (app) =>
      (await app.catalogue.operator.shop.listCoupons()).map(({ id, code: name }) => ({ id, name })),
    remove: (app, id) => app.catalogue.operator.shop.deleteCoupon(id),
  }),
];

const blogOperations = [
  defineList('blog list', 'GET /blog', {
    summary: 'Lists all posts, including drafts.',
    list: BlogPostList,
    read: (app) => app.catalogue.operator.blog.posts(),
  }),
  defineOperation('blog put', 'PUT /blog/{id}', {
    summary: 'Adds or replaces a post; a draft is not published. Give long text in a file.',
    params: SlugParams,
    body: BlogPostBody,
    handle: async (app, { params: { id: slug }, body: { author: authorId, ...body } }) => {
      const empty = { description: '', tags: [], draft: false };
      await app.catalogue.operator.blog.put({ ...empty, ...body, slug, authorId });
      return replyMessage(`post ${slug} is ${body.draft ? 'a draft' : 'published'}.`);
    },
  }),
  defineDeletion('blog delete', 'DELETE /blog/{id}', {
    summary: 'Deletes a post or draft.',
    noun: 'post',
    listRows: async (app) =>
      (await app.catalogue.operator.blog.posts()).map(({ slug: id, title: name }) => ({ id, name })),
    remove: (app, id) => app.catalogue.operator.blog.remove(id),
  }),
];

export const contentOperations: readonly AdminOperation[] = [
  ...tierOperations,
  ...shopLists,
  ...shopWrites,
  ...shopDeletions,
  ...blogOperations,
];

export const createFullError = (noun: string): DomainError =>
  new DomainError('limit_reached', `The maximum number of ${noun} is reached. Delete one first.`);

/** Turns the outcome of a change into a reply, or throws its refusal. `done`: `written` or `deleted`. */
const toShopReply = (outcome: ShopOutcome, { noun, id }: { noun: string; id: string }, done: string) => {
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

/** Only these fields: the catalogue writes all that it gets. */
const toCoupon = (id: string, body: CouponBody) => ({
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
});
