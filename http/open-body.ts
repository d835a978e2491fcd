/**
 * Bodies that do not come in one piece: what has come of each, and a bound on what all hold together.
 *
 * A body is kept in buffers of our own, each as large as all before it together, so that neither many small
 * pieces nor a large announced length hold more than about twice what was sent. What counts against the bound
 * is the size of these buffers. They are given back at once when the body is complete or not wanted any more,
 * because the garbage collector may not look for a long time. Used by server.ts.
 */

/** What the open bodies of one server may hold together, bytes; above: 503 `overloaded`. */
export const openBodiesBytesMax = 67_108_864;

const bytesMin = 4_096;

/** What is held now by the bodies of one server. */
export interface OpenBodies {
  bytes: number;
}

export class OpenBody {
  readonly #all: OpenBodies;
  readonly #buffers: Buffer<ArrayBuffer>[] = [];
  #held = 0;
  /** What is free of the last buffer. */
  #room = 0;

  constructor(all: OpenBodies) {
    this.#all = all;
  }

  /** Takes a copy of a piece. False when all open bodies would hold too much: then drop this one. */
  add(piece: ArrayBuffer): boolean {
    let rest = new Uint8Array(piece);
    while (rest.byteLength > 0) {
      if (this.#room === 0 && !this.#grow(rest.byteLength)) return false;
      const last = this.#buffers[this.#buffers.length - 1] as Buffer;
      const fitting = rest.subarray(0, this.#room);
      last.set(fitting, last.byteLength - this.#room);
      this.#room -= fitting.byteLength;
      rest = rest.subarray(fitting.byteLength);
    }
    return true;
  }

  #grow(needed: number): boolean {
    const bytes = Math.max(needed, this.#held, bytesMin);
    if (this.#all.bytes + bytes > openBodiesBytesMax) return false;
    this.#all.bytes += bytes;
    this.#held += bytes;
    this.#room = bytes;
    this.#buffers.push(Buffer.allocUnsafeSlow(bytes));
    return true;
  }

  /** A copy of all that has come. */
  whole(): Buffer {
    return Buffer.concat(this.#buffers, this.#held - this.#room);
  }

  /** Gives everything back. Idempotent. */
  drop(): void {
    for (const { buffer } of this.#buffers) buffer.transfer(0);
    this.#buffers.length = 0;
    this.#all.bytes -= this.#held;
    this.#held = 0;
    this.#room = 0;
  }
}
