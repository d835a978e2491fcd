/**
 * A handler's reply, and the few ways to make one.
 */
import type { OpenPush } from '../server/push-connection.ts';

/** A handler's reply: a value to serialise, text or bytes ready to send, or no body. */
export interface Reply {
  readonly status: number;
  readonly json?: unknown;
  /** Already serialised JSON, for hot and cached replies and for integers beyond 2^53. */
  readonly text?: string;
  /**
   * For a reply object that is reused: caches the ETag of its text or bytes, `''` until it is computed. With
   * it, a reply that sets its own `Cache-Control` has an ETag, too.
   */
  readonly tag?: { etag: string };
  /**
   * Already serialised JSON, or bytes, in chunks, for replies of unbounded length. The server pulls the next
   * chunk only when the socket has room, and stops pulling (`return()`) when the client disconnects. An error
   * in the middle closes the connection, so that a client never takes half a reply for a whole one.
   */
  readonly stream?: AsyncIterable<string | Uint8Array>;
  /**
   * Takes over the connection, as a WebSocket if the request is an upgrade, else as a response without end,
   * for which `headers` name the Content-Type. Not called for HEAD, nor when the client has left.
   */
  readonly push?: OpenPush;
  /** Bytes ready to send: JSON, or a document whose Content-Type `headers` name. */
  readonly bytes?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export const replyOk = <Json>(json: Json): Reply => ({ status: 200, json });
export const replyCreated = <Json>(json: Json): Reply => ({ status: 201, json });
export const replyText = (body: string): Reply => ({ status: 200, text: body });
export const noContent: Reply = { status: 204 };

/** ApiResponse (contract §2.1). */
export const replyMessage = (message: string, context: Record<string, string> = {}): Reply => ({
  status: 200,
  json: { message, context },
});
