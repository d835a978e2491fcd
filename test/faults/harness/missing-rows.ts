/**
 * The verdict when SQL was restored older than the hot store: votes of the time in between count, and make
 * their users wait, but have no rows. Nothing else is excused. Pure.
 */
import type { ClientLog, Span, VoteOp } from '../../../bench/prove/client-log.ts';

const touches = ({ callMs, returnMs }: VoteOp, { fromMs, toMs }: Span): boolean =>
  returnMs >= fromMs && callMs <= toMs;
const pairOf = ({ target, user }: VoteOp): string => `${user} on ${target}`;

/** The log as vote rows may know it: votes in the span may have rows or not. */
export const asRowsMayKnow = (log: ClientLog, span: Span): ClientLog => {
  const rowless = (op: VoteOp): boolean => op.outcome !== 'fail' && touches(op, span);
  const voted = new Set(log.votes.filter(rowless).map(pairOf));
  const seenByRows = (op: VoteOp): VoteOp => {
    if (rowless(op)) return { ...op, outcome: 'unknown' };
    return op.refused && voted.has(pairOf(op)) ? { ...op, refused: false } : op;
  };
  return { ...log, votes: log.votes.map(seenByRows) };
};

/** On weekends a vote has two rows. */
const rowsPerVoteMax = 2;

/** What the stores say differently, without rows that are missing as they may be. */
export const withoutMissingRows = (
  differences: readonly string[],
  log: ClientLog,
  span: Span,
): readonly string[] =>
  differences.filter((line) => {
    const [, target = '', hot, rows] = /^(\S+): (\d+) \w+ hot, (\d+) rows in SQL$/.exec(line) ?? [];
    const missing = Number(hot) - Number(rows);
    const may = log.votes.filter((op) => op.target === target && op.outcome !== 'fail' && touches(op, span));
    return !(missing > 0 && missing <= rowsPerVoteMax * may.length);
  });
