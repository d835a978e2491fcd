/**
 * Pumps an answer of unbounded length to a client that may be slow: the next piece is asked for only when the
 * socket has room. An error in the middle cuts the connection, so that half an answer is never taken for a
 * whole; a client that leaves ends the iteration. `awaitFirstChunk` is for handlers: what fails before the
 * first piece is still an answer of its own. Called by server.ts and by replies.
 */

/** Where the pieces go. None of these is called after `abort`. */
export interface StreamTarget {
  /** False when the socket's buffer is full. */
  write(piece: string): boolean;
  /** Runs `task` when there is room again. */
  onWritable(task: () => void): void;
  end(): void;
  destroy(): void;
}

export interface StreamSink {
  /** The client left. */
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

/** The same pieces, the first of which is here. Rejects with what it failed with. */
export const awaitFirstChunk = async (pieces: AsyncGenerator<string>): Promise<AsyncGenerator<string>> =>
  continueFrom(await pieces.next(), pieces);

/** Starts pumping. Owns the iteration until its end, its error or `abort`. */
export const pump = (pieces: AsyncIterable<string>, target: StreamTarget): StreamSink => {
  let left = false;
  let wake = (): void => {};
  target.onWritable(() => wake());
  const run = async (): Promise<void> => {
    for await (const piece of pieces) {
      if (left) return; // Leaving the loop calls the iterator's return().
      if (piece === '' || target.write(piece)) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (left) return;
    }
    if (!left) target.end();
  };
  run().catch(() => {
    if (!left) target.destroy();
  });
  return {
    abort: () => {
      left = true;
      wake();
    },
  };
};
