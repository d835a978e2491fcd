/**
 * What only operators read and change, in one object: audit, people, listings, votes, and the directory's
 * content (tiers, shop, blog, positions, reserved names).
 *
 * Only combines functions of the other files. Handlers of the private listener are its only callers; they
 * update caches, sessions and the engine after a change.
 */
import { resetVotes } from '../../ledger/adjust.ts';
import { findIncarnation } from '../../ledger/adjustments.ts';
import { voidVote } from '../../ledger/void-votes.ts';
import type { Sql } from '../../sql/client.ts';
import { bindStorage } from '../../sql/errors.ts';
import { createListingEdits } from '../bots/listing-edits.ts';
import {
  deletePosition,
  listApplications,
  listPositions,
  reviewApplication,
  upsertPosition,
} from '../content/applications.ts';
import { deletePost, listAllPosts, upsertPost } from '../content/blog.ts';
import { createReservedNames } from '../content/reserved-names.ts';
import {
  deleteBenefit,
  deleteCoupon,
  deleteItem,
  listBenefits,
  listCoupons,
  listItems,
  upsertBenefit,
  upsertCoupon,
  upsertItem,
} from '../content/shop.ts';
import { createPeopleEdits } from '../people/people-edits.ts';
import { deleteTier, upsertTier } from '../votes/credits.ts';
import { createAudit } from './audit.ts';
import { createDirectoryLists } from './directory-lists.ts';
import { createFailures } from './failures.ts';
import { fillPlan, listNextListings, takePage } from './plan-steps.ts';
import { createPreviews } from './previews.ts';
import { listListingHours, listSuspects, listVoteHours } from './suspects.ts';
import { findByUuid } from './uuids.ts';
import {
  createPlan,
  findPlan,
  listOpenPlans,
  listPlans,
  listSkipped,
  startUndo,
  startVoiding,
} from './void-plans.ts';
import { listVotesOf } from './vote-list.ts';

/** The caller flushes before, and delivers the adjustment afterwards. */
const voidOne = (sql: Sql, itag: string) => voidVote(sql, itag, 'operator');

/** Every change is ledger when it resolves. */
export const createOperatorCatalogue = (sql: Sql) => ({
  audit: createAudit(sql),
  people: createPeopleEdits(sql),
  listings: createListingEdits(sql),
  reservedNames: createReservedNames(sql),
  failures: createFailures(sql),
  lists: createDirectoryLists(sql),
  previews: createPreviews(sql),
  ...bindStorage('uuids', sql, { findByUuid }),
  votes: bindStorage('votes', sql, { list: listVotesOf, voidOne, reset: resetVotes, findIncarnation }),
  suspects: bindStorage('suspects', sql, { listSuspects, listVoteHours, listListingHours }),
  plans: bindStorage('plans', sql, {
    ...{ createPlan, findPlan, listPlans, listOpenPlans, listSkipped, startVoiding, startUndo },
    ...{ fillPlan, listNextListings, takePage },
  }),
  tiers: bindStorage('tiers', sql, { put: upsertTier, remove: deleteTier }),
  shop: bindStorage('shop', sql, {
    ...{ listBenefits, upsertBenefit, deleteBenefit },
    ...{ listItems, upsertItem, deleteItem },
    ...{ listCoupons, upsertCoupon, deleteCoupon },
  }),
  blog: bindStorage('blog', sql, { posts: listAllPosts, put: upsertPost, remove: deletePost }),
  positions: bindStorage('positions', sql, { listPositions, upsertPosition, deletePosition }),
  applications: bindStorage('applications', sql, { page: listApplications, review: reviewApplication }),
});

export type OperatorCatalogue = ReturnType<typeof createOperatorCatalogue>;
