/**
 * Cursors of the vote log: `<epoch>.<number>`, opaque to clients. A cursor of another epoch, or beyond the
 * newest vote, is refused, because its log no longer exists.
 */
import { DomainError } from '../../engine/errors.ts';
import type { LogHead } from '../../storage/catalogue/votes/vote-log.ts';
import { createValidationError } from '../response/errors.ts';

export const formatCursor = (epoch: string, number: number): string => `${epoch}.${number}`;
const cursorShape = /^([0-9a-z]{1,24}-[0-9a-z]{1,13})\.(0|[1-9][0-9]{0,14})$/;

/** Returns the parts of a cursor; `null` for a text that neither the log nor the feed ever sends. */
export const parseLogCursor = (text: string): { readonly epoch: string; readonly number: number } | null => {
  const [, epoch, digits] = cursorShape.exec(text) ?? [];
  return epoch === undefined ? null : { epoch, number: Number(digits) };
};

/** Returns the cursor's number if it belongs to this log. Throws `validation_failed` or `log_restarted`. */
export const checkCursor = (text: string, head: LogHead, parameter = 'after'): number => {
  const cursor = parseLogCursor(text);
  if (cursor === null) {
    throw createValidationError('query', {
      [`/${parameter}`]: 'must be a cursor of an earlier reply of this path',
    });
  }
  if (cursor.epoch === head.epoch && cursor.number <= head.number) return cursor.number;
  throw new DomainError(
    'log_restarted',
    'This cursor belongs to a log that no longer exists. Begin again from context.oldest or context.head.',
    { head: formatCursor(head.epoch, head.number), oldest: formatCursor(head.epoch, 0) },
  );
};
