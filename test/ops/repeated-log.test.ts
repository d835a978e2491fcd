/**
 * The log of failures that repeat, as all clients of a store that is away cause them.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRepeatedLog, repeatMs } from '../../ops/log/repeated-log.ts';

const test = suite('log of repeated failures');

test('a failure is written at once, then once a minute with how often it happened since', () => {
  const lines: object[] = [];
  const time = { nowMs: 5_000 };
  const log = createRepeatedLog((details, message) => void lines.push({ message, ...details }), {
    monotonicMs: () => time.nowMs,
  });

  for (let count = 0; count < 300; count++) log('Redis failed', { error: 'refused' });
  log('a job failed', { job: 'purge' });
  log('a job failed', { job: 'history' });
  time.nowMs += repeatMs;
  log('Redis failed', { error: 'closed' });
  log('Redis failed', { error: 'closed' });

  assert.equal(lines, [
    { message: 'Redis failed', error: 'refused' },
    { message: 'a job failed', job: 'purge' },
    { message: 'a job failed', job: 'history' },
    { message: 'Redis failed', error: 'closed', suppressed: 299 },
  ]);
});

test.run();
