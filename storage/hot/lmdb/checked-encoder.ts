/**
 * The form of values in LMDB: MessagePack behind a mark and a checksum, which is compared at each read.
 *
 * LMDB itself checks nothing: a bit that flips on the disk would become a wrong total, or a vote that was
 * never cast. Every put encodes a value, so encoding creates no objects: values follow each other in one
 * large buffer. The checksum is computed in JavaScript. For some hundred bytes that is faster than the native
 * function, whose call costs more and needs a view of the bytes.
 */
import { Packr, RESERVE_START_SPACE, REUSE_BUFFER_MODE } from 'msgpackr';

/** No MessagePack value begins with this byte. */
const checkedMark = 0xc1;
const headBytes = 5;
/** When a buffer is full, the packer takes another; lmdb keeps each until its values are written. */
const bufferBytes = 256 * 1_024;

/** A buffer that contains a value from `start` to `end`: lmdb reads these properties. */
export type EncodedValue = Buffer & { readonly start: number; readonly end: number };

const packr = new Packr({ useRecords: false });
// Not from Node's pool: lmdb takes the address of the whole buffer.
packr.useBuffer(Buffer.allocUnsafeSlow(bufferBytes));

/**
 * Creates what lmdb calls an encoder. `decode` returns `null` for a value that is not what was written;
 * `onDamage` is called at each read of one.
 */
export const createCheckedEncoder = (onDamage: () => void) => ({
  encode: (value: unknown): EncodedValue => {
    const bytes = packr.pack(value, REUSE_BUFFER_MODE | RESERVE_START_SPACE | headBytes) as EncodedValue;
    const { start, end } = bytes;
    const checksum = computeCrc32(bytes, start + headBytes, end);
    bytes[start] = checkedMark;
    bytes[start + 1] = checksum;
    bytes[start + 2] = checksum >>> 8;
    bytes[start + 3] = checksum >>> 16;
    bytes[start + 4] = checksum >>> 24;
    return bytes;
  },
  decode: ({ buffer, byteOffset, length }: Uint8Array): unknown => {
    // lmdb passes one large buffer for all reads, and sets only its property `length`.
    const value = readChecked(Buffer.from(buffer, byteOffset, length));
    if (value === null) onDamage();
    return value;
  },
});

const readChecked = (bytes: Buffer): unknown => {
  try {
    if (bytes[0] !== checkedMark) return null;
    const isIntact = bytes.readUInt32LE(1) === computeCrc32(bytes, headBytes, bytes.length);
    return isIntact ? packr.unpack(bytes.subarray(headBytes)) : null;
  } catch {
    // No MessagePack, or too short.
    return null;
  }
};

/** Four tables: how a byte changes the checksum when no, one, two or three more bytes follow it. */
const tables = new Int32Array(4 * 256);
for (let byte = 0; byte < 256; byte++) {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? 0xed_b8_83_20 ^ (sum >>> 1) : sum >>> 1;
  tables[byte] = sum;
}
for (let index = 256; index < tables.length; index++) {
  const sum = tables[index - 256] as number;
  tables[index] = (tables[sum & 255] as number) ^ (sum >>> 8);
}

/** Computes the checksum of the bytes from `start` to `end`, an unsigned number. */
export const computeCrc32 = (bytes: Uint8Array, start: number, end: number): number => {
  let sum = -1;
  let index = start;
  for (; index + 4 <= end; index += 4) {
    const word =
      (bytes[index] as number) |
      ((bytes[index + 1] as number) << 8) |
      ((bytes[index + 2] as number) << 16) |
      ((bytes[index + 3] as number) << 24);
    sum ^= word;
    sum =
      (tables[768 + (sum & 255)] as number) ^
      (tables[512 + ((sum >>> 8) & 255)] as number) ^
      (tables[256 + ((sum >>> 16) & 255)] as number) ^
      (tables[sum >>> 24] as number);
  }
  for (; index < end; index++) {
    sum = (tables[(sum ^ (bytes[index] as number)) & 255] as number) ^ (sum >>> 8);
  }
  return ~sum >>> 0;
};
