/**
 * The CRC-32 of a part of a buffer, the same number that `crc32` of `node:zlib` returns.
 *
 * For values of some hundred bytes: there the native function takes longer to call, and needs a view of its
 * own on the bytes.
 */

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
