/**
 * All operations of the private listener that need the operator's token. Explicit, so that "find usages"
 * works. Read by the composition root (rows) and by the command line (commands).
 */
import { contentOperations } from './content.ts';
import { failureOperations } from './failures.ts';
import { listingOperations } from './listings.ts';
import type { AdminOperation } from './operation.ts';
import { peopleOperations } from './people.ts';
import { reviewOperations } from './review.ts';
import { voteOperations } from './votes.ts';

export const adminOperations: readonly AdminOperation[] = [
  ...peopleOperations,
  ...listingOperations,
  ...voteOperations,
  ...contentOperations,
  ...reviewOperations,
  ...failureOperations,
];
