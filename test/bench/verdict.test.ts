/**
 * The verdict of `prove` on several addresses: a total may be older at another node, and falls at none.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createProveLog } from '../../bench/prove/prove-log.ts';
import type { Subject } from '../../bench/prove/subject.ts';
import { judgeRun } from '../../bench/prove/verdict.ts';

const test = suite('verdict');

const subject = (isDirect: boolean): Subject => ({
  urls: ['http://a', 'http://b'],
  directory: { bots: [], users: [] },
  bots: 1,
  isDirect,
  clocksMs: 5,
  waitMs: { min: 1_000, max: 1_000 },
  firstId: 1,
  client: { ask: () => Promise.reject(new Error('not used')), close: () => {} },
  listings: [],
  has: new Set(),
  voted: new Set(),
});

/** What readers saw: the address, and its clicks. */
const findFalls = (
  seen: readonly (readonly [place: number, clicks: number])[],
  isDirect: boolean,
): number => {
  const log = createProveLog(1);
  for (const callMs of [1, 2, 3]) {
    const timed = { id: callMs, life: 0, callMs, returnMs: callMs + 1, outcome: 'ok' as const, status: 200 };
    log.clicks.push({ ...timed, op: 'click', bot: 'b', address: 'a' });
  }
  for (const [index, [place, clicks]] of seen.entries()) {
    const callMs = 100 + 10 * index;
    const numbers = { post: 0, clicks, uniqueClicks: 0 };
    log.sights.push({ bot: 'b', life: place, place, callMs, returnMs: callMs + 1, quiet: false, ...numbers });
  }
  const { lies } = judgeRun(log, { subject: subject(isDirect), settled: [], wrong: [] });
  return lies.filter(({ kind, name }) => kind === 'clicks' && name === 'fell').length;
};

test('a node that is older than another one is no liar', () => {
  assert.is(
    findFalls(
      [
        [0, 3],
        [1, 2],
        [0, 3],
        [1, 3],
      ],
      true,
    ),
    0,
  );
});

test('a total that falls at one of several nodes is named', () => {
  assert.is(
    findFalls(
      [
        [0, 3],
        [1, 3],
        [0, 2],
      ],
      true,
    ),
    1,
  );
});

test('behind a balancer another node may have answered', () => {
  assert.is(
    findFalls(
      [
        [0, 3],
        [0, 2],
      ],
      false,
    ),
    0,
  );
});

test.run();
