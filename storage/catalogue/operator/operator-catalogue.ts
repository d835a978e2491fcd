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
import { createPositions, createReviews } from '../content/applications.ts';
import { createBlogEdits } from '../content/blog.ts';
import { createReservedNames } from '../content/reserved-names.ts';
import { createShopEdits } from '../content/shop.ts';
import { createPeopleEdits } from '../people/people-edits.ts';
import { createTiers } from '../votes/credits.ts';
import { createAudit } from './audit.ts';
import { createDirectoryLists } from './directory-lists.ts';
import { createFailures } from './failures.ts';
import { findLookAlikes } from './look-alikes.ts';
import { fillPlan, listNextListings, takePage } from './plan-steps.ts';
import { createPreviews } from './previews.ts';
import { listListingHours, listSuspects, listVoteHours } from './suspects.ts';
import { findByUuid } from './uuids.ts';
import { planFunctions } from './void-plans.ts';
import { listVotesOf } from './vote-list.ts';

/** Voids one vote. The caller flushes before, and delivers the adjustment afterwards. */
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
  ...bindStorage('look_alikes', sql, { findLookAlikes }),
  votes: bindStorage('votes', sql, { list: listVotesOf, voidOne, reset: resetVotes, findIncarnation }),
  suspects: bindStorage('suspects', sql, { listSuspects, listVoteHours, listListingHours }),
  plans: bindStorage('plans', sql, { ...planFunctions, fillPlan, listNextListings, takePage }),
  tiers: createTiers(sql),
  shop: createShopEdits(sql),
  blog: createBlogEdits(sql),
  positions: createPositions(sql),
  applications: createReviews(sql),
});

export type OperatorCatalogue = ReturnType<typeof createOperatorCatalogue>;
