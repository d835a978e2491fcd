/**
 * Webhooks while Postgres is away, stopped or without room, and beside a node whose clock is an hour wrong:
 * each vote still has one delivery per endpoint and arrives at least once, with one id and one body.
 * Time limit: 1200 s.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openShiftedClocks, type ShiftedClocks } from '../../support/shifted-clock.ts';
import { until } from '../../support/until.ts';
import type { WebhookReceivers } from '../../support/webhook-receivers.ts';
import { faultCase, skip } from '../harness/fault-case.ts';
import { addRuns } from '../harness/figures.ts';
import type { ServersWorld } from '../harness/on-servers.ts';
import { onSmallDisk } from '../harness/small-disk.ts';
import type { Life } from '../harness/stack.ts';
import { acknowledged, underLoad, voteForOutsider } from '../harness/waits.ts';
import { awayFor, diskBytes, type Fault, littleLog, stopped, withoutRoomOn } from './postgres-away.ts';
import { countPending, recoveryMsMax, withReceivers } from './webhooks-servers.ts';

const test = suite('webhooks and their stores');

/** One after the other, under load. */
const disturb = (world: ServersWorld, faults: readonly Fault[]): Promise<void> =>
  underLoad(world.stack, 8, async () => {
    await acknowledged(world.stack.log, 100);
    for (const fault of faults) {
      await fault(world);
      await acknowledged(world.stack.log, 60);
    }
  });

faultCase(test, {
  title: 'Postgres stopped as by a crash and away for 20 s: what waited is sent after, each vote with one id',
  name: 'webhooks without Postgres',
  run: async ({ seed }) => {
    const faults = [stopped, awayFor(20_000), stopped];
    const run = withReceivers({ seed, behindProxy: 'postgres' }, (world) => disturb(world, faults));
    return { ...(await run), rounds: faults.length };
  },
});

faultCase(test, {
  title: 'Postgres without room: what was counted is sent once there is some',
  name: 'webhooks and a Postgres without room',
  once: true,
  run: ({ seed }) =>
    onSmallDisk('webhooks and a Postgres without room', diskBytes, (parent) =>
      withReceivers({ seed, postgres: { settings: littleLog, parent }, behindProxy: 'postgres' }, (world) =>
        disturb(world, [withoutRoomOn(parent)]),
      ),
    ),
});

/** From the return of Postgres until all is delivered. */
const recoverySecondsMax = 15;

/** Postgres goes away while a request is at the receiver, so its outcome cannot be recorded. */
const cutBeforeRecord = async (
  { stack, postgres }: ServersWorld,
  { user, awayMs }: { readonly user: string; readonly awayMs: number },
  receivers: WebhookReceivers,
): Promise<number> => {
  let stopping = Promise.resolve();
  receivers.beforeAnswer(async () => {
    receivers.beforeAnswer(() => undefined);
    stopping = postgres.stop('immediate');
    await stopping;
  });
  const answered = receivers.answered();
  const [node] = stack.alive() as [Life];
  assert.is((await voteForOutsider(stack, node, { user })).status, 204);
  await until('the request is answered', () => receivers.answered() > answered, recoveryMsMax);
  await stopping;
  await sleep(awayMs);
  await postgres.start();
  const fromMs = performance.now();
  await until('it is delivered', async () => (await countPending(stack)) === 0, recoveryMsMax);
  return (performance.now() - fromMs) / 1_000;
};

faultCase(test, {
  title: 'Postgres away for 2 to 6 s before an outcome is recorded: the webhook goes on within 15 s',
  name: 'webhooks and a short absence of Postgres',
  once: true,
  run: async ({ seed }) => {
    const awaysMs = [2_000, 4_000, 6_000];
    let secondsMax = 0;
    const figures = await withReceivers({ seed, nodes: 1 }, async (world, receivers) => {
      for (const [index, awayMs] of awaysMs.entries()) {
        const user = world.stack.directory.users[index] as string;
        secondsMax = Math.max(secondsMax, await cutBeforeRecord(world, { user, awayMs }, receivers));
      }
    });
    assert.ok(secondsMax <= recoverySecondsMax, `${secondsMax} s`);
    return { ...figures, secondsMax, rounds: awaysMs.length };
  },
});

const hourMs = 3_600_000;

/** Votes at the node whose clock is right; both may send. */
const sendBeside = (seed: number, clocks: ShiftedClocks, shiftMs: number) =>
  withReceivers({ seed, nodes: 1 }, async ({ stack }, receivers) => {
    const [right] = stack.alive() as [Life];
    const clock = clocks.create();
    await stack.open({ settings: clock.environment });
    clock.shift(shiftMs);
    for (const user of stack.directory.users) {
      assert.is((await voteForOutsider(stack, right, { user })).status, 204);
    }
    const count = stack.directory.users.length;
    const ids = () => new Set(receivers.received.map(({ headers }) => headers['webhook-id']));
    await until(`${count} events`, () => ids().size >= count, recoveryMsMax);
  });

faultCase(test, {
  title: 'a node whose clock is an hour ahead or behind neither keeps a vote back nor sends another one',
  name: 'webhooks beside a clock that is wrong',
  once: true,
  run: async ({ seed }) => {
    const clocks = openShiftedClocks();
    if (clocks === null) return skip('webhooks beside a wrong clock', 'no clock library can be built here');
    const shifts = [hourMs, -hourMs];
    return addRuns(shifts, (shiftMs) => sendBeside(seed, clocks, shiftMs)).finally(clocks.close);
  },
});

test.run();
