/**
 * All mutants, in the order in which they run.
 *
 * A new guard of a store, a rule or a limit gets one here.
 */
import { boardMutants } from './boards.ts';
import { engineMutants } from './engine.ts';
import { feedMutants } from './feed.ts';
import { historyMutants } from './history.ts';
import { hotMutants } from './hot.ts';
import { httpMutants } from './http.ts';
import type { Mutant } from './mutant.ts';
import { partsMutants } from './parts.ts';
import { ruleMutants } from './rules.ts';
import { storageMutants } from './storage.ts';
import { voteMutants } from './votes.ts';

export const mutants: readonly Mutant[] = [
  ...ruleMutants,
  ...engineMutants,
  ...partsMutants,
  ...hotMutants,
  ...storageMutants,
  ...voteMutants,
  ...historyMutants,
  ...httpMutants,
  ...boardMutants,
  ...feedMutants,
];
