/**
 * Redis' append-only file cut at bytes of a commit (every one in the fault lane), and with single bits
 * flipped. Time limit: 900 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { faultCase } from '../harness/fault-case.ts';
import { runFlippedBits, runTruncated } from './redis-file-damaged.ts';

const test = suite('the file of Redis');

faultCase(test, {
  title: 'cut at any byte of the newest commit it brings back all of it or nothing',
  name: 'append-only file cut',
  // Bytes from one cut to the next.
  counts: { quick: 211, faults: 1 },
  once: true,
  run: async ({ count }) => {
    const figures = await runTruncated(count);
    const { offsets, none, whole } = figures;
    const enough = count === 1 ? none > 100 && whole > 0 : offsets >= 3 && none >= 2;
    assert.ok(enough, JSON.stringify(figures));
    return figures;
  },
});

faultCase(test, {
  // What is promised is little: the figure says how little.
  title: 'with one bit flipped it may bring back other data without a message',
  name: 'one bit flipped',
  counts: { faults: 34 },
  run: ({ seed, count }) => runFlippedBits(count, seed),
});

test.run();
