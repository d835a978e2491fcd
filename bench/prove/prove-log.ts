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

export interface ProveLog extends ClientLog {
  /** Requests that were answered, whatever the answer. */
  answered: number;
  readonly redeems: RedeemOp[];
  /** Posts of shards by pseudo bot (`id#shard`) and turn. */
  readonly turns: Map<string, Map<number, number>>;
  /** What messages of the feed showed. */
  readonly feedSights: ClientLog['sights'];
  /** Resets of all votes: from the request until every node shows its effect. */
  readonly resets: Span[];
  /** Replies about another listing than the one that was read, in words. */
  readonly misplaced: string[];
}

export const createProveLog = (firstId: number): ProveLog =>
  Object.assign(createLog(), {
    nextId: firstId,
    answered: 0,
    redeems: [],
    turns: new Map(),
    feedSights: [],
    resets: [],
    misplaced: [],
  });
