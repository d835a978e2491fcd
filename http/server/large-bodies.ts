/**
 * Spreads the work on large bodies: one of them per iteration of the event loop.
 *
 * Checking a stats post with 16,384 shards takes some 15 ms. Clients whose bodies are complete in the same
 * iteration would together keep all others waiting; this way others are served between two of them. The
 * bodies that wait count as open bodies, which bounds the queue.
 */

/** A body above this is large, bytes. */
export const largeBytesMin = 65_536;

export class LargeBodies {
  readonly #waiting: (() => void)[] = [];
  readonly #next = (): void => {
    const work = this.#waiting.shift();
    if (this.#waiting.length > 0) setImmediate(this.#next);
    work?.();
  };

  /** Calls `work` after all that were added earlier, in an iteration of its own. */
  add(work: () => void): void {
    this.#waiting.push(work);
    if (this.#waiting.length === 1) setImmediate(this.#next);
  }
}
