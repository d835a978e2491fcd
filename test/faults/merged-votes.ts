/**
 * The one thing that a failover may undo: a user's vote was acknowledged and lost, and before the node that
 * acknowledged it had given it back, the same user voted again there, and was acknowledged again. One of the
 * two counts, and the node tells so; the other one's row may be in SQL. Everything else is a fault.
 */
import type { ClientLog, VoteOp } from './client-log.ts';
import type { Verdict } from './judge.ts';

export interface Findings {
  readonly verdict: Verdict;
  /** What the two stores say differently. */
  readonly differences: readonly string[];
}

const nameOf = ({ user, target }: VoteOp): string => `${user} on ${target}`;
const targetOf = (name: string): string => name.slice(name.indexOf(' on ') + 4);

/** Users and targets with two acknowledged votes that may be of one window. */
const acknowledgedTwice = (log: ClientLog, waitMs: number): readonly string[] => {
  const acked = log.votes.filter(({ outcome }) => outcome === 'ok');
  const pairs = [...Map.groupBy(acked, nameOf)].filter(([, ops]) =>
    ops.some((one) => ops.some((other) => one !== other && Math.abs(one.callMs - other.callMs) < waitMs)),
  );
  return pairs.map(([name]) => name);
};

const isAbout = (line: string, name: string): boolean => line.startsWith(`${name}: `);

/** Rows that nobody counts, of at most so many pairs. */
const isSpareRow = (line: string, pairs: readonly string[]): boolean => {
  const [, target = '', hot, rows] = /^(\S+): (\d+) \w+ hot, (\d+) rows in SQL$/.exec(line) ?? [];
  const spare = Number(rows) - Number(hot);
  return spare > 0 && spare <= pairs.filter((name) => targetOf(name) === target).length;
};

/** The findings without those that at most `merged` such pairs explain; all of them when it takes more. */
export const withoutMerged = (
  { verdict, differences }: Findings,
  { log, waitMs, merged }: { readonly log: ClientLog; readonly waitMs: number; readonly merged: number },
): Findings => {
  const pairs = merged === 0 ? [] : acknowledgedTwice(log, waitMs);
  const found = [...verdict.lost, ...verdict.doubled];
  if (pairs.filter((name) => found.some((line) => isAbout(line, name))).length > merged)
    return { verdict, differences };
  const rest = (lines: readonly string[]): string[] =>
    lines.filter((line) => !pairs.some((name) => isAbout(line, name)));
  return {
    verdict: { ...verdict, lost: rest(verdict.lost), doubled: rest(verdict.doubled) },
    differences: differences.filter((line) => !isSpareRow(line, pairs)),
  };
};
