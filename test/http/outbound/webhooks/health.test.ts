/**
 * What follows from the outcomes of webhook attempts: pauses, health, and when an endpoint is disabled.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type Attempted,
  type AttemptOutcome,
  decideVerdict,
  triesMax,
} from '../../../../http/outbound/webhooks/health.ts';
import type { DueDelivery, LeasedEndpoint } from '../../../../storage/catalogue/webhooks/queue.ts';

const test = suite('webhook health');
const nowMs = Date.UTC(2026, 2, 1);
const minuteMs = 60_000;
const dayMs = 86_400_000;

const endpointWith = (fields: Partial<LeasedEndpoint> = {}): LeasedEndpoint => ({
  id: '',
  incarnation: 1,
  url: '',
  format: 'standard',
  secret: Buffer.alloc(0),
  formerSecret: null,
  formerUntilMs: 0,
  authorization: null,
  revision: 1,
  signal: 0,
  failures: 0,
  failingSinceMs: 0,
  waitUntilMs: 0,
  slowUntilMs: 0,
  ...fields,
});
const attempted = (
  outcome: Partial<AttemptOutcome> | null,
  delivery: Partial<DueDelivery> = {},
): Attempted => ({
  delivery: {
    place: 1,
    kind: 1,
    number: 1,
    subject: null,
    votes: 1,
    tries: 0,
    begun: false,
    replay: false,
    body: null,
    vote: null,
    details: null,
    user: null,
    createdAt: new Date(0),
    ...delivery,
  },
  body: 'body',
  outcome:
    outcome === null
      ? null
      : {
          status: 0,
          error: '',
          detail: '',
          milliseconds: 1,
          response: '',
          retryAfterMs: undefined,
          ...outcome,
        },
});
const failed: Partial<AttemptOutcome> = { status: 500, error: 'status' };
const good: Partial<AttemptOutcome> = { status: 204 };
const judge = (endpoint: Partial<LeasedEndpoint>, attempts: readonly Attempted[]) =>
  decideVerdict(endpointWith(endpoint), attempts, { nowMs, chance: () => 0.5, disableDays: 5 });

test('a delivery is tried by the schedule, with its body, and expires after the last attempt', () => {
  const pausesMs = Array.from({ length: triesMax }, (_, tries) => {
    const [result] = judge({}, [attempted(failed, { tries })]).results;
    return [result?.state, (result?.nextAtMs ?? 0) - nowMs, result?.body];
  });
  assert.equal(pausesMs.slice(0, 3), [
    ['pending', 5_000, 'body'],
    ['pending', 5 * minuteMs, 'body'],
    ['pending', 30 * minuteMs, 'body'],
  ]);
  assert.equal(pausesMs.at(-1), ['expired', dayMs, null]);
});

test('three failures in a row make an endpoint fail; it then waits as a whole, longer each time', () => {
  const once = judge({}, [attempted(failed)]).health;
  assert.equal([once.failures, once.waitUntilMs, once.failingSinceMs], [1, 0, nowMs]);
  const eight = judge(
    {},
    Array.from({ length: 8 }, () => attempted(failed)),
  ).health;
  assert.equal([eight.failures, eight.waitUntilMs], [1, 0], 'a page is one failure');
  const pausesMs = [2, 3, 4, 5].map(
    (failures) => judge({ failures }, [attempted(failed)]).health.waitUntilMs - nowMs,
  );
  assert.equal(pausesMs, [5_000, 5 * minuteMs, 30 * minuteMs, 120 * minuteMs]);
});

test('a success makes it healthy at once, and slow for a minute', () => {
  const { health } = judge({ failures: 7, failingSinceMs: 1, waitUntilMs: 9 }, [attempted(good)]);
  assert.equal(health, { failures: 0, failingSinceMs: 0, waitUntilMs: 0, slowUntilMs: nowMs + minuteMs });
  assert.is(judge({ failures: 2 }, [attempted(failed), attempted(good)]).health.slowUntilMs, 0);
});

test('`Retry-After` is respected up to a day, by the delivery and by the endpoint', () => {
  for (const [requestedMs, waitMs] of [
    [2 * minuteMs, 2 * minuteMs],
    [9 * dayMs, dayMs],
  ] as const) {
    const { results, health } = judge({}, [attempted({ ...failed, retryAfterMs: requestedMs })]);
    assert.equal([results[0]?.nextAtMs, health.waitUntilMs], [nowMs + waitMs, nowMs + waitMs]);
  }
});

test('410 disables; 404 only a channel webhook; a refused address twice; failures after days', () => {
  const reasonOf = (endpoint: Partial<LeasedEndpoint>, outcome: Partial<AttemptOutcome>) =>
    judge(endpoint, [attempted(outcome)]).disabledReason;
  assert.is(reasonOf({}, { status: 410, error: 'status' }), 'gone');
  assert.is(reasonOf({}, { status: 404, error: 'status' }), '');
  assert.is(reasonOf({ format: 'discord' }, { status: 404, error: 'status' }), 'gone');
  assert.is(reasonOf({}, { error: 'address_refused' }), '');
  assert.is(reasonOf({ failures: 1 }, { error: 'address_refused' }), 'address_refused');
  const page = Array.from({ length: 8 }, () => attempted({ error: 'address_refused' }));
  assert.is(judge({}, page).disabledReason, '', 'all requests of a page share one judgement');
  assert.is(reasonOf({ failures: 5, failingSinceMs: nowMs - 5 * dayMs + 1 }, failed), '');
  assert.is(reasonOf({ failures: 5, failingSinceMs: nowMs - 5 * dayMs }, failed), 'failing');
  assert.is(reasonOf({ failures: 1, failingSinceMs: nowMs - 9 * dayMs }, failed), '');
});

test('a replay says nothing about the endpoint, whatever comes of it', () => {
  const before = { failures: 2, failingSinceMs: 7, waitUntilMs: 8, slowUntilMs: 9 };
  for (const outcome of [good, failed, { status: 410, error: 'status' }]) {
    const verdict = judge(before, [attempted(outcome, { replay: true })]);
    assert.equal([verdict.health, verdict.disabledReason], [before, '']);
  }
});

test('a vote that SQL no longer has expires', () => {
  const { results, health } = judge({}, [attempted(null)]);
  assert.equal(
    [results[0]?.state, results[0]?.attempt.error, health.failures],
    ['expired', 'vote_missing', 0],
  );
});

test.run();
