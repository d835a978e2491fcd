/**
 * Bodies that are rejected before a schema checks them.
 *
 * Pure functions by table and by property.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DomainError } from '../../../engine/errors.ts';
import { bodyDepthMax, parseBody } from '../../../http/request/check.ts';
import type { BodyLimits } from '../../../http/route.ts';

const test = suite('body');

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const refused: readonly [string, string][] = [
  ['nothing', ''],
  ['white space', '  '],
  ['half an object', '{"a":'],
  ['trailing junk', '{} x'],
  ['two texts', '{}{}'],
  ['a comment', '{/* a */}'],
  ['a trailing comma', '[1,]'],
  ['single quotes', "{'a':1}"],
  ['NaN', '{"a":NaN}'],
  ['a byte order mark', '\ufeff{}'],
  ['half a surrogate pair', '{"a":"\\ud800"}'],
  ['half a surrogate pair in a key', '{"\\udc00":1}'],
  ['half a surrogate pair in a list', '{"a":[["\\ud800x"]]}'],
  ['half a surrogate pair alone', '"\\ud800"'],
  ['NUL in a string', '{"a":"\\u0000"}'],
  ['NUL in a key', '{"a\\u0000":1}'],
  ['a raw control character', '{"a":"\u0001"}'],
  ['33 levels of lists', nested(bodyDepthMax + 1)],
  ['33 levels of objects', `${'{"a":'.repeat(bodyDepthMax + 1)}1${'}'.repeat(bodyDepthMax + 1)}`],
  ['half a million levels', nested(500_000)],
];
for (const [name, text] of refused) {
  test(`${name} → malformed_json`, () => {
    assert.throws(
      () => parseBody(text),
      (error: unknown) => error instanceof DomainError && error.code === 'malformed_json',
    );
  });
}

test('the message for invalid JSON names the position', () => {
  assert.throws(() => parseBody('{"servers":12'), /is not JSON: .*position 13/);
  assert.throws(() => parseBody('servers=12'), /is not JSON: .*"servers=12"/);
});

test('32 levels are read', () => {
  assert.not.throws(() => parseBody(nested(bodyDepthMax)));
});

const limits: BodyLimits = { bytesMax: 1_000_000, fieldsMax: 3, valuesMax: 8 };
const counted: readonly [string, boolean][] = [
  ['{"a":1,"b":2,"c":3}', true],
  ['{"a":1,"b":2,"c":3,"d":4}', false],
  ['{"a":1,"a":2,"a":3,"a":4}', false],
  ['{"a":{"b":1,"c":2,"d":3,"e":4}}', true],
  ['{"a":"1,2,3,4,5,6,7,8,9 [[[[ {{{{ ::::","b":"\\\\\\",,,,,,,,,"}', true],
  ['[0,0,0,0,0,0,0,0]', true],
  ['[0,0,0,0,0,0,0,0,0]', false],
  ['[[],[],[],[],[]]', false],
  ['{"a":[1,2,3],"b":{"c":[4,5]}}', true],
];
for (const [text, fits] of counted) {
  test(`at most 3 fields and 8 values: ${text} is ${fits ? 'accepted' : 'rejected'}`, () => {
    if (fits) assert.equal(parseBody(text, limits), JSON.parse(text));
    else assert.throws(() => parseBody(text, limits), /^The body has more than (3 fields|8 values)\.$/);
  });
}

/** Counts members and entries at all levels, and empty lists and objects. */
const valuesOf = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  return Math.max(1, members.length) + members.reduce((sum, member) => sum + valuesOf(member), 0);
};

test('any JSON value is rejected exactly when it has more values or fields than allowed', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 6 }),
      fc.nat({ max: 40 }),
      fc.nat({ max: 10 }),
      (value, most, fields) => {
        const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
        const fits = valuesOf(value) <= most && (!isObject || Object.keys(value).length <= fields);
        const text = JSON.stringify(value, null, most % 2);
        const read = (): unknown =>
          parseBody(text, { bytesMax: 1_000_000, fieldsMax: fields, valuesMax: most });
        if (fits) assert.not.throws(read, /more than/);
        else assert.throws(read, /more than/);
      },
    ),
  );
});

test('of duplicate keys the last counts', () => {
  assert.equal(parseBody('{"a":1,"a":2}'), { a: 2 });
});

test('a __proto__ member is dropped at every level and changes no prototype', () => {
  const value = parseBody('{"__proto__":{"admin":true},"a":{"__proto__":1,"b":2}}') as Record<
    string,
    unknown
  >;

  assert.equal(Object.keys(value), ['a']);
  assert.is(Object.getPrototypeOf(value), Object.prototype);
  assert.equal(JSON.stringify(value), '{"a":{"b":2}}');
});

test('well-formed escapes are read', () => {
  assert.equal(parseBody('{"a":"\\ud83d\\udc4d\\u00e9"}'), { a: '👍é' });
});

test('any JSON value of modest depth is parsed unchanged', () => {
  const wellFormed = (text: string): boolean => !text.includes('\\u0000') && !/\\ud[89a-f]/i.test(text);
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }).filter(wellFormed), (text) => {
      if (text.includes('__proto__')) return;
      assert.equal(JSON.stringify(parseBody(text)), JSON.stringify(JSON.parse(text)));
    }),
  );
});

test.run();
