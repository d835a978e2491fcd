/**
 * The W3C traces of recent votes on watched listings: what a client sent as `traceparent` goes out with the
 * webhook of its vote.
 *
 * They are in the memory of the node that took the vote, because they only help to look at a system: after a
 * restart, or when another node sends the event, it goes out without. Bounded.
 */

import type { VoteRequest } from '../../../engine/engine.ts';
import { createTwoGenerationCache } from '../../../engine/tools/two-generation-cache.ts';
import type { WebhookEvent } from './stored-event.ts';

const tracesMax = 5_000;
/** Between the time of a vote and the time of its answer. An earlier vote of the user is further away. */
const apartMsMax = 60_000;

export const createVoteTraces = () => {
  const traces = createTwoGenerationCache<{ readonly traceparent: string; readonly atMs: number }>(tracesMax);
  return {
    record: (
      { kind, id, user }: Pick<VoteRequest, 'kind' | 'id' | 'user'>,
      trace: { readonly traceparent: string; readonly atMs: number },
    ) => traces.set(JSON.stringify([kind, id, user]), trace),
    /** The trace of the vote that the event reports, `''` for none. */
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
