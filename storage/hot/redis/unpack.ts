/**
 * Reads the subset of MessagePack that the Redis functions answer with, value by value.
 *
 * A value can be skipped without being decoded: most states of a reply are replaced before any caller reads
 * them. Integers above 2^53 do not occur. Every reader throws at bytes it does not expect. No I/O.
 */

/** A reply and the offset of its next value. */
export interface ByteCursor {
  readonly bytes: Buffer;
  at: number;
}

export const createCursor = (bytes: Buffer): ByteCursor => ({ bytes, at: 0 });

const uint32Range = 2 ** 32;

/**
 * Bytes of a value including its head, by its first byte; 0 where further bytes give the length, and for
 * arrays.
 */
const lengths = Uint8Array.from({ length: 256 }, (_, first) => {
  if (first < 0x80 || first >= 0xe0) return 1;
  if (first >= 0xa0 && first < 0xc0) return 1 + (first & 0x1f);
  if (first === 0xc0 || first === 0xc2 || first === 0xc3) return 1;
  if (first === 0xcc || first === 0xd0) return 2;
  if (first === 0xcd || first === 0xd1) return 3;
  if (first === 0xca || first === 0xce || first === 0xd2) return 5;
  return first === 0xcb || first === 0xcf || first === 0xd3 ? 9 : 0;
});

const createUnreadableError = (cursor: ByteCursor): Error =>
  new Error(`cannot read a reply at byte ${cursor.at} of ${cursor.bytes.length}`);

/** Reads the next value, a number. */
export const takeNumber = (cursor: ByteCursor): number => {
  const { bytes, at } = cursor;
  const first = bytes[at] ?? 0xc1;
  if (first < 0x80) {
    cursor.at = at + 1;
    return first;
  }
  const length = lengths[first] as number;
  if (at + length > bytes.length) throw createUnreadableError(cursor);
  cursor.at = at + length;
  if (first === 0xcb) return bytes.readDoubleBE(at + 1);
  if (first === 0xcf) return bytes.readUInt32BE(at + 1) * uint32Range + bytes.readUInt32BE(at + 5);
  if (first === 0xce) return bytes.readUInt32BE(at + 1);
  if (first === 0xcd) return bytes.readUInt16BE(at + 1);
  if (first === 0xcc) return bytes[at + 1] as number;
  if (first >= 0xe0) return first - 0x100;
  if (first === 0xd0) return bytes.readInt8(at + 1);
  if (first === 0xd1) return bytes.readInt16BE(at + 1);
  if (first === 0xd2) return bytes.readInt32BE(at + 1);
  if (first === 0xd3) return bytes.readInt32BE(at + 1) * uint32Range + bytes.readUInt32BE(at + 5);
  if (first === 0xca) return bytes.readFloatBE(at + 1);
  cursor.at = at;
  throw createUnreadableError(cursor);
};

/** Reads the next value, a text. */
export const takeText = (cursor: ByteCursor): string => {
  const { bytes } = cursor;
  const end = findTextEnd(cursor);
  const text = bytes.toString('utf8', cursor.at, end);
  cursor.at = end;
  return text;
};

/** Reads the next value, a text of any bytes. */
export const takeBytes = (cursor: ByteCursor): Buffer => {
  const end = findTextEnd(cursor);
  const bytes = cursor.bytes.subarray(cursor.at, end);
  cursor.at = end;
  return bytes;
};

/** Moves to the first byte of a text; returns the offset of its end. */
const findTextEnd = (cursor: ByteCursor): number => {
  const { bytes, at } = cursor;
  const first = bytes[at] ?? 0xc1;
  let start = at + 1;
  let length = first & 0x1f;
  if (first === 0xd9) length = bytes[start++] ?? 0;
  else if (first === 0xda) {
    length = bytes.readUInt16BE(start);
    start += 2;
  } else if (first === 0xdb) {
    length = bytes.readUInt32BE(start);
    start += 4;
  } else if (first < 0xa0 || first > 0xbf) throw createUnreadableError(cursor);
  if (start + length > bytes.length) throw createUnreadableError(cursor);
  cursor.at = start;
  return start + length;
};

/** Reads the next value, true or false. */
export const takeFlag = (cursor: ByteCursor): boolean => {
  const first = cursor.bytes[cursor.at];
  if (first !== 0xc2 && first !== 0xc3) throw createUnreadableError(cursor);
  cursor.at += 1;
  return first === 0xc3;
};

/** Reads the head of the next array: its length, or -1 for nil. Its values follow. */
export const takeArray = (cursor: ByteCursor): number => {
  const { bytes, at } = cursor;
  const first = bytes[at] ?? 0xc1;
  cursor.at = at + 1;
  if (first >= 0x90 && first < 0xa0) return first & 0x0f;
  if (first === 0xc0) return -1;
  cursor.at = at + (first === 0xdc ? 3 : 5);
  if (first === 0xdc) return bytes.readUInt16BE(at + 1);
  if (first === 0xdd) return bytes.readUInt32BE(at + 1);
  cursor.at = at;
  throw createUnreadableError(cursor);
};

/** Whether the next value is an array. */
export const isArray = ({ bytes, at }: ByteCursor): boolean => {
  const first = bytes[at] ?? 0xc1;
  return (first >= 0x90 && first < 0xa0) || first === 0xdc || first === 0xdd;
};

/** Whether the next value is a number. */
export const isNumber = ({ bytes, at }: ByteCursor): boolean => {
  const first = bytes[at] ?? 0xc1;
  return first < 0x80 || first >= 0xe0 || (first >= 0xca && first <= 0xd3);
};

/** Skips `count` values; an array among them is a fault. */
export const skip = (cursor: ByteCursor, count: number): void => {
  for (let left = count; left > 0; left--) {
    const length = lengths[cursor.bytes[cursor.at] ?? 0xc1] as number;
    cursor.at = length > 0 ? cursor.at + length : findTextEnd(cursor);
  }
  if (cursor.at > cursor.bytes.length) throw createUnreadableError(cursor);
};
