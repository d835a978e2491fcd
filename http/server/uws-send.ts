/**
 * How bytes of a response reach uWebSockets.js, so that none are lost.
 *
 * Inside `cork` its writes gather in one buffer of 16 KiB. Up to 2026-04 (its issue 1249) a write that does
 * not fit what is left there is thrown away when the socket takes only a part of that buffer, and later
 * writes go on. So nothing above `corkBytesMax` is written in a cork together with anything else:
 *
 * | what | where | at most |
 * |---|---|---|
 * | whole replies at once | the parser's cork, several of a connection | `corkBytesMax`, by PipelineLimit |
 * | whole replies later | a cork of their own | `corkBytesMax` with the head |
 * | larger bodies | the head in one cork, then the body alone: no buffer is filled | any |
 * | the head of a stream | a cork of its own | the head: a few KiB, limited by renderReply |
 * | chunks, events | a cork for each | `chunkBytesMax`, and some 100 bytes |
 * | WebSocket messages, 101 | in a cork or not, the library appends what it cannot cork | any |
 */
import type { HttpResponse } from 'uWebSockets.js';
import type { WireReply } from './exchange.ts';
import type { CutReason, UnsentReply } from './unsent.ts';

export const corkBytesMax = 15_000;
/** What uWebSockets.js holds of a stream whose socket is full: two pieces. */
const chunksBytesMax = 30_000;
/** The first chunk has some bytes of head before it, each event a line behind it. */
const chunkBytesMax = 14_000;

/** The bytes of a body. */
export const countBytes = (body: string | Uint8Array | null): number =>
  body === null ? 0 : typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;

/** Status line, the headers of every reply, and those of uWebSockets.js: at most so many bytes. */
const headBytesMax = 400;
export const countReplyBytes = ({ headers, body }: WireReply): number =>
  headBytesMax + headers.length + countBytes(body);

/** Whether a reply is too large to share a cork. Counts bytes only where the length leaves doubt. */
export const isLargeReply = (reply: WireReply): boolean =>
  headBytesMax + reply.headers.length + (reply.body?.length ?? 0) * 3 > corkBytesMax &&
  reply.body !== null &&
  countReplyBytes(reply) > corkBytesMax;

const toBytes = (text: string | Uint8Array): Uint8Array =>
  typeof text === 'string' ? Buffer.from(text) : text;

/** uWebSockets.js closes a connection 8 to 12 s after the last event; this is one. */
export const restartTimeout = (response: HttpResponse): void => {
  response.pause(); // Else `resume` would break the connection.
  response.resume();
};

/** Writes chunks of a response in pieces; keeps those for which the socket has no room. */
export class ChunkWriter {
  readonly #response: HttpResponse;
  #rest: Uint8Array | null = null;
  sentBytes = 0;

  constructor(response: HttpResponse) {
    this.#response = response;
  }

  /** At most, while the socket is full. */
  get unsentBytes(): number {
    return chunksBytesMax + (this.#rest?.length ?? 0);
  }

  /** Returns false when the socket is full: then `flush` goes on. */
  write(chunk: string | Uint8Array, ending = ''): boolean {
    if (this.#rest === null && chunk.length * 3 <= chunkBytesMax) return this.#writePiece(chunk, ending);
    const bytes = toBytes(chunk);
    this.#rest = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes]);
    return this.flush(ending);
  }

  /** Goes on with what is left. Returns false when the socket is full again. */
  flush(ending = ''): boolean {
    while (this.#rest !== null) {
      const piece = this.#rest.subarray(0, chunkBytesMax);
      this.#rest = piece.length < this.#rest.length ? this.#rest.subarray(chunkBytesMax) : null;
      if (!this.#writePiece(piece, this.#rest === null ? ending : '')) return false;
    }
    return true;
  }

  /** Writes what is left, whether the socket has room or not. */
  finish(ending: string): void {
    while (this.#rest !== null) this.flush(ending);
  }

  #writePiece(piece: string | Uint8Array, ending: string): boolean {
    let hasRoom = true;
    this.sentBytes += piece.length;
    this.#response.cork(() => {
      hasRoom = this.#response.write(piece);
      if (ending !== '') hasRoom = this.#response.write(ending) && hasRoom;
    });
    return hasRoom;
  }
}

export interface BodyWriting {
  readonly body: string | Uint8Array;
  /** Called when the library has all of it; the response must not be used from then on. */
  readonly onEnd: () => void;
  readonly onCut: (reason: CutReason, unsentBytes: number) => void;
}

/**
 * Writes a body whose head is written, as far as the socket takes it: what it does not take stays here, once
 * for all readers of a shared body. The response waits meanwhile, so the parser closes a connection that
 * sends another request.
 */
export class BodyWriter implements UnsentReply {
  readonly #response: HttpResponse;
  readonly #body: Uint8Array;
  readonly #with: BodyWriting;
  #sent: number;

  constructor(response: HttpResponse, writing: BodyWriting) {
    this.#response = response;
    this.#body = toBytes(writing.body);
    this.#with = writing;
    this.#sent = response.getWriteOffset();
    response.onWritable(() => {
      this.flush();
      return true;
    });
  }

  get sentBytes(): number {
    return this.#sent;
  }

  get unsentBytes(): number {
    return this.#body.length - this.#sent;
  }

  flush(): void {
    const response = this.#response;
    const rest = this.#body.subarray(this.#sent);
    let isDone = false;
    response.cork(() => {
      isDone = response.tryEnd(rest, this.#body.length)[1];
    });
    this.#sent = isDone ? this.#body.length : response.getWriteOffset();
    if (isDone) this.#with.onEnd();
  }

  cut(reason: CutReason, unsentBytes: number): void {
    this.#with.onCut(reason, unsentBytes);
    this.#response.close();
  }
}
