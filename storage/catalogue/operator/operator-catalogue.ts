/**
 * What only operators read and change, in one object: audit, people, listings, votes, and the directory's
 * content (tiers, shop, blog, positions, reserved names).
 *
 * Only combines functions of the other files. Handlers of the private listener are its only callers; they
 * update caches, sessions and the engine after a change.
 */
import type { EntityKind, Incarnation } from '../../../engine/ids.ts';
import { resetVotes, type VoidOutcome, type VoteReset, voidVote } from '../../ledger/adjust.ts';
import type { Sql } from '../../sql/client.ts';
import { asStorage } from '../../sql/errors.ts';
import { createListingEdits, type ListingEdits } from '../bots/listing-edits.ts';
import {
  type AppRow,
  type AppState,
  deletePosition,
  listApplications,
  listPositions,
  type PositionFields,
  type PositionRow,
  reviewApplication,
  upsertPosition,
} from '../content/applications.ts';
import { deletePost, listAllPosts, type PostFields, type PostRow, upsertPost } from '../content/blog.ts';
import { createReservedNames, type ReservedNames } from '../content/reserved-names.ts';
import {
  type BenefitFields,
  type BenefitRow,
  type CouponFields,
  type CouponRow,
  deleteBenefit,
  deleteCoupon,
  deleteItem,
  type ItemFields,
  type ItemRow,
  listBenefits,
  listCoupons,
  listItems,
  type ShopOutcome,
  upsertBenefit,
  upsertCoupon,
  upsertItem,
} from '../content/shop.ts';
import { createPeopleEdits, type PeopleEdits } from '../people/people-edits.ts';
import { deleteTier, type TierRow, upsertTier } from '../votes/credits.ts';
import { type Audit, createAudit } from './audit.ts';
import { createDirectoryLists, type DirectoryLists } from './directory-lists.ts';
import { createFailures, type Failures } from './failures.ts';
import { createPreviews, type Previews } from './previews.ts';

/** Every change is ledger when it resolves. */
export interface OperatorCatalogue {
  readonly audit: Audit;
  readonly people: PeopleEdits;
  readonly listings: ListingEdits;
  readonly reservedNames: ReservedNames;
  readonly failures: Failures;
  readonly lists: DirectoryLists;
  readonly previews: Previews;
  readonly votes: {
    /** The caller flushes before, and delivers the adjustment afterwards. */
    voidOne(itag: string): Promise<VoidOutcome>;
    /** Resolves to the number of listings changed, or -1 when this same reset was made before. */
    reset(reset: VoteReset): Promise<number>;
    /** The incarnation of a listing; `null` when there is none. */
    incarnationOf(kind: EntityKind, id: string): Promise<Incarnation | null>;
  };
  readonly tiers: {
    /** False when the limit on tiers is reached. */
    put(tier: Omit<TierRow, 'created_at'>): Promise<boolean>;
    remove(id: string): Promise<boolean>;
  };
  readonly shop: {
    putBenefit(fields: BenefitFields): Promise<ShopOutcome>;
    putItem(fields: ItemFields): Promise<ShopOutcome>;
    putCoupon(fields: CouponFields): Promise<ShopOutcome>;
    removeBenefit(id: string): Promise<ShopOutcome>;
    removeItem(id: string): Promise<ShopOutcome>;
    removeCoupon(id: string): Promise<ShopOutcome>;
    benefits(): Promise<readonly BenefitRow[]>;
    items(): Promise<readonly ItemRow[]>;
    /** All coupons, also those that are not public. */
    coupons(): Promise<readonly CouponRow[]>;
  };
  readonly blog: {
    /** All posts, also drafts. */
    posts(): Promise<readonly PostRow[]>;
    put(post: PostFields): Promise<void>;
    remove(slug: string): Promise<boolean>;
  };
  readonly positions: {
    /** All positions, also hidden ones. */
    listAll(): Promise<readonly PositionRow[]>;
    put(fields: PositionFields): ReturnType<typeof upsertPosition>;
    remove(id: string): Promise<boolean>;
  };
  readonly applications: {
    page(
      state: AppState,
      page: number,
    ): Promise<{ readonly count: number; readonly rows: readonly AppRow[] }>;
    review(
      id: string,
      verdict: { readonly state: 'approved' | 'denied'; readonly feedback: string },
    ): ReturnType<typeof reviewApplication>;
  };
}

const createShopCatalogue = (sql: Sql): OperatorCatalogue['shop'] => ({
  putBenefit: (fields) => asStorage('shop.putBenefit', () => upsertBenefit(sql, fields, null)),
  putItem: (fields) => asStorage('shop.putItem', () => upsertItem(sql, fields, null)),
  putCoupon: (fields) => asStorage('shop.putCoupon', () => upsertCoupon(sql, fields, null)),
  removeBenefit: (id) => asStorage('shop.removeBenefit', () => deleteBenefit(sql, id)),
  removeItem: (id) => asStorage('shop.removeItem', () => deleteItem(sql, id)),
  removeCoupon: (id) => asStorage('shop.removeCoupon', () => deleteCoupon(sql, id)),
  benefits: () => asStorage('shop.benefits', () => listBenefits(sql)),
  items: () => asStorage('shop.items', () => listItems(sql)),
  coupons: () => asStorage('shop.coupons', () => listCoupons(sql)),
});

const createVotesCatalogue = (sql: Sql): OperatorCatalogue['votes'] => ({
  voidOne: (itag) => voidVote(sql, itag, 'operator'),
  reset: (reset) => resetVotes(sql, reset),
  incarnationOf: (kind, id) =>
    asStorage('votes.incarnationOf', async () => {
      const [row] = await sql<{ incarnation: Incarnation }[]>`
        select incarnation from totals where kind = ${kind} and entity_id = ${id}`;
      return row?.incarnation ?? null;
    }),
});

export const createOperatorCatalogue = (sql: Sql): OperatorCatalogue => ({
  audit: createAudit(sql),
  people: createPeopleEdits(sql),
  listings: createListingEdits(sql),
  reservedNames: createReservedNames(sql),
  failures: createFailures(sql),
  lists: createDirectoryLists(sql),
  previews: createPreviews(sql),
  votes: createVotesCatalogue(sql),
  tiers: {
    put: (tier) => asStorage('tiers.put', () => upsertTier(sql, tier)),
    remove: (id) => asStorage('tiers.remove', () => deleteTier(sql, id)),
  },
  shop: createShopCatalogue(sql),
  blog: {
    posts: () => asStorage('blog.all', () => listAllPosts(sql)),
    put: (post) => upsertPost(sql, post),
    remove: (slug) => deletePost(sql, slug),
  },
  positions: {
    listAll: () => asStorage('applications.allPositions', () => listPositions(sql)),
    put: (fields) => upsertPosition(sql, fields),
    remove: (id) => deletePosition(sql, id),
  },
  applications: {
    page: (state, page) => listApplications(sql, state, page),
    review: (id, verdict) => reviewApplication(sql, id, verdict),
  },
});
