/**
 * What dispatch sees of one request on the wire: types only, so that nothing but server.ts knows
 * uWebSockets.js.
 *
 * An exchange is answered at most once: the first of `send`, a client that leaves, and a passed deadline
 * wins, and everything after it is ignored. Implemented by server.ts, used by dispatch.ts and by tests.
 */
import type { RequestHeaders } from './request-headers.ts';

/** Told by the exchange what happens on the wire. */
export interface ExchangeOwner {
  /** The whole body is there as text, or it never will be: `fault` then says why. */
  onBody(text: string, fault: BodyFault | null): void;
  /** The client left before it was answered, or in the middle of a streamed answer. */
  onClientGone(): void;
}

/** `no_room`: the open bodies of all requests hold as much as they may. */
export type BodyFault = 'too_large' | 'not_utf8' | 'too_slow' | 'no_room';

/** An answer ready to be written. */
export interface WireReply {
  readonly status: number;
  /** Header lines after `X-Request-Id`, each beginning with CR LF, with values that were checked. */
  readonly headers: string;
  readonly body: string | Uint8Array | null;
  readonly stream?: AsyncIterable<string>;
  /** Close the connection afterwards. */
  readonly close: boolean;
}

export interface Exchange {
  readonly method: string;
  /** As sent, still percent-encoded, without the query. */
  readonly path: string;
  readonly queryText: string;
  readonly headers: RequestHeaders;
  readonly requestId: string;
  /** False once answered, or when the client left. */
  readonly open: boolean;
  /** The peer's address as text, `''` when the client already left. */
  readPeerAddress(): string;
  /** Starts to gather the body, up to `bytesMax`; must be called before the first await. */
  collectBody(bytesMax: number, owner: ExchangeOwner): void;
  /** Asks to be told when the client leaves. */
  setOwner(owner: ExchangeOwner): void;
  send(reply: WireReply): void;
  /** Drops the connection without an answer. */
  destroy(): void;
}
