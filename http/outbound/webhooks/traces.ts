/**
 * The W3C traces of recent votes on watched listings: what a client sent as `traceparent` goes out with the
 * webhook of its vote.
 *
 * Traces only help to observe a system, so they are in the memory of the node that took the vote. After a
 * restart, or when another node sends the event, the webhook has no trace. Bounded.
 */

import type { VoteRequest } from '../../../engine/engine.ts';
import { createTwoGenerationCache } from '../../../engine/tools/two-generation-cache.ts';
import type { WebhookEvent } from './stored-event.ts';

const tracesMax = 5_000;
/** The longest time between a vote and its answer. Two votes of a user are further apart. */
const apartMsMax = 60_000;

export const createVoteTraces = () => {
  const traces = createTwoGenerationCache<{ readonly traceparent: string; readonly atMs: number }>(tracesMax);
  return {
    record: (
      { kind, id, user }: Pick<VoteRequest, 'kind' | 'id' | 'user'>,
      trace: { readonly traceparent: string; readonly atMs: number },
    ) => traces.set(JSON.stringify([kind, id, user]), trace),
    /** Finds the trace of the vote that the event reports, `''` for none. */
    find: (event: WebhookEvent) => {
      if (event.type !== 'vote.created') return '';
      const { target, user, created_at } = event.data;
      const trace = traces.get(JSON.stringify([target.type, target.id, user.id]));
      const isSame = trace !== undefined && Math.abs(Date.parse(created_at) - trace.atMs) <= apartMsMax;
      return isSame ? trace.traceparent : '';
    },
  };
};
export type VoteTraces = ReturnType<typeof createVoteTraces>;
