/**
 * Bounds the bytes that clients do not read, over all connections of this process: whole replies, streams,
 * and messages for followers.
 *
 * A reply that the socket did not take whole waits here, and with it its connection: the parser closes that
 * when another request comes. It is tried again every two seconds, because the system reports room only when
 * a third of a send buffer, which may be 4 MiB, is free. So progress is what the system took. A reader is
 * cut when it takes less than `slowBytesMin` in `slowMs`, or when its address or the node holds too much and
 * it is the one that has stood still for longest.
 */

/** What the unsent replies may take, by address and together, bytes. */
const addressBytesMax = 16_777_216;
const nodeBytesMax = 268_435_456;
/** The least that one counts for: the library's buffers. */
const replyBytesMin = 16_384;
const slowMs = 60_000;
const slowBytesMin = 65_536;
/** Also keeps uWebSockets.js from closing the connection, which it does after 8 s without room. */
const retryMs = 2_000;

export type CutReason = 'slow' | 'address' | 'node';

/** A reply on its way. */
export interface UnsentReply {
  /** Bytes that the socket has taken, and those that wait. */
  readonly sentBytes: number;
  readonly unsentBytes: number;
  /** Tries to send more. */
  flush(): void;
  /** Closes the connection; must call `remove`. */
  cut(reason: CutReason, unsentBytes: number): void;
}

interface Waiting {
  readonly address: string;
  bytes: number;
  sentBytes: number;
  /** When it had last taken `slowBytesMin`, and what was sent by then. */
  stretchMs: number;
  stretchBytes: number;
}

export class UnsentReplies {
  /** The one that stood still for longest first. */
  readonly #waiting = new Map<UnsentReply, Waiting>();
  readonly #byAddress = new Map<string, number>();
  #bytes = 0;
  #timer: NodeJS.Timeout | null = null;

  /** Bytes of all replies that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Once is enough until the reply is removed. */
  add(reply: UnsentReply, address: string, nowMs: number): void {
    if (this.#waiting.has(reply)) return;
    const bytes = Math.max(replyBytesMin, reply.unsentBytes);
    const { sentBytes } = reply;
    this.#waiting.set(reply, { address, bytes, sentBytes, stretchMs: nowMs, stretchBytes: sentBytes });
    this.#count(address, bytes);
    this.#timer ??= setInterval(() => this.retry(performance.now()), retryMs).unref();
    while ((this.#byAddress.get(address) ?? 0) > addressBytesMax && this.#cutStalest('address', address));
    while (this.#bytes > nodeBytesMax && this.#cutStalest('node'));
  }

  /** The reply was sent, or its client has left. Idempotent. */
  remove(reply: UnsentReply): void {
    const waiting = this.#waiting.get(reply);
    if (waiting === undefined) return;
    this.#waiting.delete(reply);
    this.#count(waiting.address, -waiting.bytes);
    if (this.#waiting.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Tries all again, and cuts those that are too slow. */
  retry(nowMs: number): void {
    for (const [reply, waiting] of [...this.#waiting]) {
      reply.flush();
      if (!this.#waiting.has(reply)) continue;
      const { sentBytes, unsentBytes } = reply;
      if (sentBytes > waiting.sentBytes) {
        this.#waiting.delete(reply);
        this.#waiting.set(reply, waiting);
      }
      waiting.sentBytes = sentBytes;
      const bytes = Math.max(replyBytesMin, unsentBytes);
      this.#count(waiting.address, bytes - waiting.bytes);
      waiting.bytes = bytes;
      if (sentBytes - waiting.stretchBytes >= slowBytesMin) {
        waiting.stretchMs = nowMs;
        waiting.stretchBytes = sentBytes;
      } else if (nowMs - waiting.stretchMs >= slowMs) reply.cut('slow', unsentBytes);
    }
  }

  #count(address: string, bytes: number): void {
    this.#bytes += bytes;
    const sum = (this.#byAddress.get(address) ?? 0) + bytes;
    if (sum === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, sum);
  }

  /** Returns false when there is only one left, which may be larger than the bound. */
  #cutStalest(reason: CutReason, address?: string): boolean {
    const sum = address === undefined ? this.#bytes : this.#byAddress.get(address);
    for (const [reply, waiting] of this.#waiting) {
      if (address !== undefined && waiting.address !== address) continue;
      if (waiting.bytes === sum) return false;
      reply.cut(reason, reply.unsentBytes);
      return true;
    }
    return false;
  }
}
