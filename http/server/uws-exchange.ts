/**
 * One request on uWebSockets.js and how its reply is written: reading bodies up to a cap, whole replies,
 * streams with back-pressure.
 *
 * Invariants: an exchange is written at most once and never after its abort; every request that is not
 * answered at once has an abort handler (uWebSockets.js ends the process otherwise); a reply that closes its
 * connection is written outside the parser's call, because uWebSockets.js would otherwise serve the bytes
 * behind it. uws-send.ts says what may be written at once, unsent.ts bounds what clients do not read.
 */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { isDrawn } from './bare-replies.ts';
import type { BodyFault, Exchange, ExchangeOwner, ListenerPhase, WireReply } from './exchange.ts';
import { type LargeBodies, largeBytesMin } from './large-bodies.ts';
import { type OpenBodies, OpenBody } from './open-body.ts';
import type { PipelineLimit } from './pipeline-limit.ts';
import type { StreamSink } from './stream.ts';
import { type CutReason, UnsentReplies } from './unsent.ts';
import type { Listening } from './uws-listen.ts';
import {
  answerUpgrade,
  openChunkStream,
  openEventStream,
  openWebSocket,
  type StreamEvents,
  type UpgradeOffer,
} from './uws-push.ts';
import { BodyWriter, countBytes, countReplyBytes, isLargeReply, restartTimeout } from './uws-send.ts';
import {
  decodeText,
  RequestHeaders,
  type RequestIds,
  statusLines,
  takeHeader,
  toConnectionLine,
} from './wire.ts';

export interface CutDetails {
  readonly request_id: string;
  readonly client: string;
  readonly unsentBytes: number;
}

export interface ServerOptions {
  readonly handle: (exchange: Exchange) => void;
  readonly phase: ListenerPhase;
  /** Allows several processes to listen on one port; false binds it exclusively. */
  readonly shared: boolean;
  /** First part of generated request ids: identifies this process. */
  readonly requestIdPrefix: string;
  /** Called with the peer's address of each new connection, `''` if the client has already left. */
  readonly onConnection?: (peerAddress: string) => void;
  /** The client's address that limits count; the peer's if absent. */
  readonly readAddress?: (exchange: Exchange) => string;
  /** Called when a connection is closed because its client does not read. */
  readonly onCut?: (reason: CutReason, details: CutDetails) => void;
  /** Where requests may become WebSockets, and the protocol they then speak. */
  readonly sockets?: { readonly path: string; readonly protocol: string };
}

export interface ServerState extends ServerOptions, Listening {
  readonly pipelineLimit: PipelineLimit;
  readonly openBodies: OpenBodies;
  readonly largeBodies: LargeBodies;
  readonly requestIds: RequestIds;
}

/**
 * If a reply is ready while more than this of the request's body is still missing, the reply waits for the
 * rest, at most `restMsMax`; then the connection closes. If it closed at once, most clients would lose the
 * reply.
 */
const restBytesMax = 65_536;
const restMsMax = 4_000;
/** Of all listeners of this process. */
export const unsentReplies = new UnsentReplies();
const requestIdShape = /^[A-Za-z0-9_-]{8,64}$/;

/** True in a handler that the parser calls. What follows its promises still runs inside the parser's cork. */
let parsing = false;
let currentHeaders: RequestHeaders = new RequestHeaders();
const gatherHeader = (name: string, value: string): void => takeHeader(currentHeaders, name, value);

const isWhole = ({ stream, push }: WireReply): boolean => stream === undefined && push === undefined;

export const readAddress = (response: HttpResponse): string =>
  decodeText(response.getRemoteAddressAsText()) ?? '';

export class UwsExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly queryText: string;
  readonly headers: RequestHeaders;
  readonly requestId: string;
  open = true;
  /** The client offers to speak WebSocket from here on. */
  offer: UpgradeOffer | null = null;
  readonly #server: ServerState;
  readonly #response: HttpResponse;
  #owner: ExchangeOwner | null = null;
  #aborted = false;
  #tracked = false;
  #counted = false;
  /** The chunks so far of a body that did not arrive in one piece. */
  #body: OpenBody | null = null;
  #bytes = 0;
  #bytesMax = 0;
  #sink: StreamSink | null = null;
  #bodyWriter: BodyWriter | null = null;
  #address: string | null = null;
  /** A reply that waits for the rest of the body, and its time limit. */
  #lateReply: { readonly reply: WireReply; readonly timer: NodeJS.Timeout } | null = null;

  constructor(server: ServerState, response: HttpResponse, request: HttpRequest) {
    this.#server = server;
    this.#response = response;
    this.method = request.getCaseSensitiveMethod();
    this.path = request.getUrl();
    this.queryText = request.getQuery() ?? '';
    this.headers = new RequestHeaders();
    currentHeaders = this.headers;
    request.forEach(gatherHeader);
    const given = this.headers.requestId;
    this.requestId = given !== '' && requestIdShape.test(given) ? given : server.requestIds.create();
  }

  get socketVersion(): string {
    return this.offer?.version ?? '';
  }

  readPeerAddress(): string {
    return this.#aborted ? '' : readAddress(this.#response);
  }

  setOwner(owner: ExchangeOwner): void {
    this.#owner = owner;
  }

  /** Attaches the abort handler, and counts the request as in flight. */
  trackInFlight(): void {
    if (this.#tracked) return;
    this.#tracked = true;
    this.#counted = true;
    this.#server.inFlight++;
    this.#response.onAborted(() => this.#abort());
  }

  #abort(): void {
    this.#aborted = true;
    this.open = false;
    this.#dropBody();
    this.#release();
    clearTimeout(this.#lateReply?.timer);
    this.#sink?.abort();
    this.#forgetBody();
    this.#owner?.onClientGone();
  }

  /** A drain no longer waits for this request. */
  #release(): void {
    if (!this.#counted) return;
    this.#counted = false;
    const server = this.#server;
    server.inFlight--;
    if (server.phase.draining && server.inFlight === 0) server.onEmpty?.();
  }

  collectBody(bytesMax: number, owner: ExchangeOwner): void {
    this.#bytesMax = bytesMax;
    this.#owner = owner;
    if (this.headers.contentLength > bytesMax) {
      owner.onBody('', 'too_large');
      return;
    }
    this.#response.onData((chunk, last) => {
      parsing = true;
      try {
        this.#takeChunk(chunk, last);
      } finally {
        parsing = false;
      }
    });
  }

  #takeChunk(chunk: ArrayBuffer, last: boolean): void {
    if (last && this.#lateReply !== null) {
      const { reply, timer } = this.#lateReply;
      clearTimeout(timer);
      if (isWhole(reply) && this.#server.pipelineLimit.mayWriteNow(countReplyBytes(reply)))
        this.#write(reply);
      else setImmediate(() => this.#writeLater(reply));
    }
    if (!this.open || this.#bytes > this.#bytesMax) return;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#bytesMax) {
      this.#deliver(null, 'too_large');
      return;
    }
    const isLarge = this.#bytes > largeBytesMin;
    if (last && this.#body === null && !isLarge) {
      this.#deliver(chunk, null);
      return;
    }
    this.#body ??= new OpenBody(this.#server.openBodies);
    if (!this.#body.add(chunk)) {
      this.#bytes = Number.POSITIVE_INFINITY; // Ignores all further chunks.
      this.#deliver(null, 'no_room');
    } else if (last && isLarge) this.#server.largeBodies.add(() => this.#deliverWhole());
    else if (last) this.#deliverWhole();
  }

  /** The exchange may have been answered or aborted while its body waited. */
  #deliverWhole(): void {
    if (this.#body !== null) this.#deliver(this.#body.whole(), null);
  }

  #dropBody(): void {
    this.#body?.drop();
    this.#body = null;
  }

  #deliver(bytes: ArrayBuffer | Buffer | null, fault: BodyFault | null): void {
    this.#dropBody();
    const text = bytes === null ? '' : decodeText(bytes);
    if (text === null) this.#owner?.onBody('', 'not_utf8');
    else this.#owner?.onBody(text, fault);
  }

  /** uWebSockets.js closes it 8 to 12 s after the head or this call, unless 16 KiB a second arrive. */
  keepOpen(): void {
    if (!this.#aborted) restartTimeout(this.#response);
  }

  send(given: WireReply): void {
    if (!this.open) return;
    this.open = false;
    this.#dropBody();
    const reply = this.#mustClose(given) ? { ...given, close: true } : given;
    if (!reply.close && this.#bytesMax > 0 && this.headers.contentLength - this.#bytes > restBytesMax) {
      this.#awaitRest(reply);
      return;
    }
    const closes = reply.close || this.headers.closes || this.headers.closesInList;
    const immediate = !closes && isWhole(reply) && this.offer === null;
    if (immediate && this.#server.pipelineLimit.mayWriteNow(countReplyBytes(reply))) {
      if (parsing) this.#write(reply);
      else this.#writeLater(reply);
      return;
    }
    this.trackInFlight();
    const write = (): void => this.#writeLater(reply);
    if (this.offer !== null) this.#sink = answerUpgrade(reply, write);
    else setImmediate(write);
  }

  #mustClose(reply: WireReply): boolean {
    const { body } = reply;
    const isBare = this.method === 'HEAD' || body === null || body.length === 0;
    return isBare && isWhole(reply) && this.offer === null && isDrawn();
  }

  #awaitRest(reply: WireReply): void {
    this.trackInFlight();
    const timer = setTimeout(() => this.#writeLater({ ...reply, close: true }), restMsMax);
    this.#lateReply = { reply, timer };
  }

  #writeLater(reply: WireReply): void {
    if (this.#aborted) return;
    if (reply.push === undefined || this.offer === null) {
      this.#response.cork(() => this.#write(reply));
      this.#bodyWriter?.flush();
      this.#holdBody();
    } else {
      this.#release();
      this.#findAddress(); // An upgraded response does not know it.
      openWebSocket(this.#response, this.offer, { push: reply.push, events: this.#streamEvents() });
    }
  }

  #write(given: WireReply): void {
    const reply = this.headers.closesInList ? { ...given, close: true } : given;
    const response = this.#response;
    if (reply.status !== 200) response.writeStatus(statusLines[reply.status] as string);
    // One call writes all header lines: each call costs time, and uWebSockets.js copies the text unchanged.
    const isHead = this.method === 'HEAD';
    const isLarge = !isHead && isLargeReply(reply);
    const isStream = reply.stream !== undefined && !isHead;
    const line = toConnectionLine(this.headers, reply.close, isStream || isLarge);
    response.writeHeader('X-Request-Id', this.requestId + line + reply.headers);
    if (isHead) this.#writeHead(reply);
    else if (isLarge) {
      this.#startBody(reply.body as string | Uint8Array);
      return;
    } else if (reply.push !== undefined)
      this.#sink = openEventStream(response, reply.push, this.#streamEvents());
    else if (reply.stream !== undefined) {
      this.#sink = openChunkStream(response, reply.stream, this.#streamEvents());
      return;
    } else if (!this.#writeBody(reply)) return;
    // An event stream is not in flight from here on.
    this.#release();
  }

  /** Only in a cork of its own: the body follows when that has ended. */
  #startBody(body: string | Uint8Array): void {
    this.#response.tryEnd('', countBytes(body));
    this.#keepBody(body);
  }

  /** The head is written; the rest of the body goes on from here. */
  #keepBody(body: string | Uint8Array): void {
    this.#bodyWriter = new BodyWriter(this.#response, {
      body,
      onEnd: () => {
        this.#owner = null;
        this.#forgetBody();
        this.#release();
      },
      onCut: (reason, bytes) => this.#reportCut(reason, bytes),
    });
  }

  #holdBody(): void {
    const writer = this.#bodyWriter;
    if (writer !== null) unsentReplies.add(writer, this.#findAddress(), performance.now());
  }

  #forgetBody(): void {
    if (this.#bodyWriter !== null) unsentReplies.remove(this.#bodyWriter);
    this.#bodyWriter = null;
  }

  #streamEvents(): StreamEvents {
    return {
      onEnd: () => this.#release(),
      onFull: (reply) => unsentReplies.add(reply, this.#findAddress(), performance.now()),
      onRoom: (reply) => unsentReplies.remove(reply),
      onCut: (reason, bytes) => this.#reportCut(reason, bytes),
    };
  }

  #findAddress(): string {
    this.#address ??= this.#server.readAddress?.(this) ?? this.readPeerAddress();
    return this.#address;
  }

  #reportCut(reason: CutReason, unsentBytes: number): void {
    this.#server.onCut?.(reason, { request_id: this.requestId, client: this.#findAddress(), unsentBytes });
  }

  /** Returns whether the library has taken all of it. */
  #writeBody({ body, close, status }: WireReply): boolean {
    const response = this.#response;
    if (close) this.#endClosing(body ?? '');
    else if (body !== null && body.length > 0) {
      if (response.tryEnd(body, countBytes(body))[1]) return true;
      this.trackInFlight();
      this.#keepBody(body);
      this.#holdBody();
      return false;
    } else if (body !== null || (status !== 204 && status !== 304)) response.end('');
    else response.endWithoutBody();
    return true;
  }

  /** A connection that closes is read no more: another request would keep it. */
  #endClosing(body: string | Uint8Array): void {
    this.#response.pause();
    this.#response.end(body, true);
  }

  /** Sends the length without the body. Only `end` closes a connection, so a closing reply has length 0. */
  #writeHead({ body, close }: WireReply): void {
    const response = this.#response;
    if (!close && body !== null) response.writeHeader('Content-Length', String(countBytes(body)));
    if (close) this.#endClosing('');
    else response.endWithoutBody();
  }

  destroy(): void {
    if (!this.#aborted) this.#response.close();
  }
}

export const receive = (state: ServerState, exchange: UwsExchange): void => {
  parsing = true;
  try {
    state.handle(exchange);
    if (exchange.open) exchange.trackInFlight();
  } finally {
    parsing = false;
  }
};
