/**
 * The chain hash of a shard's history: equal histories have equal hashes, different ones do not.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { extendChainHash } from '../../../engine/entity/history.ts';

const test = suite('history');

const markOf = (...batches: readonly (readonly [string, number])[]): number =>
  batches.reduce((mark, [producer, sequence]) => extendChainHash(mark, { producer, sequence }), 0);

test('the same batches in the same order give the same hash', () => {
  assert.is(markOf(['node-a', 1], ['node-b', 1]), markOf(['node-a', 1], ['node-b', 1]));
});

test('another order, producer or number gives another hash', () => {
  const marks = [
    markOf(['node-a', 1], ['node-b', 1]),
    markOf(['node-b', 1], ['node-a', 1]),
    markOf(['node-a', 1], ['node-a', 2]),
    markOf(['node-a', 1], ['node-c', 1]),
    markOf(['node-a', 1], ['node-b', 2]),
    markOf(['node-a', 1], ['node-b~1', 1]),
    markOf(['b', 1], ['a', 1]),
  ];
  assert.is(new Set(marks).size, marks.length);
});

test('every hash is exact in a double, however long the history and large the numbers', () => {
  let mark = 0;
  for (let sequence = 1; sequence < 100_000; sequence += 7) {
    mark = extendChainHash(mark, { producer: '~~~~~', sequence });
    assert.ok(Number.isSafeInteger(mark) && mark >= 0 && mark < 2 ** 40);
  }
});

test.run();
