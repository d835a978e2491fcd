/**
 * `Retry-After` as services send it: whole and broken seconds, the dates of RFC 9110, milliseconds beside
 * another header or a body that says seconds, and what is none of these.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseRetryAfterMs } from '../../../http/outbound/retry-after.ts';

const test = suite('retry after');
const date = 'Sun, 06 Nov 1994 08:48:37 GMT';

for (const [value, expected] of [
  ['120', 120_000],
  ['0', 0],
  [' 5 ', 5_000],
  ['1.5', 1_500],
  ['0.25', 250],
  ['43.323', 43_323],
  ['2027.0', 2_027_000],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 60_000],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 60_000],
  ['Sun Nov  6 08:49:37 1994', 60_000],
  ['Sun, 06 Nov 1994 08:47:37 GMT', 0],
  ['', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['1e3', undefined],
  ['2030', 2_030_000],
  ['2030-01-01', undefined],
  ['2030-01-01T00:00:00Z', undefined],
  ['06 Nov 2030', undefined],
  ['1994.5.6 12', undefined],
  ['99999999999', undefined],
] as const)
  test(`"${value}" beside a Date is a wait of ${expected} ms`, () =>
    assert.is(parseRetryAfterMs({ 'retry-after': value, date }), expected));

const judge = (headers: IncomingHttpHeaders, body?: string) => parseRetryAfterMs(headers, body);

test('where the other header or the body says seconds, milliseconds do not count', () => {
  const milliseconds = { 'retry-after': '43323' };
  assert.is(judge({ ...milliseconds, 'x-ratelimit-reset-after': '43.323' }), 43_323);
  assert.is(
    judge({ ...milliseconds, 'x-ratelimit-reset-after': '43.323' }, '{"retry_after": 43323}'),
    43_323,
  );
  assert.is(judge(milliseconds, '{"message":"slow down","retry_after":43.323,"global":false}'), 43_323);
  assert.is(judge(milliseconds, '{"retry_after":44}'), 44_000);
  assert.is(judge({}, '{"retry_after":0.65}'), 650);
});

test('milliseconds of the body do not count where the header says seconds, or nothing does', () => {
  assert.is(judge({ 'retry-after': '44' }, '{"retry_after":43323}'), 44_000);
  assert.is(judge({ 'retry-after': '65' }, '{"retry_after":64.57}'), 64_570);
  assert.is(judge({}, '{"retry_after":43323}'), undefined);
  assert.is(judge({ 'retry-after': '7' }, '{"retry_after":"soon"}'), 7_000);
});

test('a header that came twice counts once', () => {
  const twice = { 'retry-after': ['9', '9'] } as unknown as IncomingHttpHeaders;
  assert.is(judge(twice), 9_000);
});

test.run();
