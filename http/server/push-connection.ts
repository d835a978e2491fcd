/**
 * A connection that stays open and gets messages from the server: a stream of server-sent events, or a
 * WebSocket. Types only, so that what uses it does not depend on uWebSockets.js.
 *
 * Such a connection is not a request in flight: a drain does not wait for it. A reply opens one by its `push`
 * function. Implemented by uws-push.ts, used by http/feed/.
 */

export interface PushConnection {
  readonly kind: 'sse' | 'websocket';
  /**
   * Sends one message: of a WebSocket a text frame, of a stream whole events. Returns false when the socket
   * is full: the owner then sends nothing more before `onWritable`. After the end it does nothing.
   */
  send(message: string): boolean;
  /** Sends what `task` sends with one system call. */
  cork(task: () => void): void;
  /**
   * Ends the connection after what was sent; a WebSocket with this status code and reason. Calls `onClosed`,
   * now or later.
   */
  end(code: number, reason: string): void;
  /** Closes the connection at once. Calls `onClosed`, now or later. */
  destroy(): void;
}

/** Receives the events of a connection. */
export interface PushOwner {
  /** The client has sent a text; `null` for a binary message. Only WebSockets. */
  onMessage(text: string | null): void;
  /** The client has sent a ping, which is answered, or a pong. Only WebSockets. */
  onControl(): void;
  /** The socket has room again. */
  onWritable(): void;
  /** The connection has ended; it must not be used again. Called once. */
  onClosed(): void;
}

/** Takes over a connection. Called once its head is written. */
export type OpenPush = (connection: PushConnection) => PushOwner;
