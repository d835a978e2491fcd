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

/** By the file that defines them, relative to the project's root. */
export const operationFiles = [
  { file: 'http/operator/people.ts', operations: peopleOperations },
  { file: 'http/operator/listings.ts', operations: listingOperations },
  { file: 'http/operator/votes.ts', operations: voteOperations },
  { file: 'http/operator/content.ts', operations: contentOperations },
  { file: 'http/operator/review.ts', operations: reviewOperations },
  { file: 'http/operator/failures.ts', operations: failureOperations },
  { file: 'http/operator/nodes.ts', operations: nodeOperations },
];

export const adminOperations: readonly AdminOperation[] = operationFiles.flatMap(
  ({ operations }) => operations,
);
