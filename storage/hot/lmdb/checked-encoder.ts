/**
 * The form of values in LMDB: MessagePack behind a mark and a checksum, which is compared at each read.
 *
 * LMDB itself checks nothing: a bit that flips on the disk would become a wrong total, or a vote that never
 * was. Values of formats 1 and 2 have no checksum and are read as they are. Used by tables.ts.
 */
import { crc32 } from 'node:zlib';
import { Packr } from 'msgpackr';

/** No MessagePack value begins with this byte. */
const checkedMark = 0xc1;
const headBytes = 5;

/** What lmdb calls an encoder. `decode` returns `null` for a value that is not what was written. */
export interface CheckedEncoder {
  encode(value: unknown): Buffer;
  decode(bytes: Uint8Array): unknown;
}

const packr = new Packr({ useRecords: false });

/** `onDamage` is called at each read of a damaged value. */
export const createCheckedEncoder = (onDamage: () => void): CheckedEncoder => ({
  encode: (value) => {
    const packed = packr.pack(value);
    const bytes = Buffer.allocUnsafe(headBytes + packed.length);
    bytes[0] = checkedMark;
    bytes.writeUInt32LE(crc32(packed), 1);
    bytes.set(packed, headBytes);
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
    const packed = bytes.subarray(headBytes);
    return bytes.readUInt32LE(1) === crc32(packed) ? packr.unpack(packed) : null;
  } catch {
    // No MessagePack, or too short.
    return null;
  }
};
