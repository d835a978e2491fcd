/**
 * kill -9 of nodes while they void and restore the votes of a plan: each page is done once, and the totals
 * equal the rows, on embedded stores and on Redis with Postgres. Time limit: 900 s.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Sql } from '../../../storage/sql/client.ts';
import { openAtRest } from '../../support/directory.ts';
import { until } from '../../support/until.ts';
import { killNode, openNode, runEmbedded } from '../harness/embedded-run.ts';
import { faultCase } from '../harness/fault-case.ts';
import { onServers } from '../harness/on-servers.ts';
import { useTemplate } from '../harness/plans.ts';
import { type Life, operatorToken, outsider, type Stack } from '../harness/stack.ts';
import { acknowledged, underLoad } from '../harness/waits.ts';
import { addPastVotes, createPlans, readVotes, type ShownPlan } from './void-plans.ts';

const test = suite('kill -9 while votes are voided by a plan');
const folders = useTemplate(test);

const countRows = async (sql: Sql): Promise<number> => {
  const [row] = await sql<{ votes: number }[]>`
    select count(*) as votes from vote_rows where target_id = ${outsider} and not void`;
  return row?.votes ?? -1;
};

type Plans = ReturnType<typeof createPlans>;
interface Steps {
  readonly plans: Plans;
  readonly votes: number;
  /** Kills a node and starts another one. */
  readonly kill: () => Promise<void>;
  readonly kills: number;
  readonly pauseMs: () => number;
  readonly untilVotes: (votes: number) => Promise<void>;
}

/** Kills at random moments while the plan is worked on. */
const killDuring = async ({ plans, kill, kills, pauseMs }: Steps, started: Promise<ShownPlan>) => {
  const first = await started;
  for (let round = 0; round < kills; round++) {
    await sleep(pauseMs());
    await kill();
  }
  return plans.finish(first);
};

const voidAndUndo = async (steps: Steps): Promise<void> => {
  const { plans, votes, untilVotes } = steps;
  await untilVotes(votes);
  const plan = await plans.make({ target_type: 'bot', target_id: outsider });
  assert.equal([plan.state, plan.votes], ['planned', votes]);
  const used = await killDuring(steps, plans.start(plan));
  assert.equal([used.state, used.voided, used.left_out], ['voided', votes, {}]);
  await untilVotes(0);
  const undone = await killDuring(steps, plans.undo(plan));
  assert.equal([undone.state, undone.restored, undone.left_out], ['undone', votes, {}]);
  await untilVotes(votes);
};

faultCase(test, {
  title: 'embedded: a plan whose node is killed again and again voids and restores every vote once',
  name: 'kill -9 while a plan voids votes, embedded',
  counts: { quick: 2, faults: 6 },
  run: ({ seed, count }) =>
    runEmbedded({ ...folders.plan(seed), rounds: 2 * count }, async (run) => {
      const votes = 3_000;
      const stores = await openAtRest(run.dataDir);
      await addPastVotes(stores.sql, [outsider], votes);
      await stores.close();
      const settings = { ADMIN_TOKEN: operatorToken, FLUSH_INTERVAL_MS: '200' };
      let node = await openNode(run, { settings });
      const { client, random } = run;
      await voidAndUndo({
        plans: createPlans({ client, findNode: async () => node }),
        votes,
        kill: async () => {
          await killNode(run, node);
          node = await openNode(run, { settings });
        },
        kills: count,
        pauseMs: () => random.below(400),
        untilVotes: (wanted) =>
          until(`${wanted} votes`, async () => (await readVotes(client, node, outsider)) === wanted),
      });
      assert.is((await node.stop()).code, 0);
      const after = await openAtRest(run.dataDir);
      const rows = await countRows(after.sql);
      await after.close();
      assert.is(rows, votes);
      return {};
    }),
});

const killOne = async (stack: Stack): Promise<void> => {
  await stack.kill(stack.random.pick(stack.alive()) as Life);
  await stack.open();
};

const untilAllShow = (stack: Stack, votes: number): Promise<void> =>
  until(`every node shows ${votes} votes`, async () => {
    const shown = await Promise.all(stack.alive().map(({ node }) => readVotes(stack.client, node, outsider)));
    return shown.every((one) => one === votes);
  });

faultCase(test, {
  title: 'Redis and Postgres: of two nodes one is killed again and again, under posts and votes',
  name: 'kill -9 of one of two nodes while a plan voids votes',
  counts: { quick: 1, faults: 5 },
  run: ({ seed, count }) =>
    onServers({ seed, nodes: 0 }, async ({ stack }) => {
      const votes = 20_000;
      await addPastVotes(stack.stores.sql, [outsider], votes);
      await stack.open();
      await stack.open();
      const { client, random } = stack;
      const findNode = async () => (random.pick(stack.alive()) as Life).node;
      await underLoad(stack, 8, async () => {
        await voidAndUndo({
          plans: createPlans({ client, findNode }),
          votes,
          kill: () => killOne(stack),
          kills: count,
          pauseMs: () => random.below(800),
          untilVotes: (wanted) => untilAllShow(stack, wanted),
        });
        await acknowledged(stack.log, 100);
      });
      assert.is(await countRows(stack.stores.sql), votes);
      return stack.judge({ rounds: 2 * count });
    }),
});

test.run();
