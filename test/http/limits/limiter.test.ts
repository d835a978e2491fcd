/**
 * The header lines of a limit, and which requests are counted together.
 *
 * Time is passed in, so nothing here waits.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DomainError } from '../../../engine/errors.ts';
import { createLimiter, defaultLimits } from '../../../http/limits/limiter.ts';

const test = suite('limiter');

test('keys are counted separately, and so are limits', () => {
  const limiter = createLimiter(defaultLimits);
  for (let count = 0; count < 5; count++) limiter.take('login', 'a', 1_000);

  assert.throws(() => limiter.take('login', 'a', 1_000), /wait 12 s/);
  assert.match(limiter.take('login', 'b', 1_000), /r=4/);
  assert.match(limiter.take('bot_create', 'a', 1_000), /r=4/);
});

test('a 429 carries every header and a Retry-After', () => {
  const limiter = createLimiter(defaultLimits);
  for (let count = 0; count < 5; count++) limiter.take('login', 'a', 1_000);

  try {
    limiter.take('login', 'a', 1_500);
    assert.unreachable();
  } catch (error) {
    assert.instance(error, DomainError);
    const limited = error as DomainError;
    assert.is(limited.code, 'rate_limited');
    assert.is(limited.retryAfterSeconds, 12);
    assert.is(
      limited.headers,
      '\r\nRateLimit: "login";r=0;t=60\r\nRateLimit-Policy: "login";q=5;w=60\r\nX-RateLimit-Limit: 5' +
        '\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 60',
    );
  }
});

test('a hot reply carries one header until a fifth is left, then all', () => {
  const limiter = createLimiter({ ...defaultLimits, stats: { requests: 10, seconds: 1, burst: 10 } });

  const lines = Array.from({ length: 10 }, () => limiter.take('stats', 's', 5_000));

  assert.is(lines[0], '\r\nRateLimit: "stats";r=9;t=1');
  assert.is(lines.filter((line) => !line.includes('Policy')).length, 7);
  assert.match(lines[7] ?? '', /RateLimit-Policy/);
});

test.run();
