/**
 * What is written inside the parser's call: never more between two responses that wait than the library's
 * buffer holds.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PipelineLimit } from '../../../http/server/pipeline-limit.ts';

const test = suite('pipeline limit');
const decide = (sizes: readonly number[]): boolean[] => {
  const limit = new PipelineLimit();
  return sizes.map((bytes) => limit.mayWriteNow(bytes));
};

test('of small responses every 16th waits', () => {
  const decisions = decide(Array.from({ length: 32 }, () => 500));

  assert.equal(
    decisions.flatMap((isNow, index) => (isNow ? [] : [index])),
    [15, 31],
  );
});

test('a response waits when it and those before it exceed the buffer; then the count begins again', () => {
  assert.equal(decide([6_000, 6_000, 6_000, 6_000, 6_000, 6_000]), [true, true, false, true, true, false]);
});

test('a response that fills the buffer by itself waits', () => {
  assert.equal(decide([15_001, 14_000]), [false, true]);
});

test.run();
