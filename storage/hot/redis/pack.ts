/**
 * Writes the subset of MessagePack that is sent to the Redis functions, straight into one buffer.
 *
 * Every stats post passes here, so values are not collected in arrays first. Numbers other than integers
 * below 2^32 are written as doubles, which is what Lua makes of all numbers. An array's length is written
 * when it is known. No I/O.
 */

export type Value = string | number | boolean | Buffer | readonly Value[];

/** Bytes that a value needs at most beside those of its text. */
const headMax = 9;
const uint32Range = 2 ** 32;
/** Up to this many characters of text a loop is faster than a native call. */
const shortTextMax = 48;

export class Packer {
  private bytes = Buffer.allocUnsafeSlow(65_536);
  /** The length of `bytes`, copied here because reading `bytes.length` is slower. */
  private room = 65_536;
  private at = 0;

  /** Returns a copy of what was packed since the last `finish` or `reset`. */
  finish(): Buffer {
    const packed = Buffer.from(this.bytes.subarray(0, this.at));
    this.at = 0;
    return packed;
  }

  /** Discards what was packed since the last `finish`. */
  reset(): void {
    this.at = 0;
  }

  number(value: number): void {
    this.reserve(headMax);
    const { bytes } = this;
    if (!(value >= 0 && value < uint32Range && Number.isInteger(value))) {
      bytes[this.at] = 0xcb;
      this.at = bytes.writeDoubleBE(value, this.at + 1);
    } else if (value < 0x80) {
      bytes[this.at++] = value;
    } else if (value < 0x10000) {
      bytes[this.at] = 0xcd;
      bytes[this.at + 1] = value >>> 8;
      bytes[this.at + 2] = value;
      this.at += 3;
    } else {
      bytes[this.at] = 0xce;
      this.at = bytes.writeUInt32BE(value, this.at + 1);
    }
  }

  flag(value: boolean): void {
    this.reserve(1);
    this.bytes[this.at++] = value ? 0xc3 : 0xc2;
  }

  text(value: string): void {
    // At most three bytes for each character.
    this.reserve(headMax + value.length * 3);
    if (value.length >= shortTextMax || !this.shortText(value)) this.longText(value);
  }

  /** Begins an array of unknown length; returns the offset at which `close` writes the length. */
  open(): number {
    this.reserve(3);
    this.bytes[this.at] = 0xdc;
    this.at += 3;
    return this.at - 2;
  }

  /** Ends an array of `count` values, at most 65,535. */
  close(opened: number, count: number): void {
    this.bytes.writeUInt16BE(count, opened);
  }

  value(value: Value): void {
    if (typeof value === 'number') this.number(value);
    else if (typeof value === 'string') this.text(value);
    else if (typeof value === 'boolean') this.flag(value);
    else if (Buffer.isBuffer(value)) this.longBytes(value);
    else {
      const opened = this.open();
      for (const inner of value) this.value(inner);
      this.close(opened, value.length);
    }
  }

  /** Writes a text of ASCII characters. Returns false, with nothing written, if the text has others. */
  private shortText(value: string): boolean {
    const { bytes } = this;
    const { length } = value;
    const start = length < 32 ? this.at + 1 : this.at + 2;
    for (let index = 0; index < length; index++) {
      const code = value.charCodeAt(index);
      if (code >= 0x80) return false;
      bytes[start + index] = code;
    }
    if (length < 32) bytes[this.at] = 0xa0 | length;
    else {
      bytes[this.at] = 0xd9;
      bytes[this.at + 1] = length;
    }
    this.at = start + length;
    return true;
  }

  private longText(value: string): void {
    this.endLong(this.bytes.write(value, this.at + 5));
  }

  private longBytes(value: Buffer): void {
    this.reserve(headMax + value.length);
    this.endLong(value.copy(this.bytes, this.at + 5));
  }

  /** Writes the head of a text of this many bytes, which are written already. */
  private endLong(length: number): void {
    this.bytes[this.at] = 0xdb;
    this.bytes.writeUInt32BE(length, this.at + 1);
    this.at += 5 + length;
  }

  private reserve(count: number): void {
    if (this.at + count > this.room) this.grow(count);
  }

  private grow(count: number): void {
    this.room = 2 * (this.room + count);
    const larger = Buffer.allocUnsafeSlow(this.room);
    this.bytes.copy(larger, 0, 0, this.at);
    this.bytes = larger;
  }
}

/** Packs one value into a buffer of its own. */
export const packValue = (value: Value): Buffer => {
  single.value(value);
  return single.finish();
};
const single = new Packer();

/** Packs an array, with a head of one byte below 16 values; `text` is a last value of bytes. */
export const packShortArray = (values: readonly Value[], text: Buffer | null = null): Buffer => {
  const count = values.length + (text === null ? 0 : 1);
  const head = count < 16 ? [0x90 + count] : [0xdc, count >> 8, count & 0xff];
  const packed = [Buffer.from(head), ...values.map(packValue)];
  if (text !== null) packed.push(Buffer.of(0xd9, text.length), text);
  return Buffer.concat(packed);
};
