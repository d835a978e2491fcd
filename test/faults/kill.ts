/**
 * kill -9 of the whole node at random moments, under load and while it starts or drains; after each the log
 * decides over HTTP, and at the end at rest.
 *
 * One data folder lives through all of it. Used with small counts in `npm test` and with the promised ones in
 * `npm run test:faults`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type NodeProcess, spawnNode, startNode } from '../support/node-process.ts';
import { type ClientLog, endLife } from './client-log.ts';
import type { Figures } from './figures.ts';
import { tally } from './judge.ts';
import { conclude, createRun, judgeOverHttp, lastLook, type Run, type RunPlan, settings } from './live.ts';
import { startLoad } from './load.ts';

export interface KillPlan extends RunPlan {
  readonly kills: number;
}

/** Kills so many nodes. Throws when anything is lost, doubled, mixed or taken back. */
export const runKills = async (plan: KillPlan): Promise<Figures> => {
  const startedMs = performance.now();
  const run = createRun(plan);
  try {
    for (let round = 0; round < plan.kills; round++) await killOnce(run, round);
    await lastLook(run);
  } finally {
    run.client.close();
  }
  run.wrong.push(...generatorFaults(run.log));
  return conclude(run, plan.kills, startedMs);
};

/** A load that never gets through, or never meets a window, would prove nothing. */
const generatorFaults = (log: ClientLog): string[] => {
  const acked = log.votes.filter((op) => op.outcome === 'ok').length;
  const refused = log.votes.filter((op) => op.refused).length;
  const weak = acked < 20 || refused < 5 || log.stats.every((op) => op.outcome !== 'ok');
  return weak ? [`the load is too weak: ${acked} votes accepted, ${refused} refused`] : [];
};

const nodeOptions = (run: Run) => ({ dataDir: run.dataDir, settings });

/** Every fifth dies while it starts, every fifth while it drains, the others at work. */
const killOnce = async (run: Run, round: number): Promise<void> => {
  if (round % 5 === 3) {
    await killWhileStarting(run);
    return;
  }
  const node = await startNode(nodeOptions(run));
  try {
    await judgeOverHttp(run, node);
    const load = startLoad({ ...run, url: node.url });
    await answered(run, 50 + run.dice.below(600));
    if (round % 5 === 4) {
      node.signal('SIGTERM');
      await sleep(run.dice.below(400));
    }
    await node.kill();
    await load.ended;
  } finally {
    await node.kill();
  }
  endLife(run.log);
};

/** Waits until so many more requests were acknowledged, and a moment longer. */
const answered = async ({ log, dice: random }: Run, more: number): Promise<void> => {
  const before = tally(log).acked;
  for (let waited = 0; waited < loadMsMax && tally(log).acked - before < more; waited += 10) await sleep(10);
  await sleep(random.below(30));
};
const loadMsMax = 15_000;

const killWhileStarting = async (run: Run): Promise<void> => {
  const node: NodeProcess = spawnNode(nodeOptions(run));
  await sleep(run.dice.below(1_500));
  await node.kill();
};
