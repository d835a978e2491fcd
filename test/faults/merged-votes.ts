/**
 * The one thing that a failover may undo: a user's vote was acknowledged and lost, and before the node that
 * acknowledged it had given it back, the same user voted again there, and was acknowledged again. One of the
 * two counts, and the node tells so. Everything else the judge finds stays found.
 */
import type { ClientLog, VoteOp } from './client-log.ts';
import type { Verdict } from './judge.ts';

const nameOf = ({ user, target }: VoteOp): string => `${user} on ${target}`;

/** Users and targets with two acknowledged votes within one window. */
export const acknowledgedTwice = (log: ClientLog, waitMs: number): readonly string[] => {
  const acked = log.votes.filter(({ outcome }) => outcome === 'ok');
  const pairs = [...Map.groupBy(acked, nameOf)].filter(([, ops]) =>
    ops.some((one) => ops.some((other) => one !== other && Math.abs(one.callMs - other.callMs) < waitMs)),
  );
  return pairs.map(([name]) => name);
};

/** The same findings without those of these pairs. */
export const without = (verdict: Verdict, pairs: readonly string[]): Verdict => {
  const rest = (lines: readonly string[]): string[] =>
    lines.filter((line) => !pairs.some((name) => line.startsWith(`${name}: `)));
  return { ...verdict, lost: rest(verdict.lost), doubled: rest(verdict.doubled) };
};
