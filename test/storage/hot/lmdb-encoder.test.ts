/**
 * The form of values in LMDB: the checksum is that of zlib, with which any program can check them, and
 * values that follow each other in one buffer do not mix.
 */
import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { pack, unpack } from 'msgpackr';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  computeCrc32,
  createCheckedEncoder,
  type EncodedValue,
} from '../../../storage/hot/lmdb/checked-encoder.ts';

const test = suite('values in LMDB');

const encoder = createCheckedEncoder(() => assert.unreachable('a value is damaged'));
const tolerant = createCheckedEncoder(() => {});

test('the checksum of any part of a buffer is the one of zlib', () => {
  const buffers = fc.uint8Array({ minLength: 0, maxLength: 300 });
  fc.assert(
    fc.property(buffers, fc.nat(300), (bytes, cut) => {
      const start = Math.min(cut, bytes.length);
      assert.is(computeCrc32(bytes, start, bytes.length), crc32(bytes.subarray(start)));
    }),
  );
});

test('zlib confirms what is written, and values stay when others are encoded', () => {
  const long = 'x'.repeat(1_000_000);
  const values = [[1, 'text', true], [], [Date.now(), 2 ** 52, ''], 7, [long], [long, long], ['after']];
  const encoded: EncodedValue[] = [];
  // lmdb reads the two properties at once; the next value may change them.
  const places = Array.from({ length: 5_000 }, (_, index) => {
    const bytes = encoder.encode(values[index % 4]);
    encoded.push(bytes);
    return { start: bytes.start, end: bytes.end };
  });
  for (const value of values) {
    const bytes = encoder.encode(value);
    const stored = Buffer.from(bytes.subarray(bytes.start, bytes.end));
    assert.is(stored[0], 0xc1);
    assert.is(stored.readUInt32LE(1), crc32(stored.subarray(5)));
    assert.equal(unpack(stored.subarray(5)), value);
    assert.equal(encoder.decode(stored), value);
  }
  for (const [index, { start, end }] of places.entries()) {
    const stored = Buffer.from((encoded[index] as Buffer).subarray(start, end));
    assert.equal(encoder.decode(stored), values[index % 4]);
  }
});

test('a value without its mark is damaged, whatever it could be read as', () => {
  assert.is(tolerant.decode(pack([1, 'a count'])), null);
  const bytes = encoder.encode(7);
  const stored = Buffer.from(bytes.subarray(bytes.start, bytes.end));
  for (let bit = 0; bit < 8 * stored.length; bit++) {
    stored[bit >> 3] = (stored[bit >> 3] as number) ^ (1 << (bit & 7));
    assert.is(tolerant.decode(stored), null, `bit ${bit}`);
    stored[bit >> 3] = (stored[bit >> 3] as number) ^ (1 << (bit & 7));
  }
});

test.run();
