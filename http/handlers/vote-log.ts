/**
 * Shows the vote log of a listing: its accepted votes by number, from a cursor, and waits for new ones on
 * request.
 *
 * A cursor is `<epoch>.<number>` and opaque to clients. A cursor of another epoch, or beyond the newest vote,
 * belongs to a log that no longer exists: the reply says so instead of leaving out votes.
 */
import { DomainError } from '../../engine/errors.ts';
import type { EntityKind, EntityRef } from '../../engine/ids.ts';
import type { LogHead, LogRow } from '../../storage/catalogue/votes/vote-log.ts';
import { createValidationError } from '../response/validation-error.ts';
import { type App, type Reply, replyOk } from '../route.ts';
import type { LoggedVote, VoteLogReply } from '../schema/vote-log.ts';
import { createNotFoundError, toTimestamp } from './convert.ts';

export interface VoteLogQuery {
  readonly after?: string;
  readonly limit?: number;
  readonly wait?: number;
}

export interface VoteLogRequest {
  readonly query: VoteLogQuery;
  /** Calls its argument when the client disconnects. */
  readonly whenClientGone: (listener: () => void) => void;
}

const limitDefault = 100;

const formatCursor = (epoch: string, number: number): string => `${epoch}.${number}`;

const cursorShape = /^([0-9a-z]{1,24}-[0-9a-z]{1,13})\.(0|[1-9][0-9]{0,14})$/;

/** The parts of a cursor; `null` for what the log and the feed never send. */
export const parseLogCursor = (text: string): { readonly epoch: string; readonly number: number } | null => {
  const [, epoch, digits] = cursorShape.exec(text) ?? [];
  return epoch === undefined ? null : { epoch, number: Number(digits) };
};

/** The number of a cursor. Throws `validation_failed` or `log_restarted`. */
const checkCursor = (text: string, head: LogHead): number => {
  const cursor = parseLogCursor(text);
  if (cursor === null) {
    throw createValidationError('query', {
      '/after': 'must be a cursor: the `next`, `head` or `oldest` of an earlier reply of this path',
    });
  }
  if (cursor.epoch === head.epoch && cursor.number <= head.number) return cursor.number;
  throw new DomainError(
    'log_restarted',
    'This cursor belongs to a log that no longer exists. Begin again from context.oldest or context.head.',
    { head: formatCursor(head.epoch, head.number), oldest: formatCursor(head.epoch, 0) },
  );
};

/** Everything acknowledged so far is in the log when this resolves. Throws `not_found`. */
const readFlushedHead = async (
  app: App,
  target: { readonly kind: EntityKind; readonly id: string },
): Promise<{ readonly ref: EntityRef; readonly votesCast: number; readonly head: LogHead }> => {
  const { ref, state } = await app.engine.read(target.kind, target.id);
  const votesCast = state.upvotes + state.downvotes;
  await app.engine.waitForFlush(target.kind, target.id);
  const head = await app.catalogue.voteLog.head(ref.incarnation);
  if (head === null) throw createNotFoundError(target.kind);
  return { ref, votesCast, head };
};

const toLoggedVote = (row: LogRow): LoggedVote => ({
  number: row.number,
  itag: row.itag,
  author: row.author,
  upvote: row.upvote,
  created_at: toTimestamp(row.created_at),
  void: row.void,
  void_reason: row.void_reason,
});

/** `GET …/votes/log`. At the head it reads no page: clients that wait there are many. */
export const showVoteLog = async (
  app: App,
  target: { readonly kind: EntityKind; readonly id: string },
  { query: { after, limit = limitDefault, wait = 0 }, whenClientGone }: VoteLogRequest,
): Promise<Reply> => {
  const { ref, votesCast, head } = await readFlushedHead(app, target);
  const number = after === undefined ? head.number : checkCursor(after, head);
  const isAtHead = number === head.number;
  if (isAtHead && wait > 0) {
    const waitMs = wait * 1_000;
    await app.voteLogWaiters.wait({ ref, number, votesCast, waitMs, whenClientGone });
  }
  const hasPage = !isAtHead || wait > 0;
  const rows = hasPage ? await app.catalogue.voteLog.page({ ref, after: number, limit }) : [];
  const next = rows.at(-1)?.number ?? number;
  const reply: VoteLogReply = {
    results: rows.map(toLoggedVote),
    epoch: head.epoch,
    next: formatCursor(head.epoch, next),
    head: formatCursor(head.epoch, Math.max(head.number, next)),
    oldest: formatCursor(head.epoch, 0),
  };
  return replyOk(reply);
};
