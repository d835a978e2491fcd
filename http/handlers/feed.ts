/**
 * Opens a connection of the feed (http/feed/): its request is checked as any other, so what is wrong with it
 * is an ordinary error.
 */
import { parseFeedQuery } from '../feed/requests.ts';
import { createValidationError } from '../response/validation-error.ts';
import type { App, Reply } from '../route.ts';
import type { FeedQuery } from '../schema/feed.ts';

export interface FeedCall {
  readonly query: FeedQuery;
  readonly clientAddress: string;
  readonly lastEventId: string;
  readonly isUpgrade: boolean;
}

/** nginx must not hold back what is sent. */
const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
};

/** `GET /feed`. */
export const openFeed = async (app: App, call: FeedCall): Promise<Reply> => {
  const { clientAddress, query, isUpgrade } = call;
  const request = parseFeedQuery(query, call.lastEventId || (query.last_event_id ?? ''));
  if (request.targets.length === 0 && !isUpgrade)
    throw createValidationError('query', { '/targets': 'must name at least one entity, as bot/123' });
  return { status: 200, headers, push: await app.feed.prepare(request, clientAddress) };
};
