/**
 * Keys of the embedded hot store, beside those of lmdb's own encoder in the same folder: both have the same
 * bytes, since copies of the store are read with that one.
 */
import { type Database, open } from 'lmdb';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { keyEncoder } from '../../../storage/hot/lmdb/keys.ts';
import { makeFolder } from '../../support/folder.ts';

const test = suite('keys in LMDB');

const longestKey = 1_950;
/** In their order. Those from the third on are longer than what lmdb writes byte by byte. */
const keys = [
  's0 b:1',
  's0!',
  's10 00000000a1z b:%F0%9F%A4%96',
  `s10 b:${'1'.repeat(90)}`,
  `s2 ${'x'.repeat(longestKey - 3)}`,
  's9 019a2b3c-4d5e-7f60-8a9b-0c1d2e3f4a5b',
];

const listKeys = (table: Database<number, string>, options = {}) => Array.from(table.getKeys(options));

test('are those of lmdb itself: each reads what the other wrote, in the same order', async () => {
  const root = open<unknown, string>({ path: makeFolder('rollcall-keys-') });
  const options = { name: 'table', keyEncoder };
  const ours = root.openDB<number, string>(options);
  const plain = root.openDB<number, string>({ name: 'table' });
  for (const [index, key] of keys.entries()) await (index % 2 === 0 ? ours : plain).put(key, index);
  const found = [ours, plain].map((table) => ({
    values: keys.map((key) => table.get(key)),
    all: listKeys(table),
    range: listKeys(table, { start: 's10 ', end: 's10!' }),
  }));
  await plain.remove(keys[0] as string);
  await ours.remove(keys[1] as string);
  const left = listKeys(ours);
  await root.close();

  const all = { values: [0, 1, 2, 3, 4, 5], all: keys, range: keys.slice(2, 4) };
  assert.equal(found, [all, all]);
  assert.equal(left, keys.slice(2));
});

test('follow each other in one transaction, longer together than any buffer of lmdb', async () => {
  const root = open<unknown, string>({ path: makeFolder('rollcall-keys-') });
  const options = { name: 'table', keyEncoder };
  const table = root.openDB<number, string>(options);
  const written = Array.from({ length: 300 }, (_, index) => {
    const head = `s0 ${String(index).padStart(4, '0')} `;
    return head.padEnd(index % 2 === 0 ? longestKey : 40 + index, 'x');
  });
  await table.batch(() => {
    for (const [index, key] of written.entries()) table.put(key, index);
  });
  const [all, values] = [listKeys(table), written.map((key) => table.get(key))];
  await root.close();

  assert.equal(all, written);
  assert.equal(values, Array.from(written.keys()));
});

test('that do not fit in a buffer are a RangeError, after which lmdb takes another', () => {
  const target = Buffer.alloc(16);
  assert.is(keyEncoder.writeKey('s0 b:12', target, 4), 11);
  assert.is(target.toString('latin1'), '\0\0\0\0s0 b:12\0\0\0\0\0');
  assert.throws(
    () => keyEncoder.writeKey('s0 b:123456', target, 4),
    (error: unknown) => error instanceof RangeError,
  );
});

test.run();
