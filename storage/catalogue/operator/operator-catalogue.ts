/**
 * What only operators read and change, in one object: audit, people, listings, votes, and the directory's
 * content (tiers, shop, blog, positions, reserved names).
 *
 * Only combines functions of the other files. Handlers of the private listener are its only callers; they
 * update caches, sessions and the engine after a change.
 */
import type { EntityKind, Incarnation } from '../../../engine/ids.ts';
import { resetVotes, type VoteReset, voidVote } from '../../ledger/adjust.ts';
import type { Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { createListingEdits } from '../bots/listing-edits.ts';
import {
  type AppState,
  type AppVerdict,
  deletePosition,
  listApplications,
  listPositions,
  type PositionFields,
  reviewApplication,
  upsertPosition,
} from '../content/applications.ts';
import { deletePost, listAllPosts, type PostFields, upsertPost } from '../content/blog.ts';
import { createReservedNames } from '../content/reserved-names.ts';
import {
  type BenefitFields,
  type CouponFields,
  deleteBenefit,
  deleteCoupon,
  deleteItem,
  type ItemFields,
  listBenefits,
  listCoupons,
  listItems,
  upsertBenefit,
  upsertCoupon,
  upsertItem,
} from '../content/shop.ts';
import { createPeopleEdits } from '../people/people-edits.ts';
import { deleteTier, type TierRow, upsertTier } from '../votes/credits.ts';
import { createAudit } from './audit.ts';
import { createDirectoryLists } from './directory-lists.ts';
import { createFailures } from './failures.ts';
import { createPreviews } from './previews.ts';
import { createUuidLookup } from './uuids.ts';

const createShopCatalogue = (sql: Sql) => ({
  putBenefit: (fields: BenefitFields) => asStorage('shop.putBenefit', () => upsertBenefit(sql, fields, null)),
  putItem: (fields: ItemFields) => asStorage('shop.putItem', () => upsertItem(sql, fields, null)),
  putCoupon: (fields: CouponFields) => asStorage('shop.putCoupon', () => upsertCoupon(sql, fields, null)),
  removeBenefit: (id: string) => asStorage('shop.removeBenefit', () => deleteBenefit(sql, id)),
  removeItem: (id: string) => asStorage('shop.removeItem', () => deleteItem(sql, id)),
  removeCoupon: (id: string) => asStorage('shop.removeCoupon', () => deleteCoupon(sql, id)),
  benefits: () => asStorage('shop.benefits', () => listBenefits(sql)),
  items: () => asStorage('shop.items', () => listItems(sql)),
  /** All coupons, also those that are not public. */
  coupons: () => asStorage('shop.coupons', () => listCoupons(sql)),
});

const createVotesCatalogue = (sql: Sql) => ({
  /** The caller flushes before, and delivers the adjustment afterwards. */
  voidOne: (itag: string) => voidVote(sql, itag, 'operator'),
  /** Resolves to the number of listings changed, or -1 when this same reset was made before. */
  reset: (reset: VoteReset) => resetVotes(sql, reset),
  /** The incarnation of a listing; `null` when there is none. */
  incarnationOf: (kind: EntityKind, id: string) =>
    asStorage('votes.incarnationOf', async () => {
      const [row] = await sql<{ incarnation: Incarnation }[]>`
        select incarnation from totals where kind = ${kind} and entity_id = ${id}`;
      return row?.incarnation ?? null;
    }),
});

/** Every change is ledger when it resolves. */
export const createOperatorCatalogue = (sql: Sql) => ({
  audit: createAudit(sql),
  people: createPeopleEdits(sql),
  listings: createListingEdits(sql),
  reservedNames: createReservedNames(sql),
  failures: createFailures(sql),
  lists: createDirectoryLists(sql),
  previews: createPreviews(sql),
  findByUuid: createUuidLookup(sql),
  votes: createVotesCatalogue(sql),
  tiers: {
    /** False when the limit on tiers is reached. */
    put: (tier: Omit<TierRow, 'created_at'>) => asStorage('tiers.put', () => upsertTier(sql, tier)),
    remove: (id: string) => asStorage('tiers.remove', () => deleteTier(sql, id)),
  },
  shop: createShopCatalogue(sql),
  blog: {
    /** All posts, also drafts. */
    posts: () => asStorage('blog.all', () => listAllPosts(sql)),
    put: (post: PostFields) => upsertPost(sql, post),
    remove: (slug: string) => deletePost(sql, slug),
  },
  positions: {
    /** All positions, also hidden ones. */
    listAll: () => asStorage('applications.allPositions', () => listPositions(sql)),
    put: (fields: PositionFields) => upsertPosition(sql, fields),
    remove: (id: string) => deletePosition(sql, id),
  },
  applications: {
    page: (state: AppState, page: number) => listApplications(sql, state, page),
    review: (id: string, verdict: AppVerdict) => reviewApplication(sql, id, verdict),
  },
});

export type OperatorCatalogue = ReturnType<typeof createOperatorCatalogue>;
