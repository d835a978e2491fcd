/**
 * The minimum length of every text of every route, public and private, in paths, queries and bodies. What a
 * reader does not see does not count, for the check and for its error message.
 */
import { type TSchema, Type } from 'typebox';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StatsBody } from '../../http/api/bots/schema.ts';
import { routes } from '../../http/api/table.ts';
import { adminOperations } from '../../http/operator/table.ts';
import { compileCheck, withVisibleMinimums } from '../../http/request/check.ts';
import { coerceQuery, explain } from '../../http/request/explain.ts';

const test = suite('minimum lengths');

type StringSchema = TSchema & { readonly minLength: number; readonly maxLength?: number };

/** Finds every string schema with a minimum below `value`, with its path as a name. */
const minimumsIn = (value: unknown, name: string): readonly (readonly [string, StringSchema])[] => {
  if (typeof value !== 'object' || value === null) return [];
  const node = value as Record<string, unknown>;
  if (node.type === 'string')
    return (node.minLength as number) > 0 ? [[name, node as unknown as StringSchema]] : [];
  return Object.entries(node).flatMap(([key, member]) => minimumsIn(member, `${name}/${key}`));
};

const all = [...routes, ...adminOperations.map(({ route }) => route)].flatMap(
  ({ name, params, query, body }) => minimumsIn({ params, query, body }, name),
);

const spaces = [' ', '\u00a0', '\u3000', '\u1680', '\u2028', '\u0085'];
const ignored = ['\u200b', '\u200d', '\u2060', '\ufeff', '\u{E0001}', '\u3164', '\u115f', '\uffa0', '\ufe0f'];
const unseen = [...spaces, ...ignored, '\u2800', '\ufffc', '\u{1d159}', '\u{13441}', '\u0378', '\u{effff}'];

test('no text with a minimum is made of blanks or invisible characters', () => {
  assert.ok(all.length > 100, String(all.length));
  for (const [name, schema] of all) {
    const fits = compileCheck(schema);
    for (const character of unseen) {
      const text = character.repeat(schema.minLength);
      assert.not.ok(fits(text), `${name} takes ${JSON.stringify(character)}`);
      const { context } = explain('body', schema, { value: text, bytes: 0 });
      assert.match(context[''] ?? '', /at least \d+ characters?, not counting blanks/, name);
    }
  }
});

const Prose = Type.String({ minLength: 3, maxLength: 5 });
const family = '\u{1F469}\u200d\u{1F469}';
for (const [text, fits] of [
  ['abc', true],
  ['a b', true],
  ['ab ', false],
  [' ab\n', false],
  ['\u200babc\u200b', true],
  [family, false],
  [`${family}\u200d\u{1F466}`, true],
  [`\u200d${family.slice(0, 2)}\u200d`, false],
  ['\u{1F44D}\u{1F44D}\u{1F44D}', true],
  ['\u{1F44D}\u{1F44D} ', false],
  ['a \u3164\u2800b', true],
  ['a\u3164\u2800b', false],
  ['a   b', true],
  ['a    b', false],
  ['\u0995\u09cd\u200d\u09b7', true],
  ['abcde', true],
  ['abcde ', false],
] as const) {
  test(`${JSON.stringify(text)} ${fits ? 'has' : 'has not'} 3 to 5 characters`, () => {
    assert.is(compileCheck(Prose)(text), fits);
    assert.is(Object.keys(explain('body', Prose, { value: text, bytes: 0 }).context).length, fits ? 0 : 1);
  });
}

test('values of a query need visible characters too', () => {
  const Query = Type.Object({ redirect_uri: Type.Optional(Type.String({ minLength: 1 })) });

  assert.throws(() => coerceQuery(Query, { redirect_uri: ' \u200b' }), /redirect_uri/);
  coerceQuery(Query, { redirect_uri: ' x ' });
});

test('a schema without such a text is compiled unchanged: stats posts cost nothing more', () => {
  assert.is(withVisibleMinimums(StatsBody), StatsBody);
});

test.run();
