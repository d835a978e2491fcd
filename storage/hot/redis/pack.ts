/**
 * Writing MessagePack: as much of it as crosses to the functions, straight into one buffer.
 *
 * Every stats post passes here, so nothing is gathered in arrays first. Numbers that are no small natural go
 * as doubles, which is what Lua makes of all. A row's length is written when it is known. No I/O.
 */

export type Value = string | number | boolean | readonly Value[];

/** Bytes a value may need beside those of its text. */
const headMax = 9;
const wordMax = 2 ** 32;
/** Characters of text up to which a loop is quicker than a call. */
const shortText = 48;

export class Packer {
  private bytes = Buffer.allocUnsafeSlow(65_536);
  /** The length of `bytes`: asking them is no plain load. */
  private room = 65_536;
  private at = 0;

  /** A copy of what was packed since the last call. */
  finish(): Buffer {
    const packed = Buffer.from(this.bytes.subarray(0, this.at));
    this.at = 0;
    return packed;
  }

  /** Forgets what was packed since `finish`. */
  reset(): void {
    this.at = 0;
  }

  number(value: number): void {
    this.reserve(headMax);
    const { bytes } = this;
    if (!(value >= 0 && value < wordMax && Number.isInteger(value))) {
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
    if (value.length >= shortText || !this.shortText(value)) this.longText(value);
  }

  /** Begins a row whose length is not known yet; returns where `close` writes it. */
  open(): number {
    this.reserve(3);
    this.bytes[this.at] = 0xdc;
    this.at += 3;
    return this.at - 2;
  }

  /** At most 65,535 values. */
  close(opened: number, count: number): void {
    this.bytes.writeUInt16BE(count, opened);
  }

  value(value: Value): void {
    if (typeof value === 'number') this.number(value);
    else if (typeof value === 'string') this.text(value);
    else if (typeof value === 'boolean') this.flag(value);
    else {
      const opened = this.open();
      for (const inner of value) this.value(inner);
      this.close(opened, value.length);
    }
  }

  /** Text of plain characters. False, with nothing written, when it has others. */
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
    const { bytes } = this;
    const length = bytes.write(value, this.at + 5);
    bytes[this.at] = 0xdb;
    bytes.writeUInt32BE(length, this.at + 1);
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

/** One value by itself. */
export const packValue = (value: Value): Buffer => {
  single.value(value);
  return single.finish();
};
const single = new Packer();
