/**
 * Everything that reads text from outside takes time in proportion to its length: each of its readers gets
 * hostile texts, and twice as long ones. time limit: 600 s
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { beginnings, fragments, parsers, platform } from '../../http/hostile/text-readers.ts';

const test = suite('hostile texts for each reader');
const length = 32_768;
/** Less than this is within what a collection or another process takes. */
const msMin = 3;
/** Twice as long for a linear reader, four times for a quadratic one. */
const ratioMax = 3;
const tries = 5;

const measure = (read: (text: string) => unknown, text: string, enoughMs: number): number => {
  let best = Number.POSITIVE_INFINITY;
  for (let index = 0; index < tries && best > enoughMs; index++) {
    const before = process.cpuUsage();
    try {
      read(text);
    } catch (error) {
      // Most of these texts are refused.
      if (error instanceof ReferenceError) throw error;
    }
    const { user, system } = process.cpuUsage(before);
    best = Math.min(best, (user + system) / 1_000);
  }
  return best;
};

/** Says of a text made of this that it takes more than in proportion; `null` if it does not. */
const findSlow = (read: (text: string) => unknown, begin: string, fragment: string): string | null => {
  const make = (characters: number): string => begin + fragment.repeat(characters / fragment.length);
  const long = measure(read, make(length), msMin);
  if (long <= msMin) return null;
  const short = measure(read, make(length / 2), 0);
  if (long <= ratioMax * short) return null;
  return `${JSON.stringify(begin + fragment)}: ${short} ms, twice as long ${long} ms`;
};

test('the test works: it finds a quadratic reader', () => {
  assert.type(
    findSlow((text) => / +$/.exec(`${text}a`), '', ' '),
    'string',
  );
  assert.type(
    findSlow((text) => text.normalize('NFD'), 'a', '\u0334\u0323'),
    'string',
  );
});

const readers = Object.entries({ ...platform, ...parsers });
for (const [name, read] of readers)
  if (typeof read !== 'string')
    test(name, () => {
      for (const fragment of fragments)
        for (const begin of beginnings) assert.is(findSlow(read, begin, fragment), null);
    });

test.run();
