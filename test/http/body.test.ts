/**
 * What of a body's text is refused before any schema sees it.
 *
 * Pure functions by table and by property.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DomainError } from '../../engine/errors.ts';
import { bodyDepthMax, parseBody } from '../../http/body.ts';

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

test('what is no JSON is told where it fails', () => {
  assert.throws(() => parseBody('{"servers":12'), /is not JSON: .*position 13/);
  assert.throws(() => parseBody('servers=12'), /is not JSON: .*"servers=12"/);
});

test('32 levels are read', () => {
  assert.not.throws(() => parseBody(nested(bodyDepthMax)));
});

test('of duplicate keys the last counts', () => {
  assert.equal(parseBody('{"a":1,"a":2}'), { a: 2 });
});

test('a __proto__ member is dropped at any level, and reaches no prototype', () => {
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

test('any JSON value of modest depth comes through unchanged', () => {
  const wellFormed = (text: string): boolean => !text.includes('\\u0000') && !/\\ud[89a-f]/i.test(text);
  fc.assert(
    fc.property(fc.json({ maxDepth: 8 }).filter(wellFormed), (text) => {
      if (text.includes('__proto__')) return;
      assert.equal(JSON.stringify(parseBody(text)), JSON.stringify(JSON.parse(text)));
    }),
  );
});

test.run();
