/**
 * Redis hangs (SIGSTOP) or is killed and started again, under a node without traffic: its `/readyz` turns
 * 503 and says what is wrong, and 200 again soon after Redis is back.
 *
 * Times are measured from the signal on. Time limit: 300 s.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RedisServer } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { faultCase } from '../harness/fault-case.ts';
import { round } from '../harness/figures.ts';
import { onServers } from '../harness/on-servers.ts';
import type { Life, Stack } from '../harness/stack.ts';

const test = suite('redis silent');

interface SilenceFigures {
  /** From the fault to the 503. */
  readonly noticedSecondsMax: number;
  /** From the moment Redis answers again to the 200. */
  readonly backSecondsMax: number;
}

interface SilencePlan {
  /** Redis stays away for so long after the 503. */
  readonly awayMs: number;
  /** Three primaries; one is silent. */
  readonly cluster: boolean;
}

interface Fault {
  begin(server: RedisServer): Promise<void> | void;
  end(server: RedisServer): Promise<void> | void;
}

const faults: readonly Fault[] = [
  { begin: (server) => server.signal('SIGSTOP'), end: (server) => server.signal('SIGCONT') },
  { begin: (server) => server.kill(), end: (server) => server.start() },
];

/** Each fault once, on servers of its own. */
const runSilences = (plan: SilencePlan): Promise<SilenceFigures> =>
  onServers(
    { seed: 1, nodes: 1, ...(plan.cluster && { cluster: {} }) },
    async ({ stack, redis, cluster }) => {
      const server = cluster?.servers[1] ?? redis;
      let [noticedSecondsMax, backSecondsMax] = [0, 0];
      try {
        for (const fault of faults) {
          const seconds = await silence(stack, { plan, fault, server });
          noticedSecondsMax = Math.max(noticedSecondsMax, seconds.noticed);
          backSecondsMax = Math.max(backSecondsMax, seconds.back);
        }
        return { noticedSecondsMax, backSecondsMax };
      } finally {
        server.signal('SIGCONT');
      }
    },
  );

interface Health {
  readonly status: number;
  readonly notes: readonly string[];
}

const healthOf = async ({ client, alive }: Stack): Promise<Health> => {
  const [{ node }] = alive() as [Life];
  const { status, text } = await client.ask(`${node.adminUrl}/readyz`);
  return { status, notes: (JSON.parse(text) as { notes: readonly string[] }).notes };
};

const timed = async (what: string, holds: () => Promise<boolean>): Promise<number> => {
  const fromMs = performance.now();
  await until(what, holds);
  return round((performance.now() - fromMs) / 1_000);
};

const silence = async (
  stack: Stack,
  {
    plan,
    fault,
    server,
  }: { readonly plan: SilencePlan; readonly fault: Fault; readonly server: RedisServer },
): Promise<{ noticed: number; back: number }> => {
  const who = plan.cluster ? `Redis at ${server.host}:${server.port}` : 'Redis';
  await until('it is ready', async () => (await healthOf(stack)).status === 200);
  await fault.begin(server);
  const noticed = await timed('it is not ready', async () => (await healthOf(stack)).status === 503);
  const endMs = performance.now() + plan.awayMs;
  while (performance.now() < endMs) {
    const { status, notes } = await healthOf(stack);
    assert.is(status, 503, notes.join('; '));
    assert.ok(
      notes.some((note) => new RegExp(`^hot_store_away: ${who} has not answered for \\d+ s$`).test(note)),
      notes.join('; '),
    );
    for (const note of notes) assert.not.match(note, libraryMessages);
    await sleep(100);
  }
  await fault.end(server);
  const back = await timed('it is ready again', async () => (await healthOf(stack)).status === 200);
  await until('all notes are gone', async () => !/Redis|SQL/.test((await notesOf(stack)).join('; ')));
  return { noticed, back };
};

/** Without the note on the durability of these servers, which is always there. */
const notesOf = async (stack: Stack): Promise<readonly string[]> =>
  (await healthOf(stack)).notes.filter((note) => !note.startsWith('redis_weak: '));

const libraryMessages =
  /ECONN|EPIPE|[Ss]tream|[Cc]onnection|enableOfflineQueue|retries|slots|_applied|unknown|timeout/;

const awayMs = { quick: 4_500, faults: 10_000 };

const assertInTime = (count: number, { noticedSecondsMax, backSecondsMax }: SilenceFigures): void => {
  if (count !== awayMs.faults) return;
  assert.ok(noticedSecondsMax <= 3, `503 after ${noticedSecondsMax} s`);
  assert.ok(backSecondsMax <= 1, `200 after ${backSecondsMax} s`);
};

for (const cluster of [false, true]) {
  const what = cluster ? 'one primary of a Cluster, which is named,' : 'Redis';
  faultCase(test, {
    title: `an idle node is not ready while ${what} hangs or is gone, says so, and is ready after`,
    name: cluster ? 'a primary hung, and killed, no traffic' : 'Redis hung, and killed, no traffic',
    counts: awayMs,
    once: true,
    run: async ({ count }) => {
      const figures = await runSilences({ awayMs: count, cluster });
      assertInTime(count, figures);
      return figures;
    },
  });
}

test.run();
