/**
 * Each user's votes on each target, from the user's first request until a window has passed, as a history
 * that must have an order: exactly one is accepted, and no vote is refused before it, on any node.
 */

import type { ClientLog, Span, VoteOp } from './client-log.ts';
import { isLinearizable, type Model, type Operation } from './linearizability.ts';

type Event = 'accepted' | 'refused';

const once: Model<boolean, Event> = {
  initial: false,
  apply: (voted, event) => ((event === 'accepted') === voted ? null : true),
  keyOf: String,
};

/** Histories without such an order, in words. A reset ends every window, and begins none. */
export const firstWindowFaults = (
  log: Pick<ClientLog, 'votes'>,
  waitMs: number,
  resets: readonly Span[] = [],
): readonly string[] =>
  [...Map.groupBy(log.votes, ({ user, target }) => `${user} on ${target}`)]
    .filter(([, ops]) => !isLinearizable(once, historyOf(ops, findEndMs(ops, waitMs, resets))))
    .map(([name]) => `${name}: no order of the votes of the first window is possible`);

/** When the first window certainly goes on no more. */
const findEndMs = (ops: readonly VoteOp[], waitMs: number, resets: readonly Span[]): number => {
  const fromMs = Math.min(...ops.map(({ callMs }) => callMs));
  const next = resets.find(({ toMs }) => toMs > fromMs);
  return Math.min(fromMs + waitMs, next?.fromMs ?? Number.POSITIVE_INFINITY);
};

const historyOf = (ops: readonly VoteOp[], untilMs: number): readonly Operation<Event>[] =>
  ops.flatMap(({ callMs, returnMs, outcome, refused }): Operation<Event>[] => {
    const isUnknown = outcome === 'unknown';
    if (callMs > untilMs || (!isUnknown && returnMs > untilMs)) return [];
    if (outcome === 'fail' && !refused) return [];
    const event = refused ? 'refused' : 'accepted';
    return [{ event, callMs, returnMs: isUnknown ? Number.POSITIVE_INFINITY : returnMs }];
  });
