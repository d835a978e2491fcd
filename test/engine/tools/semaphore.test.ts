/**
 * The semaphore: how many tasks run at once, in which order, and that a failure does not block the next one.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSemaphore } from '../../../engine/tools/semaphore.ts';

const test = suite('turns');
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('all tasks run, in order of arrival, and never more at once than allowed', async () => {
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

test('a failure rejects only its caller, and the next task runs', async () => {
  const turns = createSemaphore(1);
  const failing = turns(async () => {
    await tick();
    throw new Error('no such table');
  });
  const next = turns(async () => 'done');

  const message = await failing.catch((error: Error) => error.message);

  assert.is(message, 'no such table');
  assert.is(await next, 'done');
  assert.is(await turns(async () => 'again'), 'again');
});

test.run();
