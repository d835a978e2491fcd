/**
 * Lists all operations of the private listener that need the operator's token, by name so that "find usages"
 * works. The composition root reads the routes, the command line reads the commands.
 */
import { contentOperations } from './content.ts';
import { failureOperations } from './failures.ts';
import { listingOperations } from './listings.ts';
import { nodeOperations } from './nodes.ts';
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
  ...nodeOperations,
];
