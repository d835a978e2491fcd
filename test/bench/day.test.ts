/**
 * The figures of `bench -- day`: growth of memory, the 99th percentile of a part of the day, jobs.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { computeDailyGrowth, computeP99, readJobs } from '../../bench/day/figures.ts';
import { firstTenth, lastTenth, moments, paceAt, steadyFrom } from '../../bench/day/timeline.ts';

const test = suite('day');

test('growth is the rise of the line over a whole day, whatever part of it was seen', () => {
  const samples = (rise: number) =>
    Array.from({ length: 100 }, (_, index) => {
      const at = 0.7 + (index * 0.3) / 99;
      return { at, bytes: 1_000 + rise * (at - 0.85) + (index % 2 === 0 ? 3 : -3) };
    });

  assert.ok(Math.abs(computeDailyGrowth(samples(50)) - 0.05) < 0.002);
  assert.ok(Math.abs(computeDailyGrowth(samples(0))) < 0.002);
  const [first, ...others] = samples(50);
  const peak = { at: first?.at ?? 0, bytes: 1_150 };
  assert.ok(Math.abs(computeDailyGrowth([peak, ...others]) - 0.05) < 0.002, 'one look at a peak');
  assert.is(computeDailyGrowth([]), 0);
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
