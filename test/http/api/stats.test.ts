/**
 * The integers of a stats post are converted exactly.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DomainError } from '../../../engine/errors.ts';
import { toStatsPost } from '../../../http/api/bots/stats.ts';

const test = suite('stats posts');
/** Drops the fields that are `undefined` because they were not posted. */
const read = (text: string) => JSON.parse(JSON.stringify(toStatsPost(JSON.parse(text), text)));

test('absent fields stay absent, and 0 is a value', () => {
  assert.equal(read('{}'), {});
  assert.equal(read('{"servers":0,"status":"idle"}'), { servers: '0', status: 'idle' });
  assert.equal(read('{"shard_list":[]}'), { shardList: [] });
});

test('every integer up to 18446744073709552000 is kept to the digit', () => {
  const integer = fc.bigInt({ min: 0n, max: 18_446_744_073_709_552_000n });
  fc.assert(
    fc.property(integer, integer, fc.array(integer, { maxLength: 3 }), (servers, users, list) => {
      const post = read(`{"servers":${servers},"users": ${users} ,"shard_list":[${list}],"extra":1.5}`);
      assert.equal(post, { servers: `${servers}`, users: `${users}`, shardList: list.map(String) });
    }),
  );
});

test('an integer that is too large only in its digits is refused by name', () => {
  // Both parse to the double 2^64, which the schema lets pass.
  for (const [text, pointer] of [
    ['{"servers":18446744073709552001}', '/servers'],
    ['{"shard_list":[1,18446744073709552999]}', '/shard_list/1'],
    ['{"servers":184467440737095520010e-1}', '/servers'],
  ] as const) {
    const error = (() => {
      try {
        read(text);
        return null;
      } catch (thrown) {
        return thrown;
      }
    })();
    assert.instance(error, DomainError);
    assert.is((error as DomainError).code, 'validation_failed');
    assert.ok(pointer in (error as DomainError).context);
  }
});

test('the way an integer is written does not change its digits', () => {
  for (const written of ['18446744073709551557.0', '184467440737095515570e-1', '1844674407370955155.7E+1']) {
    assert.equal(read(`{"servers":${written}}`), { servers: '18446744073709551557' });
  }
  assert.equal(read('{"shard_list":[9.007199254740993e15]}'), { shardList: ['9007199254740993'] });
});

test('a zero is 0 with any exponent, and takes no time', () => {
  for (const written of ['0e999999999', '0.0E-999999999', '-0.0e-3', '-0e999999999']) {
    const post = read(`{"servers":${written},"users":18446744073709551557}`);
    assert.equal(post, { servers: '0', users: '18446744073709551557' }, written);
  }
});

test('a fraction that parsing loses is refused by name', () => {
  assert.throws(
    () => read('{"servers":9007199254740993.5}'),
    (error: unknown) =>
      error instanceof DomainError && error.context['/servers'] === 'must be a whole number',
  );
  assert.equal(read('{"servers":9007199254740993,"extra":9007199254740993.5}').servers, '9007199254740993');
});

test('of duplicate keys the last counts, also beyond 2^53', () => {
  assert.equal(read('{"servers":5,"servers":18446744073709551557}'), { servers: '18446744073709551557' });
});

test.run();
