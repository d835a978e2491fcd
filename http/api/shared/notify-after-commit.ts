/**
 * Waits until the hot store and the other nodes know about a committed change.
 *
 * If this fails, the change is still committed, whatever the error says, and it is delivered later: its
 * adjustment or note stays open in SQL. So the client must not read that nothing was changed.
 */
import { DomainError, errorStatuses } from '../../../engine/errors.ts';
import { toDomainError } from '../../response/errors.ts';

const pendingMessage =
  'The change is saved, but a store is not available: the change takes effect when that store is back. ' +
  'Do not send the request again.';

/** Waits for `delivery`. Rejects with a 503 whose outcome is `unknown` if a store is not available. */
export const notifyAfterCommit = async (delivery: Promise<unknown>): Promise<void> => {
  try {
    await delivery;
  } catch (failure) {
    const { code, retryAfterSeconds } = toDomainError(failure);
    if (errorStatuses[code] !== 503) throw failure;
    throw new DomainError(code, pendingMessage, { outcome: 'unknown' }, Math.max(1, retryAfterSeconds));
  }
};
