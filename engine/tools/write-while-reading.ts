/**
 * Writes what is read in chunks, in their order: each chunk while the next one is read.
 *
 * When the reading fails, the write under way ends first; if that fails, too, its failure is the one
 * reported.
 */
export const writeWhileReading = async <Chunk>(
  chunks: AsyncIterable<Chunk>,
  /** A write that resolves to false is the last. */
  write: (chunk: Chunk) => Promise<unknown>,
): Promise<void> => {
  let written: Promise<unknown> = Promise.resolve();
  try {
    for await (const chunk of chunks) {
      if ((await written) === false) return;
      written = write(chunk);
      // Its failure ends the loop at the next chunk.
      written.catch(() => {});
    }
  } finally {
    await written;
  }
};
