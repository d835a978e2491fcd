/**
 * A text as bytes in which two counters change: each reply writes their digits into the same bytes.
 *
 * So a page view neither joins a text nor converts one to bytes. A reply that is not written at once may show
 * the counters of a later one; bytes of another length are a new buffer, so they never mix. Pure but for
 * that.
 */

/** A counter's digits in the bytes. */
interface Digits {
  at: number;
  length: number;
  value: number;
  /** Integers from `least` to below `limit` have this length. */
  least: number;
  limit: number;
}

const createDigits = (at: number): Digits => ({ at, length: 1, value: 0, least: 0, limit: 10 });

const writeDigits = (bytes: Buffer, { at, length }: Digits, value: number): void => {
  let rest = value;
  for (let index = at + length - 1; index >= at; index--) {
    const digit = rest % 10;
    bytes[index] = 48 + digit;
    rest = (rest - digit) / 10;
  }
};

export class CounterText {
  private bytes: Buffer;
  private readonly first: Digits;
  private readonly second: Digits;

  /** The text around the counters, which are 0 at first. */
  constructor(before: string, between: string, after: string) {
    this.bytes = Buffer.from([before, between, after].join('0'));
    this.first = createDigits(Buffer.byteLength(before));
    this.second = createDigits(this.bytes.length - Buffer.byteLength(after) - 1);
  }

  /** Returns the bytes with these safe integers, valid until the next call. */
  write(first: number, second: number): Buffer {
    if (first !== this.first.value) this.change(this.first, first);
    if (second !== this.second.value) this.change(this.second, second);
    return this.bytes;
  }

  private change(digits: Digits, value: number): void {
    digits.value = value;
    if (value < digits.least || value >= digits.limit) this.resize(digits, String(value).length);
    writeDigits(this.bytes, digits, value);
  }

  private resize(digits: Digits, length: number): void {
    const { bytes, first, second } = this;
    const end = digits.at + digits.length;
    this.bytes = Buffer.concat([bytes.subarray(0, digits.at), Buffer.alloc(length), bytes.subarray(end)]);
    if (digits === first) second.at += length - first.length;
    digits.length = length;
    digits.least = length === 1 ? 0 : 10 ** (length - 1);
    digits.limit = 10 ** length;
  }
}
