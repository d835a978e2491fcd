/**
 * The bytes of a key in LMDB's tables: those that lmdb's own encoder writes for a text, so folders of either
 * are the same.
 *
 * That encoder puts one byte at a time into buffers of several hidden classes; for V8 each such byte is a
 * call of its runtime. Under votes that was a tenth of the event loop's CPU.
 *
 * Invariant: every key is ASCII without control characters (`keys.ts`). lmdb passes other values only as
 * bounds of ranges: its own first key, as bytes.
 */

/** lmdb compares keys by words of four bytes, so zeros follow each. */
const zeros = '\0\0\0\0';
const { latin1Write, latin1Slice } = Buffer.prototype as unknown as {
  latin1Write(this: Buffer, text: string, position: number): number;
  latin1Slice(this: Buffer, start: number, end: number): string;
};

export const keyEncoder = {
  /** Writes a key at `position` and returns its end. lmdb takes a larger buffer after a `RangeError`. */
  writeKey: (key: string | Uint8Array, target: Buffer, position: number): number => {
    const text = typeof key === 'string' ? key : String.fromCharCode(...key);
    const written = latin1Write.call(target, `${text}${zeros}`, position);
    if (written < text.length + zeros.length) throw new RangeError('The key does not fit in the buffer.');
    return position + text.length;
  },
  readKey: (source: Buffer, start: number, end: number): string => latin1Slice.call(source, start, end),
  /** lmdb then compares by words, which needs the zeros. */
  enableNullTermination: (): void => {},
};
