/**
 * Responses that are not written at once, on uWebSockets.js: streams of chunks, server-sent events as a
 * response that never ends, and WebSockets.
 *
 * The last two hold back nothing themselves: `send` says when the socket is full, and at most one message is
 * then buffered beyond what the kernel takes. uWebSockets.js drains a WebSocket by itself, but a response
 * only with its next write, so an owner that has nothing to send gets a comment sent.
 */
import type {
  HttpRequest,
  HttpResponse,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior,
} from 'uWebSockets.js';
import type { WireReply } from './exchange.ts';
import type { OpenPush, PushConnection, PushOwner } from './push-connection.ts';
import { pump, type StreamSink } from './stream.ts';
import type { CutReason, UnsentReply } from './unsent.ts';
import { ChunkWriter, restartTimeout } from './uws-send.ts';

/** Where a connection reports what its client has not read. */
export interface UnsentEvents {
  /** The socket is full, or has room again. */
  onFull(reply: UnsentReply): void;
  onRoom(reply: UnsentReply): void;
  readonly onCut: UnsentReply['cut'];
}

export interface StreamEvents extends UnsentEvents {
  /** After the last chunk. */
  onEnd(): void;
}

/** A response that is written piece by piece. */
const toUnsent = (response: HttpResponse, writer: ChunkWriter, { onCut }: UnsentEvents): UnsentReply => ({
  get sentBytes() {
    return writer.sentBytes;
  },
  get unsentBytes() {
    return writer.unsentBytes;
  },
  flush: () => restartTimeout(response),
  cut: (reason, unsentBytes) => {
    onCut(reason, unsentBytes);
    response.close();
  },
});

/** Goes on with a response whose status and headers are written. */
export const openChunkStream = (
  response: HttpResponse,
  chunks: AsyncIterable<string | Uint8Array>,
  events: StreamEvents,
): StreamSink => {
  let writable = (): void => {};
  const writer = new ChunkWriter(response);
  const reply = toUnsent(response, writer, events);
  response.onWritable(() => {
    if (!writer.flush()) return true;
    events.onRoom(reply);
    writable();
    return true;
  });
  const sink = pump(chunks, {
    write: (chunk) => {
      const hasRoom = writer.write(chunk);
      if (!hasRoom) events.onFull(reply);
      return hasRoom;
    },
    onWritable: (task) => {
      writable = task;
    },
    end: () => {
      response.cork(() => response.end());
      events.onEnd();
    },
    destroy: () => response.close(),
  });
  return {
    abort: () => {
      events.onRoom(reply);
      sink.abort();
    },
  };
};

/** The offer of a client to upgrade its request. */
export interface UpgradeOffer {
  readonly key: string;
  /** `none` if absent. */
  readonly version: string;
  readonly protocol: string;
  readonly extensions: string;
  readonly context: us_socket_context_t;
}

/** Must be called in the request's handler. */
const readUpgradeOffer = (request: HttpRequest, context: us_socket_context_t, protocol: string) => {
  const offered = request.getHeader('sec-websocket-protocol').split(',');
  return {
    key: request.getHeader('sec-websocket-key'),
    version: request.getHeader('sec-websocket-version') || 'none',
    protocol: offered.some((one) => one.trim() === protocol) ? protocol : '',
    extensions: request.getHeader('sec-websocket-extensions'),
    context,
  };
};

/** A comment: clients ignore it. */
const comment = ':\n\n';
/**
 * Sent after each event to end its chunk: uWebSockets.js ends a chunk only when the next one begins, and some
 * clients read only whole chunks. A further blank line has no meaning in an event stream.
 */
const blank = '\n';
/** Characters of events that `cork` gathers before it writes them. */
const gatheredMax = 4_000;

class EventStream implements PushConnection {
  readonly kind = 'sse';
  #response: HttpResponse | null;
  readonly #writer: ChunkWriter;
  readonly #events: UnsentEvents;
  readonly #reply: UnsentReply;
  #owner: PushOwner | null = null;
  #hasSent = false;
  #isFull = false;
  /** Events that wait for the end of `cork`; `null` outside of it. */
  #gathered: string | null = null;

  constructor(response: HttpResponse, events: UnsentEvents) {
    this.#response = response;
    this.#writer = new ChunkWriter(response);
    this.#events = events;
    this.#reply = toUnsent(response, this.#writer, events);
  }

  open(push: OpenPush): void {
    this.#response?.onWritable(() => {
      if (!this.#writer.flush(blank)) return true;
      this.#hasSent = false;
      this.#isFull = false;
      this.#owner?.onWritable();
      if (!this.#hasSent) this.send(comment);
      if (!this.#isFull) this.#events.onRoom(this.#reply);
      return true;
    });
    this.#owner = push(this);
  }

  send(message: string): boolean {
    if (this.#response === null) return false;
    this.#hasSent = true;
    if (this.#gathered === null) return this.#write(message);
    this.#gathered += message;
    if (this.#gathered.length < gatheredMax) return true;
    const text = this.#gathered;
    this.#gathered = '';
    return this.#write(text);
  }

  #write(text: string): boolean {
    const hasRoom = this.#writer.write(text, blank);
    if (!hasRoom) {
      this.#isFull = true;
      this.#events.onFull(this.#reply);
    }
    return hasRoom;
  }

  cork(task: () => void): void {
    this.#gathered = '';
    task();
    const text = this.#gathered;
    this.#gathered = null;
    if (text !== '' && this.#response !== null) this.#write(text);
  }

  end(): void {
    const response = this.#response;
    if (response === null) return;
    if (this.#gathered) this.#writer.write(this.#gathered, blank);
    this.#gathered = null;
    this.#writer.finish(blank);
    response.cork(() => response.end());
    this.abort();
  }

  destroy(): void {
    this.#response?.close();
  }

  /** The response has ended, or the client has left. */
  abort(): void {
    this.#response = null;
    this.#events.onRoom(this.#reply);
    const owner = this.#owner;
    this.#owner = null;
    owner?.onClosed();
  }
}

/** Goes on with a response whose status and headers are written. Returns what to call when it is aborted. */
export const openEventStream = (
  response: HttpResponse,
  push: OpenPush,
  events: UnsentEvents,
): { abort(): void } => {
  const stream = new EventStream(response, events);
  stream.open(push);
  return stream;
};

/** What uWebSockets.js keeps beside a socket. */
interface SocketData {
  readonly push: OpenPush;
  readonly events: UnsentEvents;
  socket: Socket | null;
}

class Socket implements PushConnection, UnsentReply {
  readonly kind = 'websocket';
  owner: PushOwner | null = null;
  #socket: WebSocket<SocketData> | null;
  readonly #events: UnsentEvents;
  /** Bytes that the library was given. */
  #givenBytes = 0;

  constructor(socket: WebSocket<SocketData>) {
    this.#socket = socket;
    this.#events = socket.getUserData().events;
  }

  get unsentBytes(): number {
    return this.#socket?.getBufferedAmount() ?? 0;
  }

  get sentBytes(): number {
    return this.#givenBytes - this.unsentBytes;
  }

  /** The library does that by itself. */
  flush(): void {}

  cut(reason: CutReason, unsentBytes: number): void {
    this.#events.onCut(reason, unsentBytes);
    this.destroy();
  }

  send(message: string): boolean {
    this.#givenBytes += message.length;
    const hasRoom = this.#socket?.send(message) === sent;
    if (!hasRoom) this.#report();
    return hasRoom;
  }

  cork(task: () => void): void {
    this.#socket?.cork(task);
    this.#report();
  }

  #report(): void {
    if (this.unsentBytes > 0) this.#events.onFull(this);
    else this.#events.onRoom(this);
  }

  end(code: number, reason: string): void {
    this.#socket?.end(code, reason);
  }

  destroy(): void {
    this.#socket?.close();
  }

  /**
   * In a later call: when a message above 16 KiB finds the socket full inside the library's own call, that
   * forgets to wait for room.
   */
  writable(): void {
    if (this.unsentBytes > 0) return;
    setImmediate(() => {
      if (this.#socket !== null) this.owner?.onWritable();
      this.#report();
    });
  }

  /** The library has answered with a pong of so many bytes. */
  pinged(bytes: number): void {
    this.#givenBytes += bytes;
    this.#report();
    this.owner?.onControl();
  }

  closed(): void {
    this.#socket = null;
    this.#report();
    this.owner?.onClosed();
  }
}

/** Result of a send that left nothing in the buffer. */
const sent = 1;

/**
 * Upgrades a request to a WebSocket. Must not be called inside `cork`: afterwards `cork` would still treat
 * the socket as a response, if it stayed at its address in memory, and might close it (uWebSockets 1929,
 * mended in 2026). The library prints a warning for each such upgrade, which has no other consequence: it
 * writes the 101 at once.
 */
export const openWebSocket = (
  response: HttpResponse,
  offer: UpgradeOffer,
  opening: { readonly push: OpenPush; readonly events: UnsentEvents },
): void => {
  const data: SocketData = { ...opening, socket: null };
  response.upgrade(data, offer.key, offer.protocol, offer.extensions, offer.context);
};

/**
 * The delay before an upgrade is refused with 429 or 503. A waiting connection costs little, whereas a client
 * that is refused at once may come back fifty times a second.
 */
const refusalMs = 1_000;
/** With more delayed refusals than this, a node refuses at once. */
const refusalsMax = 1_000;
let refusals = 0;

/** Calls `write` in a later tick, or later for a refusal of a node that is not leaving. */
export const answerUpgrade = ({ status, close }: WireReply, write: () => void): StreamSink => {
  const isSlow = (status === 429 || status === 503) && !close && refusals < refusalsMax;
  if (!isSlow) {
    setImmediate(write);
    return { abort: () => {} };
  }
  refusals++;
  const timer = setTimeout(() => {
    refusals--;
    write();
  }, refusalMs);
  return {
    abort: () => {
      refusals--;
      clearTimeout(timer);
    },
  };
};

/** A longer message closes the connection: with a status code up to `messageBytesRead`. */
const messageBytesMax = 16_384;
/** A message above this is not read at all, and its connection is cut. */
const messageBytesRead = 65_536;
const tooLongCode = 1_009;
/** A connection that sends nothing for this long, not even an answer to uWebSockets.js' pings, is closed. */
const idleSeconds = 60;

const utf8 = new TextDecoder();

/** How WebSockets behave, which speak this protocol; `onUpgrade` answers the requests for one. */
export const createSocketBehavior = (
  protocol: string,
  onUpgrade: (offer: UpgradeOffer, response: HttpResponse, request: HttpRequest) => void,
): WebSocketBehavior<SocketData> => ({
  maxPayloadLength: messageBytesRead,
  idleTimeout: idleSeconds,
  sendPingsAutomatically: true,
  maxBackpressure: 65_536,
  closeOnBackpressureLimit: true,
  upgrade: (response, request, context) =>
    onUpgrade(readUpgradeOffer(request, context, protocol), response, request),
  open: (socket) => {
    const data = socket.getUserData();
    const connection = new Socket(socket);
    data.socket = connection;
    connection.owner = data.push(connection);
  },
  message: (socket, message, isBinary) => {
    if (message.byteLength > messageBytesMax) socket.end(tooLongCode, 'message too long');
    else socket.getUserData().socket?.owner?.onMessage(isBinary ? null : utf8.decode(message));
  },
  ping: (socket, message) => socket.getUserData().socket?.pinged(message.byteLength),
  pong: (socket) => socket.getUserData().socket?.owner?.onControl(),
  drain: (socket) => socket.getUserData().socket?.writable(),
  close: (socket) => socket.getUserData().socket?.closed(),
});
