/**
 * Clients of the feed on sockets that are doubles of the server's, so that a test decides when one is full;
 * the rest is real.
 */
import type { Feed } from '../../../http/feed/interface.ts';
import { parseFeedQuery } from '../../../http/feed/requests.ts';
import type { OpenPush, PushConnection, PushOwner } from '../../../http/server/push-connection.ts';
import { type Message, parseEvent } from './clients.ts';

export interface Socket {
  readonly messages: Message[];
  readonly owner: PushOwner;
  /** How many more messages fit. */
  room: number;
  isClosed: boolean;
  /** Comments so far. */
  comments: number;
  /** Messages that came while the socket was full. */
  overflow: number;
  close(): void;
}

/** The request of a client; the connection follows by `connect`. */
export const prepare = (feed: Feed, query: string, lastEventId = ''): Promise<OpenPush> => {
  const fields = Object.fromEntries(new URLSearchParams(query));
  return feed.prepare(parseFeedQuery(fields, lastEventId), '10.0.0.1');
};

export const connect = (push: OpenPush, room = Number.POSITIVE_INFINITY): Socket => {
  const close = (): void => {
    if (socket.isClosed) return;
    socket.isClosed = true;
    opened.owner.onClosed();
  };
  const socket = { messages: [] as Message[], room, isClosed: false, comments: 0, overflow: 0, close };
  const connection: PushConnection = {
    kind: 'sse',
    send: (text) => {
      if (socket.room <= 0) socket.overflow += 1;
      socket.room -= 1;
      if (text.startsWith(':')) socket.comments += 1;
      for (const event of text.split('\n\n')) {
        const message = parseEvent(event);
        if (message !== null) socket.messages.push(message);
      }
      return socket.room > 0;
    },
    cork: (task) => task(),
    end: close,
    destroy: close,
  };
  const opened: Socket = Object.assign(socket, { owner: push(connection) });
  return opened;
};
