/**
 * The form of values in LMDB: MessagePack behind a mark and a checksum, which is compared at each read.
 *
 * LMDB itself checks nothing: a bit that flips on the disk would become a wrong total, or a vote that never
 * was. Values of formats 1 and 2 have no checksum and are read as they are. Every put encodes a value, so
 * this creates no object for it: values follow each other in one large buffer.
 */
import { Packr, RESERVE_START_SPACE, REUSE_BUFFER_MODE } from 'msgpackr';
import { computeCrc32 } from './crc32.ts';

/** No MessagePack value begins with this byte. */
const checkedMark = 0xc1;
const headBytes = 5;
/** When a buffer is full, the packer takes another; lmdb keeps each until its values are written. */
const bufferBytes = 256 * 1_024;

/** A buffer that contains a value from `start` to `end`: lmdb reads these properties. */
export type EncodedValue = Buffer & { readonly start: number; readonly end: number };

/** What lmdb calls an encoder. `decode` returns `null` for a value that is not what was written. */
export interface CheckedEncoder {
  encode(value: unknown): EncodedValue;
  decode(bytes: Uint8Array): unknown;
}

const packr = new Packr({ useRecords: false });
// Not from Node's pool: lmdb takes the address of the whole buffer.
packr.useBuffer(Buffer.allocUnsafeSlow(bufferBytes));

/** `onDamage` is called at each read of a damaged value. */
export const createCheckedEncoder = (onDamage: () => void): CheckedEncoder => ({
  encode: (value) => {
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
  decode: ({ buffer, byteOffset, length }) => {
    // lmdb passes one large buffer for all reads, and sets only its property `length`.
    const value = readChecked(Buffer.from(buffer, byteOffset, length));
    if (value === null) onDamage();
    return value;
  },
});

const readChecked = (bytes: Buffer): unknown => {
  try {
    if (bytes[0] !== checkedMark) return packr.unpack(bytes);
    const isIntact = bytes.readUInt32LE(1) === computeCrc32(bytes, headBytes, bytes.length);
    return isIntact ? packr.unpack(bytes.subarray(headBytes)) : null;
  } catch {
    // No MessagePack, or too short.
    return null;
  }
};
