/**
 * Buffers request bodies that arrive in several chunks, and bounds the memory of all open bodies together.
 *
 * Each new buffer is as large as all earlier ones of that body together. So neither many small chunks nor a
 * large Content-Length hold more than about twice the bytes received. The bound counts the size of the
 * buffers. They are released as soon as the body is complete or dropped, without waiting for the garbage
 * collector, which may run much later.
 */

/** Bytes that the open bodies of one server may take together; above that: 503 `overloaded`. */
export const openBodiesBytesMax = 67_108_864;

const bytesMin = 4_096;

/** Bytes taken now by all open bodies of one server. */
export interface OpenBodies {
  bytes: number;
}

export class OpenBody {
  readonly #all: OpenBodies;
  readonly #buffers: Buffer<ArrayBuffer>[] = [];
  #allocated = 0;
  /** Free bytes in the last buffer. */
  #free = 0;

  constructor(all: OpenBodies) {
    this.#all = all;
  }

  /** Copies a chunk. Returns false when all open bodies would take too much: then drop this one. */
  add(chunk: ArrayBuffer): boolean {
    let rest = new Uint8Array(chunk);
    while (rest.byteLength > 0) {
      if (this.#free === 0 && !this.#grow(rest.byteLength)) return false;
      const last = this.#buffers[this.#buffers.length - 1] as Buffer;
      const fitting = rest.subarray(0, this.#free);
      last.set(fitting, last.byteLength - this.#free);
      this.#free -= fitting.byteLength;
      rest = rest.subarray(fitting.byteLength);
    }
    return true;
  }

  #grow(needed: number): boolean {
    const bytes = Math.max(needed, this.#allocated, bytesMin);
    if (this.#all.bytes + bytes > openBodiesBytesMax) return false;
    this.#all.bytes += bytes;
    this.#allocated += bytes;
    this.#free = bytes;
    this.#buffers.push(Buffer.allocUnsafeSlow(bytes));
    return true;
  }

  /** Returns a copy of everything received so far. */
  whole(): Buffer {
    return Buffer.concat(this.#buffers, this.#allocated - this.#free);
  }

  /** Releases all buffers. Idempotent. */
  drop(): void {
    for (const { buffer } of this.#buffers) buffer.transfer(0);
    this.#buffers.length = 0;
    this.#all.bytes -= this.#allocated;
    this.#allocated = 0;
    this.#free = 0;
  }
}
