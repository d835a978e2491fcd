/**
 * The job that works on plans of void votes, when one of them fails.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { createVoidPlansJob, type VoidPlansParts } from '../../../ops/jobs/void-plans.ts';

const test = suite('job of void plans');

/** Runs the job once with a plan of five pages, and one whose query fails. */
const runBeside = async (failure: Error): Promise<{ pages: number; tries: number; error: unknown }> => {
  const ran = { pages: 0, tries: 0 };
  const plans = {
    listOpenPlans: async () => [
      { id: 'failing', state: 'planning' },
      ...(ran.pages < 5 ? [{ id: 'large', state: 'voiding' }] : []),
    ],
    fillPlan: async () => {
      ran.tries++;
      throw failure;
    },
    takePage: async () => ({ isMore: ++ran.pages < 5, listing: null }),
  };
  const parts = { catalogue: { operator: { plans } }, clock: { nowMs: () => 0 }, voteWaitMsMax: 0 };
  const { run } = createVoidPlansJob(parts as unknown as VoidPlansParts);
  const error = await run(new AbortController().signal).then(
    () => null,
    (reason: unknown) => reason,
  );
  return { ...ran, error };
};

test('a plan that fails does not keep the others, and is tried once in a run, which tells it', async () => {
  const failure = new Error('out of range');
  assert.equal(await runBeside(failure), { pages: 5, tries: 1, error: failure });
});

test('a busy store is no failure', async () => {
  const busy = new StorageError('plans.fill', { outcome: 'not_applied', reason: 'busy' });
  assert.equal(await runBeside(busy), { pages: 5, tries: 5, error: null });
});

test.run();
