/**
 * Bounds HTTP pipelining: limits how many responses one event-loop iteration writes inside the parser.
 *
 * The parser reads up to 512 KiB of one connection and calls us once per request in it. It does not tell us
 * which connection a request belongs to, but it closes a connection that sends another request while one
 * waits for its response. So a response that is ready is written at once, except every 16th of an iteration:
 * that one waits until the iteration ends. A client that waits for its responses notices nothing. A client
 * with more requests behind that one loses its connection after at most 16 of them were worked on: the 15
 * between two delayed responses, and the second of these. Above 256 responses per iteration all are delayed;
 * only pipelining clients, or hundreds that are ready together, get that far.
 *
 * All other clients pay for a counter and one callback per iteration.
 */

/** Most requests of one connection that are worked on per read. */
export const pipelinedMax = 16;

/** Most responses of one iteration that are written at once. */
const immediateMax = 256;

export class PipelineLimit {
  #responses = 0;
  readonly #reset = (): void => {
    this.#responses = 0;
  };

  /** Counts a response that is ready inside the parser's call. Returns whether it may be written there. */
  mayWriteNow(): boolean {
    // The loop reads all ready sockets before it runs setImmediate callbacks.
    if (this.#responses === 0) setImmediate(this.#reset);
    this.#responses++;
    return this.#responses <= immediateMax && this.#responses % pipelinedMax !== 0;
  }
}
