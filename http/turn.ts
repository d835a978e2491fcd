/**
 * How many answers one turn of the event loop writes from inside the parser: the bound on pipelining.
 *
 * The parser reads up to 512 KiB of one connection and calls us once per request in it. It does not say where
 * one connection's requests end and the next one's begin, but it closes a connection that sends a further
 * request while one waits for its answer. So an answer that is ready at once is written at once, but every
 * 16th of a turn waits for the end of the turn. A client that waits for its answers notices nothing. A client
 * with more requests behind that one loses its connection, after at most 16 of them were worked on: the 15
 * between two answers that wait, and the second of these. Above 256 answers in a turn all wait: only clients
 * that pipeline, or hundreds that are ready together, come so far.
 *
 * Everybody else pays for a counter and for one callback per turn. Used by server.ts.
 */

/** Of one connection and read, as many requests are worked on at most. */
export const pipelinedMax = 16;

/** Answers of one turn that are written at once at most. */
const atOnceMax = 256;

export class PipeliningLimit {
  #answers = 0;
  readonly #end = (): void => {
    this.#answers = 0;
  };

  /** Counts an answer that is ready inside the parser's call: whether it may be written there. */
  mayAnswerAtOnce(): boolean {
    // All sockets that are ready are read before callbacks of setImmediate run.
    if (this.#answers === 0) setImmediate(this.#end);
    this.#answers++;
    return this.#answers <= atOnceMax && this.#answers % pipelinedMax !== 0;
  }
}
