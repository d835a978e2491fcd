/**
 * Page numbers as clients write them.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { computeOffset, parsePageNumber } from '../../../engine/rules/pages.ts';

const test = suite('pages');

test('a page is a whole number from 1, and 1 when absent', () => {
  const cases: [string | undefined, number | null][] = [
    [undefined, 1],
    ['1', 1],
    ['12', 12],
    ['0', null],
    ['00', null],
    ['-1', null],
    ['+1', null],
    ['1.5', null],
    ['1e3', null],
    ['', null],
    [' 1', null],
    ['one', null],
    ['٣', null],
  ];
  for (const [words, page] of cases) assert.is(parsePageNumber(words), page, `page=${words}`);
});

test('a huge page number becomes a safe offset past the end of any list', () => {
  const page = parsePageNumber('9'.repeat(400)) as number;

  assert.ok(Number.isSafeInteger(computeOffset(page, 100)));
  assert.ok(computeOffset(page, 10) > 1_000_000_000);
});

test.run();
