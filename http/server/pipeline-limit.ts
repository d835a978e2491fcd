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
 * The same bounds what gathers in the library's buffer while it reads one connection (uws-send.ts): a
 * response also waits when it and those since the last one that waited take more than `corkBytesMax`.
 *
 * All other clients pay for a counter and one callback per iteration.
 */

import { corkBytesMax } from './uws-send.ts';

/** Most requests of one connection that are worked on per read. */
export const pipelinedMax = 16;

/** Most responses of one iteration that are written at once. */
const immediateMax = 256;

export class PipelineLimit {
  #responses = 0;
  #bytes = 0;
  readonly #reset = (): void => {
    this.#responses = 0;
    this.#bytes = 0;
  };

  /**
   * Counts a response of so many bytes that is ready inside the parser's call. Returns whether it may be
   * written there.
   */
  mayWriteNow(bytes: number): boolean {
    // The loop reads all ready sockets before it runs setImmediate callbacks.
    if (this.#responses === 0) setImmediate(this.#reset);
    this.#responses++;
    this.#bytes += bytes;
    const mayWrite = this.#responses % pipelinedMax !== 0 && this.#bytes <= corkBytesMax;
    if (!mayWrite) this.#bytes = 0;
    return mayWrite && this.#responses <= immediateMax;
  }
}
