/**
 * Receivers of webhooks that are slow, down or hostile, and a node as a process that sends to them: they
 * delay no other receiver, and after an outage every vote arrives.
 *
 * A day of an outage passes by a clock that the test moves. Time limit: 900 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { percentile } from '../../../bench/report/statistics.ts';
import { openShiftedClocks } from '../../support/shifted-clock.ts';
import type { Template } from '../../support/template.ts';
import { until } from '../../support/until.ts';
import {
  type Behaviour,
  type Place,
  startWebhookReceivers,
  type WebhookReceivers,
} from '../../support/webhook-receivers.ts';
import { faultCase, skip } from '../harness/fault-case.ts';
import {
  addWebhook,
  bots,
  makeWebhookTemplate,
  readVotes,
  timeoutSeconds,
  users,
  vote,
  type WebhookRun,
  withNode,
} from './webhooks-receivers.ts';

const test = suite('receivers of webhooks');
let template: Template;

test.before(async () => {
  template = await makeWebhookTemplate();
});
test.after(() => template.remove());

const withReceivers = async <Result>(
  task: (receivers: WebhookReceivers) => Promise<Result>,
): Promise<Result> => {
  const receivers = await startWebhookReceivers();
  return task(receivers).finally(receivers.close);
};

interface Delays {
  readonly deliveries: number;
  readonly p50MsMax: number;
  readonly p99MsMax: number;
}

/**
 * Every 250 ms one user votes for all these bots. Resolves once the votes for the first `good` of them have
 * arrived, each exactly once, with the time from each acknowledgement to its first attempt.
 */
const measureDelays = async (
  run: WebhookRun,
  voters: readonly string[],
  { voted, good }: { readonly voted: readonly string[]; readonly good: number },
): Promise<Delays> => {
  const acknowledged = new Map<string, number>();
  const watched = new Set(voted.slice(0, good));
  const arrived = () =>
    readVotes(run.receivers.received.filter(({ path }) => path.startsWith('/ok'))).filter(
      ({ bot, user }) => watched.has(bot) && voters.includes(user),
    );
  for (const user of voters) {
    const nextMs = performance.now() + 250;
    await Promise.all(
      voted.map(async (bot) => acknowledged.set(`${user} ${bot}`, await vote(run, user, bot))),
    );
    await until('the next turn', () => performance.now() >= nextMs);
  }
  const wanted = voters.length * good;
  await until(`${wanted} deliveries`, () => arrived().length >= wanted, 120_000);
  const received = arrived();
  assert.is(new Set(received.map(({ id }) => id)).size, wanted, 'each vote has one event');
  assert.is(received.length, wanted, 'each event arrives once');
  const delays = received.map(({ atMs, user, bot }) => atMs - (acknowledged.get(`${user} ${bot}`) ?? 0));
  const [p50MsMax = 0, p99MsMax = 0] = [0.5, 0.99].map((share) => percentile(delays, share));
  return { deliveries: wanted, p50MsMax, p99MsMax };
};

const bad: readonly (Behaviour | Place)[] = [
  'silent',
  'slow_headers',
  'half',
  'trickle',
  'huge',
  'reset',
  'broken',
  'moved',
  'gone',
  'throttled',
  'switched',
  'not_http',
  'many_headers',
  'wrong_host',
  'untrusted',
  'plain_http',
  'no_handshake',
  'dead',
];
const good = 4;
/** Served one after the other, these receivers would take many times as long. */
const addedMsMax = 1_000 * timeoutSeconds;

faultCase(test, {
  title: 'receivers that are slow, down or hostile delay no other receiver',
  name: 'webhooks beside bad receivers',
  once: true,
  run: () =>
    withReceivers((receivers) =>
      withNode({ dataDir: template.copy(), receivers }, async (run) => {
        for (const bot of bots.slice(0, good)) await addWebhook(run, bot, receivers.url('ok', bot));
        const alone = await measureDelays(run, users.slice(0, 20), { voted: bots.slice(0, good), good });
        for (const [index, name] of bad.entries()) {
          const bot = bots[good + index] as string;
          await addWebhook(run, bot, receivers.url(name, bot));
        }
        const voted = bots.slice(0, good + bad.length);
        const beside = await measureDelays(run, users.slice(20, 80), { voted, good });

        assert.ok(beside.p99MsMax <= alone.p99MsMax + addedMsMax, JSON.stringify({ alone, beside }));
        return { deliveries: beside.deliveries, aloneP99MsMax: alone.p99MsMax, p99MsMax: beside.p99MsMax };
      }),
    ),
});

/** More than a node serves at a time, so that at first a good receiver waits for its turn. */
const crowd = 90;
/** A new receiver waits once for its turn among the silent ones; half of the places are free of them. */
const crowdedMsMax = 5 * 1_000 * timeoutSeconds;

faultCase(test, {
  title: 'more silent receivers than a node serves at a time delay the others by five time limits at most',
  name: 'webhooks beside a crowd of silent receivers',
  once: true,
  run: () =>
    withReceivers((receivers) =>
      withNode({ dataDir: template.copy(), receivers }, async (run) => {
        for (const [index, bot] of bots.slice(0, good + crowd).entries())
          await addWebhook(run, bot, receivers.url(index < good ? 'ok' : 'silent', bot));
        const delays = await measureDelays(run, users.slice(0, 40), {
          voted: bots.slice(0, good + crowd),
          good,
        });

        assert.ok(delays.p99MsMax <= crowdedMsMax, JSON.stringify(delays));
        return delays;
      }),
    ),
});

const hourMs = 3_600_000;
/** Eight at once until it fails, then one per pause, and a few at the end of a lease. */
const attemptsMax = 40;

faultCase(test, {
  title: 'after a receiver was down for a day, every vote arrives once, within two minutes',
  name: 'webhooks after an outage of 24 h',
  once: true,
  run: async () => {
    const clocks = openShiftedClocks();
    if (clocks === null) return skip('webhooks after an outage', 'no clock library can be built here');
    const clock = clocks.create();
    const { environment } = clock;
    return withReceivers((receivers) =>
      withNode({ dataDir: template.copy(), receivers, environment }, async (run) => {
        const [bot = ''] = bots;
        const url = receivers.url('ok', bot);
        await addWebhook(run, bot, url);
        receivers.change('ok', 'broken');
        for (const user of users) await vote(run, user, bot);
        await until('the receiver was tried', () => receivers.received.length > 0);
        let hours = 0;
        const passHour = async (): Promise<void> => {
          hours += 1;
          clock.shift(hours * hourMs);
          // The node looks for what is due each second.
          await new Promise((resolve) => setTimeout(resolve, 2_000));
        };
        while (hours < 24) await passHour();
        const attempts = receivers.received.length;
        assert.ok(attempts <= attemptsMax, `${attempts} attempts while the receiver was down`);

        receivers.change('ok', 'ok');
        while (receivers.received.length === attempts) await passHour();
        const fromMs = performance.now();
        const arrived = () => readVotes(receivers.received.slice(attempts));
        await until('all votes', () => new Set(arrived().map(({ id }) => id)).size === users.length, 300_000);
        const seconds = (performance.now() - fromMs) / 1_000;
        const voters = arrived().map(({ user }) => user);
        assert.is(voters.length, users.length, 'each event is accepted once');
        assert.is(new Set(voters).size, users.length, 'each vote has one event');
        assert.ok(seconds <= 120, `${seconds} s`);
        return { votes: users.length, attemptsMax: attempts, hoursMax: hours, secondsMax: seconds };
      }),
    ).finally(clocks.close);
  },
});

test.run();
