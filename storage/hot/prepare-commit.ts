/**
 * Runs the first step of a commit for both hot stores, before anything is written or sent.
 */
import assert from 'node:assert/strict';
import type { CommitRules } from '../../engine/entity/items.ts';
import { computeLongestWaitMs } from '../../engine/entity/votes.ts';
import { StorageError } from '../../engine/errors.ts';
import { limits } from '../../engine/limits.ts';

/** Checks the rules and runs `prepare`. After a failure the batches had no effect: their numbers are free. */
export const prepareCommit = <Result>(rules: CommitRules, prepare: () => Result): Result => {
  try {
    assert(
      computeLongestWaitMs(rules.windows) <= limits.voteBucketMs,
      'a vote window is longer than last votes are stored',
    );
    return prepare();
  } catch (cause) {
    throw new StorageError('commit', { outcome: 'not_applied', reason: 'bug', cause, detail: String(cause) });
  }
};
