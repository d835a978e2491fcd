/**
 * Generates the ids of requests that bring none: a prefix of this process and a counter.
 */

/** The last two characters of request ids, base 36: only every 1,296th id formats a number. */
const endings: readonly string[] = Array.from({ length: 1_296 }, (_, index) =>
  index.toString(36).padStart(2, '0'),
);

export class RequestIds {
  readonly #prefix: string;
  #requests = 0;
  /** The current ids without their last two characters. */
  #start = '';

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  create(): string {
    const ending = this.#requests++ % endings.length;
    if (ending === 0) {
      const block = Math.floor(this.#requests / endings.length);
      this.#start = this.#prefix + block.toString(36).padStart(4, '0');
    }
    return this.#start + (endings[ending] as string);
  }
}
