/**
 * One HTTP request and its response as dispatch sees them. Types only, so that only uws-server.ts depends on
 * uWebSockets.js.
 *
 * An exchange is answered at most once: the first of `send`, a client disconnect, and an expired deadline
 * wins; everything later is ignored. Implemented by uws-server.ts, used by dispatch.ts and by tests.
 */
import type { OpenPush } from './push-connection.ts';
import type { RequestHeaders } from './wire.ts';

/** Receives the events of an exchange. */
export interface ExchangeOwner {
  /** The body is complete, or cannot be read: then `fault` says why and `text` is `''`. */
  onBody(text: string, fault: BodyFault | null): void;
  /** The client disconnected before its response, or in the middle of a streamed one. */
  onClientGone(): void;
}

/** `no_room`: the open bodies of all requests take all the memory they may. */
export type BodyFault = 'too_large' | 'not_utf8' | 'too_slow' | 'no_room';

/** A response ready to be written. */
export interface WireReply {
  readonly status: number;
  /** Header lines after `X-Request-Id`, each beginning with CR LF; all values are checked. */
  readonly headers: string;
  readonly body: string | Uint8Array | null;
  readonly stream?: AsyncIterable<string | Uint8Array>;
  /** Takes over the connection, as a WebSocket if the client offered that, else after the header. */
  readonly push?: OpenPush;
  /** Closes the connection after the response. */
  readonly close: boolean;
}

/** How far a listener is on its way to its end. */
export interface ListenerPhase {
  /** It still works, but every response closes its connection, so that clients go to other nodes. */
  leaving: boolean;
  /** New requests are refused. */
  draining: boolean;
}

export interface Exchange {
  readonly method: string;
  /** As sent, still percent-encoded, without the query. */
  readonly path: string;
  readonly queryText: string;
  readonly headers: RequestHeaders;
  readonly requestId: string;
  /** The version of the WebSocket protocol that the client offers to speak, `''` if it does not. */
  readonly socketVersion: string;
  /** False once answered, or when the client has disconnected. */
  readonly open: boolean;
  /** The peer's address as text, `''` when the client has disconnected. */
  readPeerAddress(): string;
  /** Starts to collect the body, up to `bytesMax`. Must be called before the first await. */
  collectBody(bytesMax: number, owner: ExchangeOwner): void;
  /** Sets who is notified when the client disconnects. */
  setOwner(owner: ExchangeOwner): void;
  /** The connection stays open for 8 s more at least, although nothing or little of the body arrives. */
  keepOpen(): void;
  send(reply: WireReply): void;
  /** Closes the connection without a response. */
  destroy(): void;
}
