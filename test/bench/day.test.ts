/**
 * The figures of `bench -- day`: growth of memory, the 99th percentile of a part of the day, jobs.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { computeGrowths, computeP99, readJobs } from '../../bench/day/figures.ts';
import { firstTenth, lastTenth, moments, paceAt, steadyFrom } from '../../bench/day/timeline.ts';

const test = suite('day');

test('growth is the rise from each day to the next, at the same hours', () => {
  const day = (number: number, bytes: number) =>
    Array.from({ length: 99 }, (_, index) => ({
      at: number + 0.6 + index / 1_000,
      // Within a day it rises by a tenth, which is no growth.
      bytes: bytes + index,
      fileBytes: number * 10,
    }));
  const samples = [...day(0, 951), ...day(1, 1_051), ...day(2, 1_051)];

  assert.equal(computeGrowths(samples), [0.1, 0]);
  assert.equal(
    computeGrowths(samples, ({ bytes, fileBytes }) => bytes - fileBytes),
    [0.09, -10 / 1_100],
  );
  const [first, ...others] = samples;
  const peak = { at: first?.at ?? 0, bytes: 5_000, fileBytes: 0 };
  assert.ok(Math.abs((computeGrowths([peak, ...others])[0] ?? 0) - 0.1) < 0.002, 'one look at a peak');
  assert.equal(computeGrowths(day(0, 1_000)), [], 'one day');
  assert.equal(computeGrowths([]), []);
});

test('the 99th percentile is of what was acknowledged within the time', () => {
  const operations = Array.from({ length: 200 }, (_, index) => ({
    callMs: index,
    returnMs: index + (index % 100 === 99 ? 50 : 1),
    outcome: index === 5 ? 'fail' : 'ok',
  }));

  assert.is(computeP99(operations, { fromMs: 0, toMs: 100 }), 50);
  assert.is(computeP99(operations, { fromMs: 0, toMs: 99 }), 1);
  assert.is(computeP99([], { fromMs: 0, toMs: 99 }), 0);
});

test('a job ran if any node reported a success of it', () => {
  const failures = (job: string): string => `rollcall_job_failures_total{job="${job}"} 0`;
  const success = 'rollcall_job_last_success_timestamp_seconds{job="purge"} 1.5';

  const { declared, succeeded } = readJobs([
    `${failures('purge')}\n${failures('history')}`,
    `# x\n${success}`,
  ]);

  assert.equal([...declared], ['purge', 'history']);
  assert.equal([...succeeded], ['purge']);
});

test('tenths that are compared have the same rate, and nothing happens while memory is judged', () => {
  const rates = [firstTenth.from, firstTenth.to - 0.001, lastTenth.from, 0.999, steadyFrom].map(paceAt);
  assert.is(new Set(rates.map(({ share }) => share)).size, 1);
  for (const at of Object.values(moments)) assert.ok(at < steadyFrom);
});

test('each day has the rates of the first, and before it is morning', () => {
  for (const at of [0.05, 0.3, 0.45, 0.95]) assert.equal(paceAt(2 + at), paceAt(at));
  assert.equal(paceAt(Number.NEGATIVE_INFINITY), paceAt(0));
});

test.run();
