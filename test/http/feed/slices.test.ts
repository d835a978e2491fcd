/**
 * Long work goes on in slices: other events run between them, and slices are shorter while a request waits.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSlices } from '../../../http/feed/slices.ts';

const test = suite('slices of long work');

const stepsOfJob = 100;

/** The steps done when each turn of the event loop ends, until the job is done. */
const countByTurn = async (isBusy: () => boolean, stepMs: number): Promise<readonly number[]> => {
  let nowMs = 0;
  let done = 0;
  const slices = createSlices({ monotonicMs: () => nowMs }, isBusy);
  slices.add(() => {
    done += 1;
    nowMs += stepMs;
    return done < stepsOfJob;
  });
  const counts: number[] = [];
  while (slices.count() > 0) {
    await nextTurn();
    counts.push(done);
  }
  return counts;
};

test('a slice ends after a quarter of a millisecond, and the job goes on until it is done', async () => {
  const counts = await countByTurn(() => false, 0.05);
  assert.equal(counts.at(-1), stepsOfJob);
  const sizes = counts.map((count, turn) => count - (counts[turn - 1] ?? 0));
  assert.ok(Math.max(...sizes) <= 8, `steps by turn: ${sizes}`);
  assert.ok(counts.length > 10);
});

test('work that takes no time is done at once', async () => {
  assert.equal((await countByTurn(() => false, 0)).length, 1);
});

test('while a request waits a slice has two steps', async () => {
  const counts = await countByTurn(() => true, 0);
  assert.equal(counts.length, stepsOfJob / 2);
  assert.equal(counts.at(-1), stepsOfJob);
});

test('jobs run one after the other', async () => {
  const order: string[] = [];
  const slices = createSlices({ monotonicMs: () => 0 }, () => true);
  for (const name of ['first', 'second']) slices.add(() => order.push(name) % 3 !== 0);
  while (slices.count() > 0) await nextTurn();
  assert.equal(order, ['first', 'first', 'first', 'second', 'second', 'second']);
});

test.run();
