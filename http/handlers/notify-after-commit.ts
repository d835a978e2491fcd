/**
 * What follows a change that is made already: the hot store and the other nodes are told of it.
 *
 * When that fails the change stands, whatever the failure says of itself, and it is told later by itself (its
 * adjustment or note stays open in SQL). So the client must not read that nothing was changed. Called by
 * replies that delete, void or review.
 */
import { DomainError, errorStatuses } from '../../engine/errors.ts';
import { toDomainError } from '../response/errors.ts';

const pendingMessage =
  'The change is made, but a store could not be told of it yet: it takes effect when that one is back. ' +
  'Nothing has to be sent again.';

/** Rejects with a 503 whose outcome is `unknown` where the store could not be told. */
export const notifyAfterCommit = async (telling: Promise<unknown>): Promise<void> => {
  try {
    await telling;
  } catch (failure) {
    const { code, retryAfterSeconds } = toDomainError(failure);
    if (errorStatuses[code] !== 503) throw failure;
    throw new DomainError(code, pendingMessage, { outcome: 'unknown' }, Math.max(1, retryAfterSeconds));
  }
};
