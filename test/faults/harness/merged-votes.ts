/**
 * The two things that a failover may undo. A user's vote was acknowledged and lost, and before the node that
 * acknowledged it had resent it, the same user voted again there, and that vote was acknowledged too, or
 * counted with an unknown outcome: one of the two counts, and the node reports it; the other one's row may be
 * in SQL. And a vote with an unknown outcome made the user wait, and was lost: no node has it to resend.
 * Everything else is a fault.
 */
import type { ClientLog, VoteOp } from '../../../bench/prove/client-log.ts';
import type { Verdict, VoteRows } from '../../../bench/prove/judge.ts';

export interface Findings {
  readonly verdict: Verdict;
  /** What the two stores say differently. */
  readonly differences: readonly string[];
}

const nameOf = ({ user, target }: Pick<VoteOp, 'user' | 'target'>): string => `${user} on ${target}`;
const targetOf = (name: string): string => name.slice(name.indexOf(' on ') + 4);

/** Users and targets with two votes that may be of one window: one acknowledged, the other too or in SQL. */
const votedTwice = ({ log, rows, waitMs }: Known): readonly string[] => {
  const isInSql = (op: VoteOp): boolean =>
    op.outcome === 'unknown' && rows.some((row) => nameOf(row) === nameOf(op) && row.atMs > op.callMs);
  const acked = log.votes.filter(({ outcome }) => outcome === 'ok');
  const others = Map.groupBy([...acked, ...log.votes.filter(isInSql)], nameOf);
  const pairs = acked.filter((one) =>
    others.get(nameOf(one))?.some((two) => one !== two && Math.abs(one.callMs - two.callMs) < waitMs),
  );
  return [...new Set(pairs.map(nameOf))];
};

const isAbout = (line: string, name: string): boolean => line.startsWith(`${name}: `);

/** How many rows each request has: those of a weekend have two. */
const rowsPerVote = (name: string, rows: readonly VoteRows[]): number =>
  Math.max(0, ...rows.filter((one) => nameOf(one) === name).map(({ numbers }) => numbers.length));

/** Rows that are not counted, at most those of one vote of each pair. */
const isSpareRow = (line: string, pairs: readonly string[], rows: readonly VoteRows[]): boolean => {
  const [, target = '', hot, all] = /^(\S+): (\d+) \w+ hot, (\d+) rows in SQL$/.exec(line) ?? [];
  const spare = Number(all) - Number(hot);
  const concerned = pairs.filter((name) => targetOf(name) === target);
  return spare > 0 && spare <= concerned.reduce((sum, name) => sum + rowsPerVote(name, rows), 0);
};

/**
 * The log without refusals that may stand on a vote whose answer was `unknown`: it can have taken effect
 * in a past that was lost.
 */
export const withoutUncertainRefusals = (log: ClientLog, waitMs: number): ClientLog => {
  const unknown = Map.groupBy(
    log.votes.filter(({ outcome }) => outcome === 'unknown'),
    nameOf,
  );
  const standsOn = (refusal: VoteOp, vote: VoteOp): boolean =>
    vote.callMs < refusal.returnMs && vote.callMs > refusal.callMs - waitMs;
  const isUncertain = (op: VoteOp): boolean =>
    op.refused && (unknown.get(nameOf(op)) ?? []).some((vote) => standsOn(op, vote));
  return { ...log, votes: log.votes.filter((op) => !isUncertain(op)) };
};

export interface Known {
  readonly log: ClientLog;
  readonly rows: readonly VoteRows[];
  readonly waitMs: number;
  readonly merged: number;
}

/** The findings without those that at most `merged` such pairs explain; all of them when it takes more. */
export const withoutMerged = ({ verdict, differences }: Findings, known: Known): Findings => {
  const { rows, merged } = known;
  const pairs = merged === 0 ? [] : votedTwice(known);
  const found = [...verdict.lost, ...verdict.doubled];
  if (pairs.filter((name) => found.some((line) => isAbout(line, name))).length > merged)
    return { verdict, differences };
  const rest = (lines: readonly string[]): string[] =>
    lines.filter((line) => !pairs.some((name) => isAbout(line, name)));
  return {
    verdict: { ...verdict, lost: rest(verdict.lost), doubled: rest(verdict.doubled) },
    differences: differences.filter((line) => !isSpareRow(line, pairs, rows)),
  };
};
