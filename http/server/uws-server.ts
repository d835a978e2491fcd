/**
 * The HTTP server on uWebSockets.js, which only the files uws-*.ts use: turns sockets into exchanges.
 *
 * Owns listening, reading bodies up to a cap, writing, streaming with back-pressure, and draining.
 * Invariants: an exchange is written at most once and never after its abort; every request that is not
 * answered at once has an abort handler (uWebSockets.js ends the process otherwise); a reply that closes its
 * connection is written outside the parser's call, because uWebSockets.js would otherwise serve the bytes
 * behind it. The parser drops a connection that pipelines a request behind one that has to wait;
 * pipeline-limit.ts uses this against excessive pipelining. open-body.ts bounds the memory of slow bodies.
 */
import './header-limit.ts'; // Must come before the import of uWebSockets.js, which reads the limit.

import uws, { type HttpRequest, type HttpResponse } from 'uWebSockets.js';
import type { BodyFault, Exchange, ExchangeOwner, ListenerPhase, WireReply } from './exchange.ts';
import { LargeBodies, largeBytesMin } from './large-bodies.ts';
import { type OpenBodies, OpenBody } from './open-body.ts';
import { PipelineLimit } from './pipeline-limit.ts';
import type { StreamSink } from './stream.ts';
import { type Listening, openPort, stopListening } from './uws-listen.ts';
import {
  answerUpgrade,
  createSocketBehavior,
  openChunkStream,
  openEventStream,
  openWebSocket,
  type UpgradeOffer,
} from './uws-push.ts';
import { BodyWriter, corkBytesMax, countBytes } from './uws-send.ts';
import { decodeText, RequestHeaders, RequestIds, statusLines, takeHeader, toConnectionLine } from './wire.ts';

export interface ServerOptions {
  readonly handle: (exchange: Exchange) => void;
  readonly phase: ListenerPhase;
  /** Allows several processes to listen on one port; false binds it exclusively. */
  readonly shared: boolean;
  /** First part of generated request ids: identifies this process. */
  readonly requestIdPrefix: string;
  /** Called with the peer's address of each new connection, `''` if the client has already left. */
  readonly onConnection?: (peerAddress: string) => void;
  /** Where requests may become WebSockets, and the protocol they then speak. */
  readonly sockets?: { readonly path: string; readonly protocol: string };
}

interface ServerState extends ServerOptions, Listening {
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
const requestIdShape = /^[A-Za-z0-9_-]{8,64}$/;

/** True inside a call of the parser: writes are corked then and must not close the connection. */
let parsing = false;
let currentHeaders: RequestHeaders = new RequestHeaders();
const gatherHeader = (name: string, value: string): void => takeHeader(currentHeaders, name, value);

/** Status line, the headers of every reply, and those of uWebSockets.js: at most so many bytes. */
const headBytesMax = 400;
const countReplyBytes = ({ headers, body }: WireReply): number =>
  headBytesMax + headers.length + countBytes(body);

const readAddress = (response: HttpResponse): string => decodeText(response.getRemoteAddressAsText()) ?? '';

class UwsExchange implements Exchange {
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
      clearTimeout(this.#lateReply.timer);
      this.#write(this.#lateReply.reply);
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
    if (this.#aborted) return;
    this.#response.pause(); // Else `resume` would break the connection.
    this.#response.resume();
  }

  send(reply: WireReply): void {
    if (!this.open) return;
    this.open = false;
    this.#dropBody();
    if (!reply.close && this.#bytesMax > 0 && this.headers.contentLength - this.#bytes > restBytesMax) {
      this.#awaitRest(reply);
      return;
    }
    const isWhole = reply.stream === undefined && reply.push === undefined;
    const closes = reply.close || this.headers.closes || this.headers.closesInList;
    const immediate = parsing && !closes && isWhole && this.offer === null;
    if (immediate && this.#server.pipelineLimit.mayWriteNow(countReplyBytes(reply))) {
      this.#write(reply);
      return;
    }
    this.trackInFlight();
    const write = (): void => this.#writeLater(reply);
    if (this.offer !== null) this.#sink = answerUpgrade(reply, write);
    else if (parsing) setImmediate(write);
    else write();
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
    } else {
      this.#release();
      openWebSocket(this.#response, this.offer, reply.push);
    }
  }

  #write(given: WireReply): void {
    const reply = this.headers.closesInList ? { ...given, close: true } : given;
    const response = this.#response;
    if (reply.status !== 200) response.writeStatus(statusLines[reply.status] as string);
    // One call writes all header lines: each call costs time, and uWebSockets.js copies the text unchanged.
    const isHead = this.method === 'HEAD';
    const isLarge = !isHead && reply.body !== null && countReplyBytes(reply) > corkBytesMax;
    const isStream = reply.stream !== undefined && !isHead;
    const line = toConnectionLine(this.headers, reply.close, isStream || isLarge);
    response.writeHeader('X-Request-Id', this.requestId + line + reply.headers);
    if (isHead) this.#writeHead(reply);
    else if (isLarge) {
      this.#startBody(reply.body as string | Uint8Array, reply.close);
      return;
    } else if (reply.push !== undefined) this.#sink = openEventStream(response, reply.push);
    else if (reply.stream !== undefined) {
      this.#sink = openChunkStream(response, reply.stream, () => this.#release());
      return;
    } else this.#writeBody(reply);
    // An event stream is not in flight from here on.
    this.#release();
  }

  /** Only in a cork of its own: the body follows when that has ended. */
  #startBody(body: string | Uint8Array, close: boolean): void {
    const response = this.#response;
    response.tryEnd('', countBytes(body));
    this.#bodyWriter = new BodyWriter(response, {
      body,
      closes: close && !this.headers.closes,
      onEnd: () => {
        this.#owner = null;
        this.#release();
      },
    });
  }

  #writeBody({ body, close, status }: WireReply): void {
    if (body !== null) this.#response.end(body, close);
    else if (close || (status !== 204 && status !== 304)) this.#response.end('', close);
    else this.#response.endWithoutBody();
  }

  /** Sends the length without the body. Only `end` closes a connection, so a closing reply has length 0. */
  #writeHead({ body, close }: WireReply): void {
    if (close) {
      this.#response.end('', true);
      return;
    }
    if (body !== null) this.#response.writeHeader('Content-Length', String(Buffer.byteLength(body)));
    this.#response.endWithoutBody();
  }

  destroy(): void {
    if (!this.#aborted) this.#response.close();
  }
}

const receive = (state: ServerState, exchange: UwsExchange): void => {
  parsing = true;
  try {
    state.handle(exchange);
    if (exchange.open) exchange.trackInFlight();
  } finally {
    parsing = false;
  }
};

const listenForConnections = ({ app }: ServerState, onConnection: (peerAddress: string) => void): void => {
  const onChange = (response: HttpResponse, change: unknown): void => {
    // -1 when it closes.
    if (change === 1) onConnection(readAddress(response));
  };
  app.filter(onChange);
};

/** Bytes behind the head would be read as frames, so an upgrade has no body. */
const listenForUpgrades = (state: ServerState, path: string, protocol: string): void => {
  const behavior = createSocketBehavior(protocol, (offer, response, request) => {
    const exchange = new UwsExchange(state, response, request);
    const { headers } = exchange;
    if (headers.chunked || headers.contentLength > 0) headers.framingFault = 'An upgrade has no body.';
    exchange.offer = offer;
    receive(state, exchange);
  });
  state.app.ws(path, behavior);
};

/**
 * Creates a server that passes every request to `handle`, which must answer each exchange once, now or
 * later. Nothing listens yet.
 */
export const createHttpServer = (options: ServerOptions) => {
  // Removes the header that names the server software; the package's types lack this call.
  (uws as unknown as { _cfg: (key: string) => void })._cfg('999999990007');
  const state: ServerState = {
    ...options,
    app: uws.App(),
    pipelineLimit: new PipelineLimit(),
    openBodies: { bytes: 0 },
    largeBodies: new LargeBodies(),
    socket: null,
    inFlight: 0,
    requestIds: new RequestIds(options.requestIdPrefix),
    onEmpty: null,
  };
  if (options.onConnection !== undefined) listenForConnections(state, options.onConnection);
  if (options.sockets !== undefined) listenForUpgrades(state, options.sockets.path, options.sockets.protocol);
  state.app.any('/*', (response, request) => receive(state, new UwsExchange(state, response, request)));
  return {
    startLeaving: () => {
      state.phase.leaving = true;
    },
    /** Resolves to the port. Rejects with a message for the operator (port taken, no such address). */
    listen: (host: string, port: number) => openPort(state, host, port),
    /**
     * Stops listening, waits for requests in flight, closes every connection. Resolves after `deadlineMs` at
     * the latest.
     */
    drain: (deadlineMs: number) => stopListening(state, deadlineMs),
    /** Requests not answered yet. */
    get inFlight() {
      return state.inFlight;
    },
  };
};
export type HttpServer = ReturnType<typeof createHttpServer>;
