/**
 * Streams a response of unbounded length with back-pressure: the next chunk is pulled only when the socket
 * has room. An error in the middle closes the connection, so that a client never takes half a response for a
 * whole one; a client disconnect ends the iteration. Handlers use `awaitFirstChunk`: an error before the
 * first chunk still becomes an ordinary error reply.
 */

/** Where the chunks go. None of these is called after `abort`. */
export interface StreamTarget {
  /** False when the socket's buffer is full. */
  write(chunk: string | Uint8Array): boolean;
  /** Runs `task` when the socket has room again. */
  onWritable(task: () => void): void;
  end(): void;
  destroy(): void;
}

export interface StreamSink {
  /** The client has disconnected. */
  abort(): void;
}

async function* continueFrom(
  first: IteratorResult<string>,
  rest: AsyncGenerator<string>,
): AsyncGenerator<string> {
  try {
    if (first.done === true) return;
    yield first.value;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

/** Resolves to the same chunks once the first one is there. Rejects when the first one fails. */
export const awaitFirstChunk = async (chunks: AsyncGenerator<string>): Promise<AsyncGenerator<string>> =>
  continueFrom(await chunks.next(), chunks);

/** Starts to stream. Owns the iteration until it ends, fails, or `abort` is called. */
export const pump = (chunks: AsyncIterable<string | Uint8Array>, target: StreamTarget): StreamSink => {
  let aborted = false;
  let wake = (): void => {};
  target.onWritable(() => wake());
  const iterator = chunks[Symbol.asyncIterator]();
  const run = async (): Promise<void> => {
    for await (const chunk of { [Symbol.asyncIterator]: () => iterator }) {
      if (aborted) return; // Leaving the loop calls the iterator's return().
      if (chunk.length === 0 || target.write(chunk)) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (aborted) return;
    }
    if (!aborted) target.end();
  };
  run().catch(() => {
    if (!aborted) target.destroy();
  });
  return {
    abort: () => {
      aborted = true;
      wake();
      // Ends chunks that wait for something to happen. An error of theirs has no reader any more.
      iterator.return?.().catch(() => {});
    },
  };
};
