/**
 * The operation of the feed: live numbers and votes, as server-sent events or over a WebSocket
 * (http/feed/). Its request is checked as any other, so what is wrong with it is an ordinary error.
 */
import { DomainError } from '../../engine/errors.ts';
import { parseFeedQuery } from '../feed/requests.ts';
import { FeedEvent, FeedMessage, FeedQuery } from '../feed/schema.ts';
import { createValidationError } from '../response/errors.ts';
import { type AnyRoute, definePublicRoute, defineRoutes } from '../route.ts';

export const feedRoutes: readonly AnyRoute[] = defineRoutes('Beyond the contract', [
  definePublicRoute('openFeed', 'GET /feed', {
    summary: 'Follow entities live',
    description:
      'Sends totals as they change, and votes one by one. A plain request gets server-sent events. With ' +
      '`Upgrade: websocket` (protocol `rollcall.v1`) the same messages come as `{event, data}`, and the ' +
      'client may send `{"op":"subscribe","targets":[…],"channels":[…],"after":{…}}`, ' +
      '`{"op":"unsubscribe","targets":[…]}` and `{"op":"ping"}`: `x-websocket-messages` has their schemas.',
    limit: 'feed',
    query: FeedQuery,
    replies: { 200: FeedEvent },
    events: true,
    messages: FeedMessage,
    errors: ['not_found', 'forbidden', 'feed_full', 'websocket_version_unsupported'],
    handle: async (app, { query, headers: { lastEventId }, socketVersion, clientAddress }) => {
      if (socketVersion !== '' && socketVersion !== spokenVersion) throw createVersionError();
      const request = parseFeedQuery(query, lastEventId || query.lastEventId || query.last_event_id || '');
      if (request.targets.length === 0 && socketVersion === '')
        throw createValidationError('query', { '/targets': 'must name at least one entity, as bot/123' });
      return { status: 200, headers, push: await app.feed.prepare(request, clientAddress) };
    },
  }),
]);

/** nginx must not hold back what is sent. */
const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
};

/** Of RFC 6455; browsers and libraries speak no other. */
const spokenVersion = '13';

const createVersionError = (): DomainError => {
  const message = `This server speaks version ${spokenVersion} of WebSocket: offer that, or send no Upgrade.`;
  const lines = `\r\nUpgrade: websocket\r\nSec-WebSocket-Version: ${spokenVersion}`;
  return new DomainError('websocket_version_unsupported', message, {}, 0, lines);
};
