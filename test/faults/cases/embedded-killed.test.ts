/**
 * kill -9 of the whole node at random moments, under load and while it starts or drains; after each the log
 * decides over HTTP, and at the end at rest.
 *
 * One data folder lives through all of it. Time limit: 1800 s.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import { type ClientLog, endLife } from '../../../bench/prove/client-log.ts';
import { tally } from '../../../bench/prove/judge.ts';
import { spawnNode } from '../../support/node-process.ts';
import {
  judgeOverHttp,
  lastLook,
  openNode,
  type Run,
  type RunPlan,
  runEmbedded,
  settings,
} from '../harness/embedded-run.ts';
import { faultCase } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { startLoad } from '../harness/load.ts';
import { useTemplate } from '../harness/plans.ts';

const test = suite('kill -9');
const folders = useTemplate(test);

/** Kills so many nodes. Throws when anything is lost, doubled, mixed or taken back. */
const runKills = (plan: RunPlan, kills: number): Promise<Figures> =>
  runEmbedded({ ...plan, rounds: kills }, async (run) => {
    for (let round = 0; round < kills; round++) await killOnce(run, round);
    await lastLook(run);
    run.wrong.push(...findWeakness(run.log));
  });

/** A load that never gets through, or never meets a window, would prove nothing. */
const findWeakness = (log: ClientLog): string[] => {
  const acked = log.votes.filter((op) => op.outcome === 'ok').length;
  const refused = log.votes.filter((op) => op.refused).length;
  const weak = acked < 20 || refused < 5 || log.stats.every((op) => op.outcome !== 'ok');
  return weak ? [`the load is too weak: ${acked} votes accepted, ${refused} refused`] : [];
};

/** Every fifth dies while it starts, every fifth while it drains, the others at work. */
const killOnce = async (run: Run, round: number): Promise<void> => {
  if (round % 5 === 3) {
    await killWhileStarting(run);
    return;
  }
  const node = await openNode(run);
  await judgeOverHttp(run, node);
  const load = startLoad({ ...run, url: node.url });
  await waitForAnswers(run, 50 + run.random.below(600));
  if (round % 5 === 4) {
    node.signal('SIGTERM');
    await sleep(run.random.below(400));
  }
  await node.kill();
  await load.ended;
  endLife(run.log);
};

/** Waits until so many more requests were acknowledged, and a moment longer. */
const waitForAnswers = async ({ log, random }: Run, more: number): Promise<void> => {
  const before = tally(log).acked;
  for (let waited = 0; waited < loadMsMax && tally(log).acked - before < more; waited += 10) await sleep(10);
  await sleep(random.below(30));
};
const loadMsMax = 15_000;

const killWhileStarting = async (run: Run): Promise<void> => {
  const node = spawnNode({ dataDir: run.dataDir, settings });
  await sleep(run.random.below(1_500));
  await node.kill();
};

faultCase(test, {
  title: 'at random moments nothing acknowledged is lost and nothing counts twice',
  name: 'kill -9',
  counts: { quick: 5, faults: 17 },
  run: ({ seed, count }) => runKills(folders.plan(seed), count),
});

test.run();
