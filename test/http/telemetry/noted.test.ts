/**
 * Notes about what work met: they come when it fails for long enough, and go with the next success, or when
 * no work meets it any more.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  createCounts,
  createJobMeters,
  createOutboundMeters,
  createWebhookMeters,
} from '../../../http/telemetry/counts.ts';
import { assertNoNote, assertNote } from '../../support/notes.ts';

const test = suite('notes about work');

const open = () => {
  const clock = { nowMs: 0 };
  const counts = createCounts(() => clock.nowMs);
  const meters = createJobMeters(counts, () => {});
  const outbound = createOutboundMeters(counts, () => {});
  const webhooks = createWebhookMeters(counts);
  return {
    clock,
    outbound,
    webhooks,
    meters,
    list: counts.notes.list,
    readAges: () => counts.notes.readAges('job_fails'),
  };
};

test('a job is noted once it has failed for two minutes, and until it succeeds', () => {
  const { clock, meters, list, readAges } = open();
  for (; clock.nowMs < 120_000; clock.nowMs += 15_000) {
    meters.recordFailure('reminders', new Error('permission denied'));
    assertNoNote('job_fails', list());
  }
  meters.recordFailure('reminders', new Error('permission denied'));
  assertNote('job_fails', list());
  assert.equal(
    [list(), readAges()],
    [['job_fails: the job reminders fails: permission denied'], { reminders: 120_000 }],
  );

  meters.recordSuccess('purge', 1);
  assertNote('job_fails', list());
  meters.recordSuccess('reminders', 1);
  assert.equal([list(), readAges()], [[], {}]);
});

test('a job that another node runs now is not noted for longer than its repetition takes', () => {
  const { clock, meters, list, readAges } = open();
  for (; clock.nowMs <= 180_000; clock.nowMs += 60_000) meters.recordFailure('purge', new Error('busy'));
  assertNote('job_fails', list());

  clock.nowMs += 300_000;
  assert.equal([list(), readAges()], [[], {}]);
});

test('a push service that refuses messages is noted until it takes one', () => {
  const { meters, list } = open();
  meters.recordPushAnswer('push.example.org', 'the push service answered 403');
  meters.recordPushAnswer('other.example.org', '');
  assertNote('push_refused', list());
  assert.match(list().join(), /^push_refused: push\.example\.org .*403.*PUSH_CONTACT/);

  meters.recordPushAnswer('push.example.org', '');
  assertNoNote('push_refused', list());
});

test('dead letters are noted with their number until none waits', () => {
  const { meters, list } = open();
  meters.recordDeadLetters(7);
  assertNote('dead_letters', list());
  assert.match(list().join(), /: 7 rows wait .*rollcall ops dead-letters retry/);
  meters.recordDeadLetters(0);
  assertNoNote('dead_letters', list());
});

test('a service is noted after three failures in a row, until a success', () => {
  const { outbound, list } = open();
  for (const outcome of ['failure', 'failure', 'success', 'failure', 'rejected', 'failure'] as const)
    outbound.recordCall('login', outcome, 1);
  assertNoNote('service_fails', list());
  outbound.recordCall('login', 'failure', 1);
  assertNote('service_fails', list());
  assert.match(list().join(), /login provider failed: check LOGIN_CLIENT_ID/);
  outbound.recordCall('login', 'success', 1);
  assertNoNote('service_fails', list());
});

test('secrets that cannot be read are noted while deliveries meet them', () => {
  const { clock, webhooks, list } = open();
  webhooks.recordAttempt('secret_unreadable');
  assertNote('webhook_secrets', list());
  clock.nowMs += 7_200_000;
  webhooks.recordAttempt('');
  assertNoNote('webhook_secrets', list());
});

test('causes of one kind are bounded', () => {
  const { meters, list } = open();
  for (let host = 0; host < 1_000; host++) meters.recordPushAnswer(`${host}.example.org`, 'no');
  assert.is(list().length, 200);
});

test.run();
