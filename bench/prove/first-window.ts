/**
 * Each user's votes on each target, from the user's first request until a window has passed, as a history
 * that must have an order: exactly one is accepted, and no vote is refused before it, on any node.
 */

import type { ClientLog, VoteOp } from './client-log.ts';
import { isLinearizable, type Model, type Operation } from './linearizability.ts';

type Event = 'accepted' | 'refused';

const once: Model<boolean, Event> = {
  initial: false,
  apply: (voted, event) => ((event === 'accepted') === voted ? null : true),
  keyOf: String,
};

/** Histories without such an order, in words. */
export const firstWindowFaults = (log: ClientLog, waitMs: number): readonly string[] =>
  [...Map.groupBy(log.votes, ({ user, target }) => `${user} on ${target}`)]
    .filter(([, ops]) => !isLinearizable(once, historyOf(ops, waitMs)))
    .map(([name]) => `${name}: no order of the votes of the first window is possible`);

const historyOf = (ops: readonly VoteOp[], waitMs: number): readonly Operation<Event>[] => {
  const fromMs = Math.min(...ops.map(({ callMs }) => callMs));
  return ops.flatMap(({ callMs, returnMs, outcome, refused }): Operation<Event>[] => {
    const isUnknown = outcome === 'unknown';
    if (!isUnknown && returnMs > fromMs + waitMs) return [];
    if (outcome === 'fail' && !refused) return [];
    const event = refused ? 'refused' : 'accepted';
    return [{ event, callMs, returnMs: isUnknown ? Number.POSITIVE_INFINITY : returnMs }];
  });
};
