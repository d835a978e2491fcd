/**
 * The client's log of `prove`: that of the fault tests, and what only `prove` does or sees.
 */
import { type ClientLog, createLog, type Outcome, type Span } from './client-log.ts';

/** One redeem of one vote, repeated with its key until the answer is known. */
export interface RedeemOp {
  readonly bot: string;
  readonly callMs: number;
  returnMs: number;
  outcome: Outcome;
}

export const createProveLog = (firstId: number) => ({
  ...createLog(),
  nextId: firstId,
  /** Requests that were answered, whatever the answer. */
  answered: 0,
  redeems: [] as RedeemOp[],
  /** Posts of shards by pseudo bot (`id#shard`) and turn. */
  turns: new Map<string, Map<number, number>>(),
  /** What messages of the feed showed. */
  feedSights: [] as ClientLog['sights'],
  /** Resets of all votes: from the request until every node shows its effect. */
  resets: [] as Span[],
  /** Replies about another listing than the one that was read, in words. */
  misplaced: [] as string[],
});
export type ProveLog = ReturnType<typeof createProveLog>;
