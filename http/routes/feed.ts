/**
 * Route of the feed: live numbers and votes, as server-sent events or over a WebSocket.
 */
import { openFeed } from '../handlers/feed.ts';
import { type AnyRoute, defineRoute, defineRoutes } from '../route.ts';
import { FeedEvent, FeedMessage, FeedQuery } from '../schema/feed.ts';

export const feedRoutes: readonly AnyRoute[] = defineRoutes('Beyond the contract', [
  defineRoute({
    name: 'openFeed',
    pattern: 'GET /feed',
    summary: 'Follow entities live',
    description:
      'Sends totals as they change, and votes one by one. A plain request gets server-sent events. With ' +
      '`Upgrade: websocket` (protocol `rollcall.v1`) the same messages come as `{event, data}`, and the ' +
      'client may send `{"op":"subscribe","targets":[…],"channels":[…],"after":{…}}`, ' +
      '`{"op":"unsubscribe","targets":[…]}` and `{"op":"ping"}`: `x-websocket-messages` has their schemas.',
    auth: { kind: 'public' },
    limit: 'feed',
    query: FeedQuery,
    replies: { 200: FeedEvent },
    events: true,
    messages: FeedMessage,
    errors: ['not_found', 'forbidden', 'feed_full', 'websocket_version_unsupported'],
    handle: openFeed,
  }),
]);
