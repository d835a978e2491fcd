/**
 * The length of a text: by table, and by property against a slow reference.
 */
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isVisiblyLong, measureVisibleLength } from '../../../engine/rules/text.ts';

const test = suite('rules of text');

const family = '\u{1F469}\u200D\u{1F469}\u200D\u{1F467}';
const lengths: readonly [string, string, number][] = [
  ['nothing', '', 0],
  ['blanks', ' \t\r\n\u00a0\u3000', 0],
  ['invisible characters', '\u200b\u200d\u2060\ufeff\u00ad\u0000\u{E0001}', 0],
  ['line and paragraph separators', '\u2028\u2029', 0],
  ['a private one, and half a pair', '\ue000\u{10ffff}\ud83d', 0],
  ['a word', 'word', 4],
  ['a word in blanks', ' \u200bword\u{E0001}\n', 4],
  ['blanks inside', 'a \u200b b', 3],
  ['blanks of every kind inside, twice', 'a\u3164\u2800 \u00a0\n b \u3000c', 5],
  ['nothing that shows inside', 'a\u3164\u2800\u200bb', 2],
  ['fillers, a braille blank, one unassigned', '\u3164\u115f\u1160\uffa0\u2800\u0378', 0],
  ['an emoji of several', family, 3],
  ['an emoji of several, in joiners', `\u200d${family}\u200d`, 3],
  ['Persian with a non-joiner', '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645', 7],
  ['a lone emoji', '\u{1F44D}', 1],
  ['accents of their own', 'e\u0301', 2],
];
for (const [name, text, length] of lengths) {
  test(`${name}: ${length}`, () => {
    assert.is(measureVisibleLength(text), length);
  });
}

/** The reference: removes what does not show, then joins white space. */
const defined = (text: string): number => {
  const points = [...text].map((point) => (/\s/u.test(point) ? ' ' : point));
  const kept = points.filter((point) => !/[\p{C}\p{DI}\u2800]/u.test(point)).join('');
  return [...kept.trim().replace(/ +/g, ' ')].length;
};

test('any text has the length of the definition, and passes minimums exactly up to it', () => {
  const character = fc.constantFrom(
    'a',
    ' ',
    '\u200b',
    '\u{1F44D}',
    '\u{E0001}',
    '\n',
    '\ud83d',
    '\ude00',
    '\u0301',
    '\u3164',
    '\u2800',
  );
  fc.assert(
    fc.property(fc.array(character, { maxLength: 12 }), (characters) => {
      const text = characters.join('');
      const length = defined(text);
      assert.is(measureVisibleLength(text), length);
      for (let min = 1; min <= 14; min++) assert.is(isVisiblyLong(text, min), min <= length);
    }),
    { numRuns: 2_000 },
  );
});

test.run();
