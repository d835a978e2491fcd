/**
 * The clock of a machine that jumps under one node with its own stores. There is no other clock to
 * compare with, so waits end early by as much as it is set ahead, and a future vote causes no wait.
 * Still guaranteed: nothing is refused, lost or counted twice, a month's votes are reset once.
 */
import * as assert from 'uvu/assert';
import { type Answer, createClient } from '../../../bench/shared/http-client.ts';
import { type Directory, openAtRest, tokenOf } from '../../support/directory.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';
import { pluck } from '../../support/pluck.ts';
import type { ShiftedClock, ShiftedClocks } from '../../support/shifted-clock.ts';
import { until } from '../../support/until.ts';
import { readAtRest } from '../harness/at-rest.ts';
import type { RunPlan } from '../harness/embedded-run.ts';
import type { Figures } from '../harness/figures.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

interface World {
  readonly node: StartedNode;
  readonly client: ReturnType<typeof createClient>;
  readonly clock: ShiftedClock;
  readonly directory: Directory;
  acked: number;
}

/** An hour and two days, each way; then two months ahead and back again. */
export const runEmbeddedClock = async (clocks: ShiftedClocks, plan: RunPlan): Promise<Figures> => {
  const startedMs = performance.now();
  const clock = clocks.create();
  const node = await startNode({ dataDir: plan.dataDir, settings: clock.environment });
  const client = createClient(4);
  const world: World = { node, client, clock, directory: plan.directory, acked: 0 };
  try {
    await jumps(world);
    await monthsAhead(world);
    const { code } = await node.stop();
    assert.is(code, 0, node.output());
    const { differences } = await readAtRest(plan.dataDir, plan.directory.targets);
    // A reset is one row that makes all those before it void.
    assert.equal(
      differences.filter((line) => !/ rows in SQL$/.test(line)),
      [],
    );
    await oneReset(plan.dataDir);
    const seconds = (performance.now() - startedMs) / 1_000;
    return { acked: world.acked, lost: 0, doubled: 0, unknown: 0, rounds: 5, seconds };
  } finally {
    await node.kill();
    client.close();
  }
};

const jumps = async (world: World): Promise<void> => {
  const { clock } = world;
  const [first, ahead, back] = world.directory.users as [string, string, string];
  assert.is((await vote(world, first)).status, 204);
  clock.shift(hourMs);
  await counts(world);
  waits(await vote(world, first), 11);
  assert.is((await vote(world, ahead)).status, 204);
  clock.shift(0);
  await counts(world);
  waits(await vote(world, first), 12);
  assert.is((await vote(world, ahead)).status, 204, 'a future vote causes no wait');
  waits(await vote(world, ahead), 12);
  clock.shift(-2 * dayMs);
  await counts(world);
  assert.is((await vote(world, back)).status, 204);
  clock.shift(2 * dayMs);
  await counts(world);
  assert.is((await vote(world, back)).status, 204);
  clock.shift(0);
  await counts(world);
};

/** Stats, a page and a click, whatever the clock says: every token still works. */
const counts = async (world: World): Promise<void> => {
  const { client, node, directory } = world;
  for (const bot of directory.bots.slice(1, 4)) {
    const headers = { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' };
    const body = `{"servers":${++world.acked}}`;
    const answer = await client.ask(`${node.url}/bots/stats`, { method: 'POST', headers, body });
    assert.is(answer.status, 200, answer.text);
    const page = await client.ask(`${node.url}/bots/${bot}?target=page`);
    assert.match(page.text, new RegExp(`"servers":${world.acked},`));
  }
};

const vote = async (world: World, user: string): Promise<Answer> => {
  const { client, node, directory } = world;
  const answer = await client.ask(`${node.url}/users/${user}/bots/${directory.bots[0]}/votes?upvote=true`, {
    method: 'PUT',
    headers: { 'User-Auth': tokenOf('user', user) },
  });
  if (answer.status === 204) world.acked += 1;
  return answer;
};

/** Refused for at most that long; the weekend's window is a shorter one. */
const waits = ({ status, text, headers }: Answer, hoursMax: number): void => {
  assert.is(status, 429, text);
  assert.ok(Number(headers['retry-after']) <= hoursMax * 3_600, `${headers['retry-after']} s`);
};

/** The month ends once, also for a clock that comes back: the job looks every minute. */
const monthsAhead = async (world: World): Promise<void> => {
  const { clock, client, node, directory } = world;
  clock.shift(62 * dayMs);
  await until(
    'the votes of the months before are void',
    async () => {
      const { text } = await client.ask(`${node.url}/bots/${directory.bots[0]}`);
      assert.is((JSON.parse(text) as { votes: number }).votes, 0, text.slice(0, 1_000));
      return true;
    },
    150_000,
  );
  clock.shift(0);
  await counts(world);
};

const oneReset = async (dataDir: string): Promise<void> => {
  const { sql, close } = await openAtRest(dataDir);
  try {
    const rows = await sql<{ count: number }[]>`
      select count(*)::int as count from vote_resets where reason = 'monthly_reset'`;
    assert.is(rows[0]?.count, 1);
    const votes = await sql<{ void: boolean; count: number }[]>`
      select void, count(*)::int as count from vote_rows group by void`;
    assert.equal(pluck(votes, 'void'), [true]);
  } finally {
    await close();
  }
};
