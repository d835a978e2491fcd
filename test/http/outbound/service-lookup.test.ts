/**
 * Which failures are the service's own, and which are our own load. The queries are answered by hand, and the
 * clock is moved by hand.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { FetchResult } from '../../../http/outbound/fetch-json.ts';
import { createServiceLookup } from '../../../http/outbound/service-lookup.ts';

const test = suite('service look-up');
const timeLimitMs = 2_000;

const open = () => {
  let nowMs = 0;
  const waiting = new Map<string, (result: FetchResult<string>) => void>();
  const look = createServiceLookup<string>({
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
    query: (key) => new Promise((resolve) => waiting.set(key, resolve)),
    ...{ timeLimitMs, cacheMs: 1_000_000, cacheEntriesMax: 100, inFlightMax: 100 },
  });
  const ask = async (key: string) => {
    const result = await look(key);
    return result.kind === 'failed' && result.isBusy ? 'busy' : result.kind;
  };
  const answer = (key: string, result: FetchResult<string>, afterMs = 0) => {
    nowMs += afterMs;
    waiting.get(key)?.(result);
  };
  return { ask, answer, wasSent: (key: string) => waiting.has(key) };
};
const silent = { kind: 'unreachable', reason: 'no answer' } as const;
const failing = { kind: 'refused', status: 500, answer: null } as const;
const ok = { kind: 'ok', value: 'x' } as const;

for (const [title, result, afterMs, kind] of [
  ['no answer in time', silent, timeLimitMs, 'failed'],
  ['no answer in time, as our event loop stood still', silent, timeLimitMs + 300, 'busy'],
  ['an answer beyond the cap', { kind: 'limited', reason: 'too large' }, 0, 'busy'],
  ['a failure', failing, 0, 'failed'],
] as const) {
  const state = kind === 'busy' ? 'closed' : 'open';
  test(`${title}, three times: ${kind}, and the circuit is ${state}`, async () => {
    const { ask, answer, wasSent } = open();
    for (const key of ['a', 'b', 'c']) {
      const pending = ask(key);
      answer(key, result, afterMs);
      assert.is(await pending, kind);
    }
    const next = ask('d');
    assert.is(wasSent('d'), kind === 'busy');
    answer('d', ok);
    assert.is(await next, kind === 'busy' ? 'found' : 'failed');
  });
}

test('a request that fails by our own load does not end the trial of a service that was away', async () => {
  const { ask, answer, wasSent } = open();
  for (const key of ['a', 'b', 'c']) {
    const pending = ask(key);
    answer(key, failing);
    await pending;
  }
  const trial = ask('trial');
  assert.is(wasSent('trial'), false);
  assert.is(await trial, 'failed');
  answer('', ok, 10_000);
  const limited = ask('limited');
  answer('limited', { kind: 'limited', reason: 'too large' });
  assert.is(await limited, 'busy');
  const next = ask('next');
  answer('next', ok);
  assert.is(await next, 'found');
});

test('no answer is our load only while others get theirs', async () => {
  const { ask, answer } = open();
  const [lost, broken, served] = [ask('lost'), ask('broken'), ask('served')];
  answer('served', ok);
  assert.is(await served, 'found');
  answer('lost', silent);
  answer('broken', failing);
  assert.equal(await Promise.all([lost, broken]), ['busy', 'failed']);
  const later = ask('later');
  answer('later', silent);
  assert.is(await later, 'failed');
});

test.run();
