/**
 * Writes and lists tiers, the shop and the blog for operators. Public lists show a change within two seconds.
 */
import { DomainError } from '../../../engine/errors.ts';
import type { ShopOutcome } from '../../../storage/catalogue/content/shop.ts';
import { createValidationError } from '../../response/validation-error.ts';
import { type App, type Reply, replyMessage } from '../../route.ts';
import {
  type BenefitBody,
  BenefitList,
  type BlogPostBody,
  BlogPostList,
  type CouponBody,
  CouponList,
  type ItemBody,
  ItemList,
  type TierBody,
  TierList,
} from '../../schema/operator-content.ts';
import { createNotFoundError } from '../convert.ts';
import { replyList } from './lists.ts';

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
