/**
 * Wall clocks that jump: that of one of two nodes, that of Redis under them, and that of a node on the
 * embedded stores. Real time passes normally; only the clocks' readings change.
 *
 * Where node and store do not agree, votes are refused and say why; all other counting goes on. So no wait
 * is longer than its window and none ends early, and no job runs before its time. The clocks are those of
 * shifted-clock.ts. Time limit: 1200 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nowMs } from '../../../bench/prove/client-log.ts';
import type { Answer } from '../../../bench/shared/http-client.ts';
import { openShiftedClocks, type ShiftedClock, type ShiftedClocks } from '../../support/shifted-clock.ts';
import { until } from '../../support/until.ts';
import { faultCase, skip } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { onServers } from '../harness/on-servers.ts';
import { useTemplate } from '../harness/plans.ts';
import type { Life, Stack } from '../harness/stack.ts';
import { acknowledged, probe, silenceSeconds, underLoad, voteForOutsider } from '../harness/waits.ts';
import { runEmbeddedClock } from './embedded-clock-jumps.ts';

const test = suite('clocks that jump');
const folders = useTemplate(test);

interface ClockFigures extends Figures {
  readonly silenceSecondsMax: number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** The one that lets Redis forget comes last: see `forgets`. */
const offsets: readonly number[] = [hourMs, -hourMs, -2 * dayMs, 2 * dayMs];

/** Whose clock jumps. */
type Whose = 'node' | 'redis';

interface World {
  readonly stack: Stack;
  readonly clock: ShiftedClock;
  readonly whose: Whose;
  /** Users that the load does not vote with on the outsider's behalf; each votes once. */
  readonly voters: string[];
}

/** One jump after the other, each there and back, under the load of two nodes. */
const runClockJumps = (clocks: ShiftedClocks, whose: Whose, seed: number): Promise<ClockFigures> => {
  const clock = clocks.create();
  const environment = whose === 'redis' ? clock.environment : {};
  return onServers({ seed, nodes: 1, redis: { environment } }, async ({ stack }) => {
    await stack.open({ settings: whose === 'node' ? clock.environment : {} });
    const world = { stack, clock, whose, voters: [...stack.directory.users] };
    const silenceSecondsMax = await underLoad(stack, 12, () => jumpAll(world)).finally(() => clock.shift(0));
    const options = { rounds: offsets.length, forgets: offsets.some((one) => forgets(world, one)) };
    return { ...(await stack.judge(options)), silenceSecondsMax };
  });
};

const jumpAll = async (world: World): Promise<number> => {
  const { stack } = world;
  await acknowledged(stack.log, 200);
  const checksBefore = await uptimeChecks(stack);
  const fromMs = nowMs();
  await noted(world);
  for (const offsetMs of offsets) await jump(world, offsetMs);
  const checks = (await uptimeChecks(stack)) - checksBefore;
  const due = stack.directory.bots.length * (1 + (nowMs() - fromMs) / 300_000);
  assert.ok(checks <= due, `${checks} uptime checks, ${due} at the most`);
  await noJobRanWild(stack);
  return silenceSeconds(stack.log, { fromMs, toMs: nowMs() });
};

/** Redis gives up keys by its own clock, for ever: last votes are kept for a day and a half at the most. */
const forgets = ({ whose }: World, offsetMs: number): boolean => whose === 'redis' && offsetMs > dayMs;

const jump = async (world: World, offsetMs: number): Promise<void> => {
  const { stack, clock, whose, voters } = world;
  const [right, other] = stack.alive() as [Life, Life];
  const [before, during] = [voters.pop() as string, voters.pop() as string];
  await until('a vote is accepted', async () => (await vote(stack, right, before)).status === 204);
  clock.shift(offsetMs);
  await acknowledged(stack.log, 100);
  const wrong = whose === 'redis' ? [right, other] : [other];
  for (const life of wrong) {
    refusedForItsClock(await vote(stack, life, before), offsetMs);
    refusedForItsClock(await vote(stack, life, during), offsetMs);
    assert.is((await probe(stack, life)).status, 200, 'stats are counted whatever the clocks say');
  }
  if (whose === 'node') {
    assert.is((await vote(stack, right, during)).status, 204);
    refusedForItsClock(await vote(stack, other, during), offsetMs);
    await waitsForItsWindow(stack, right, during);
  }
  // Put right only after the load: its users would vote again, for no store knows their votes.
  if (forgets(world, offsetMs)) return;
  clock.shift(0);
  await acknowledged(stack.log, 100);
  await waitsForItsWindow(stack, other, before);
  if (whose === 'node') await waitsForItsWindow(stack, other, during);
  else assert.is((await vote(stack, other, during)).status, 204, 'nothing was counted before');
};

/** The node whose clock is off says so and by how much, and stays ready; so until it is right. */
const noted = async ({ stack, clock }: World): Promise<void> => {
  const [, other] = stack.alive() as [Life, Life];
  const notes = async (): Promise<string> => {
    const { status, text } = await stack.client.ask(`${other.node.adminUrl}/readyz`);
    assert.is(status, 200, text);
    return text;
  };
  clock.shift(-hourMs);
  await until('the note is there', async () => /votes are refused: .* 3[56]\d{5} ms /.test(await notes()));
  clock.shift(0);
  await until('the note is gone', async () => !/votes are refused/.test(await notes()));
};

const vote = (stack: Stack, life: Life, user: string): Promise<Answer> =>
  voteForOutsider(stack, life, { user });

const refusedForItsClock = ({ status, text, headers }: Answer, offsetMs: number): void => {
  assert.is(status, 503, `a vote while clocks are ${offsetMs} ms apart: ${text}`);
  assert.match(text, /clock/);
  assert.match(text, '"outcome":"not_applied"');
  assert.ok(Number(headers['retry-after']) >= 1);
};

/** The load's windows last 36 s: a jump and its checks take a few. */
const windowSeconds = 36;

const waitsForItsWindow = async (stack: Stack, life: Life, user: string): Promise<void> => {
  const { status, text, headers } = await vote(stack, life, user);
  assert.is(status, 429, `the second vote of ${user}: ${text}`);
  assert.ok(Number(headers['retry-after']) <= windowSeconds, `a wait of ${headers['retry-after']} s`);
};

/** `total_uptime` of all bots, as the node with the right clock shows it. */
const uptimeChecks = async ({ client, directory, alive }: Stack): Promise<number> => {
  const [right] = alive() as [Life];
  let checks = 0;
  for (const bot of directory.bots) {
    const { text } = await client.ask(`${right.node.url}/bots/${bot}`);
    checks += Number(/"total_uptime":(\d+)/.exec(text)?.[1]);
  }
  return checks;
};

/** No month ended, whatever a clock said: no reset, and no run of an instant that is still to come. */
const noJobRanWild = async ({ stores }: Stack): Promise<void> => {
  const [resets] = await stores.sql<{ count: number }[]>`select count(*)::int as count from vote_resets`;
  const [early] = await stores.sql<{ count: number }[]>`
    select count(*)::int as count from job_runs where due_at > now()`;
  assert.equal([resets?.count, early?.count], [0, 0]);
};

const clocks = openShiftedClocks();
test.after(() => clocks?.close());
const skipClock = (name: string) => skip(name, 'no compiler (gcc) to build a clock with');

for (const whose of ['node', 'redis'] as const) {
  const name = `clock of ${whose === 'node' ? 'a node' : 'Redis'}`;
  faultCase(test, {
    title: `the ${name} jumps: votes are refused, all else is counted, no wait changes`,
    name,
    run: async ({ seed }) => (clocks === null ? skipClock(name) : runClockJumps(clocks, whose, seed)),
  });
}

faultCase(test, {
  title: 'the clock of a node with its own stores jumps: nothing is refused, lost or counted twice',
  name: 'clock of a machine',
  once: true,
  run: async ({ seed }) =>
    clocks === null ? skipClock('clock of a machine') : runEmbeddedClock(clocks, folders.plan(seed)),
});

test.run();
