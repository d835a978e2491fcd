/**
 * Turns: how many run at once, in which order, and what a failure does to those behind it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSemaphore } from '../../../storage/sql/semaphore.ts';

const test = suite('turns');
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('never more at once than allowed, in the order they came, and all of them', async () => {
  const turns = createSemaphore(2);
  const begun: number[] = [];
  let running = 0;
  let most = 0;

  const results = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      turns(async () => {
        begun.push(index);
        running += 1;
        most = Math.max(most, running);
        await tick();
        running -= 1;
        return index;
      }),
    ),
  );

  const all = Array.from({ length: 20 }, (_, index) => index);
  assert.is(most, 2);
  assert.equal(begun, all);
  assert.equal(results, all);
});

test('a failure is told to whoever asked, and the next one has its turn', async () => {
  const turns = createSemaphore(1);
  const failing = turns(async () => {
    await tick();
    throw new Error('no such table');
  });
  const next = turns(async () => 'done');

  const told = await failing.catch((error: Error) => error.message);

  assert.is(told, 'no such table');
  assert.is(await next, 'done');
  assert.is(await turns(async () => 'again'), 'again');
});

test.run();
