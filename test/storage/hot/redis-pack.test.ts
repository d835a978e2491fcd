/**
 * The in-place packer and reader speak MessagePack, compatible with another library.
 */
import fc from 'fast-check';
import { Packr } from 'msgpackr';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyFacts, emptyTotals } from '../../../engine/entity/state.ts';
import { toIncarnation } from '../../../engine/ids.ts';
import { Packer, packValue, type Value } from '../../../storage/hot/redis/pack.ts';
import { packState, takeLazyState, takeSlot } from '../../../storage/hot/redis/slots.ts';
import {
  createCursor,
  isArray,
  isNumber,
  skip,
  takeArray,
  takeFlag,
  takeNumber,
  takeText,
} from '../../../storage/hot/redis/unpack.ts';

const test = suite('MessagePack in place');

const judge = new Packr({ useRecords: false, int64AsType: 'number' });

const numbers = fc.oneof(
  fc.nat(70_000),
  fc.integer({ min: -70_000, max: 70_000 }),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true }),
);
const texts = fc.oneof(fc.string({ maxLength: 80 }), fc.string({ unit: 'binary', maxLength: 100 }));
const plain = fc.oneof(numbers, texts, fc.boolean());

const take = (cursor: ReturnType<typeof createCursor>, like: unknown): unknown => {
  if (typeof like === 'number') return takeNumber(cursor);
  return typeof like === 'string' ? takeText(cursor) : takeFlag(cursor);
};

test('packed values are read back unchanged', () => {
  fc.assert(
    fc.property(fc.array(plain, { maxLength: 40 }), (values) => {
      assert.equal(judge.unpack(packValue(values)), values.map(unsigned));
    }),
  );
});

/** Negative zero is packed as zero. */
const unsigned = (value: Value): Value => (value === 0 ? 0 : value);

test('text of any characters and length is packed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.nat(3), (text, times) => {
      const long = text.repeat(10 ** times);
      assert.is(judge.unpack(packValue(long)), Buffer.from(long).toString());
    }),
    { numRuns: 60 },
  );
});

test('a call larger than the buffer is packed completely', () => {
  const packer = new Packer();
  const text = 'x'.repeat(200_000);
  packer.text(text);
  packer.number(7);

  assert.equal(judge.unpackMultiple(packer.finish()), [text, 7]);
  assert.is(packer.finish().length, 0);
});

test('values packed by another library are read or skipped one by one', () => {
  fc.assert(
    fc.property(fc.array(plain, { maxLength: 40 }), fc.nat(39), (values, count) => {
      const bytes = Buffer.from(judge.pack(values));
      const cursor = createCursor(bytes);
      assert.ok(isArray(cursor));
      assert.is(takeArray(cursor), values.length);
      const stepped = Math.min(count, values.length);
      skip(cursor, stepped);
      for (const value of values.slice(stepped)) {
        assert.is(isNumber(cursor), typeof value === 'number');
        assert.equal(take(cursor, value), unsigned(value));
      }
      assert.is(cursor.at, bytes.length);
    }),
  );
});

test('a truncated reply is refused, not read past its end', () => {
  fc.assert(
    fc.property(plain, (value) => {
      const bytes = Buffer.from(judge.pack(value));
      for (let end = 0; end < bytes.length; end++) {
        assert.throws(() => take(createCursor(bytes.subarray(0, end)), value));
        assert.throws(() => skip(createCursor(bytes.subarray(0, end)), 1));
      }
    }),
    { numRuns: 30 },
  );
});

test('a lazily unpacked state equals the original, and is only that of the requested listing', () => {
  const facts = { ...emptyFacts, revision: 3, listed: true, premiumUntilMs: 1_767_700_800_000 };
  const totals = {
    ...emptyTotals,
    upvotes: 300,
    downvotes: 5,
    servers: '18446744073709551557',
    shardList: '1,2',
  };
  const state = { ...totals, facts, flushedVotes: -40, version: 70_000 };
  const [first, rest] = packState(toIncarnation(9), state);
  const bytes = Buffer.concat([packValue(first), packValue([...rest, 1, 2]), packValue(1)]);

  const cursor = createCursor(bytes);
  const lazyState = takeLazyState(cursor, toIncarnation(9));

  assert.equal([lazyState?.version, lazyState?.votes, lazyState?.flushedVotes], [70_000, 295, -40]);
  assert.equal(lazyState?.read(), state);
  assert.is(lazyState?.read(), lazyState?.read());
  assert.is(takeNumber(cursor), 1);
  assert.is(takeLazyState(createCursor(bytes), toIncarnation(8)), null);
  assert.equal(takeSlot(createCursor(bytes)), { incarnation: 9, state });
});

test.run();
