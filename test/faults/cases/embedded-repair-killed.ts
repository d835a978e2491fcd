/**
 * A damaged SQL folder, and the start that puts its snapshot in place dies before the hot store knows of it,
 * or soon after: the next start still writes all totals, without any load that would cause it. Called by
 * embedded-sql-damaged.test.ts.
 */
import { fileURLToPath } from 'node:url';
import * as assert from 'uvu/assert';
import { type StartedNode, spawnNode } from '../../support/node-process.ts';
import { readAtRest } from '../harness/at-rest.ts';
import { nowMs, type Span } from '../harness/client-log.ts';
import {
  killNode,
  lookAtBots,
  openNode,
  type Run,
  type RunPlan,
  runEmbedded,
  settings,
  stopWell,
  waitMs,
} from '../harness/embedded-run.ts';
import type { Figures } from '../harness/figures.ts';
import { judgeVotes } from '../harness/judge.ts';
import { startLoad } from '../harness/load.ts';
import { asRowsMayKnow, withoutMissingRows } from '../harness/missing-rows.ts';
import { acknowledged } from '../harness/waits.ts';
import { damage } from './embedded-sql-damaged.ts';

const program = fileURLToPath(new URL('../harness/crash-main.ts', import.meta.url));

/** From the first comparison of both stores to the first totals written again. */
export const points = [
  'before-hot.readGenerations',
  'before-ledger.takeGeneration',
  'before-hot.publish',
  'after-hot.publish',
  'before-ledger.flush',
];

/** Lives and stops, lives and is killed, is damaged, dies while it repairs that, and repairs it. */
export const runRepairKilled = (plan: RunPlan, point: string): Promise<Figures> =>
  runEmbedded(plan, async (run) => {
    const first = await liveUntil(run, 150);
    await stopWell(run, first);
    const fromMs = nowMs();
    const second = await liveUntil(run, 150);
    await killNode(run, second);
    damage(run.dataDir);
    await dieRepairing(run, point);
    const third = await openNode(run);
    await lookAtBots(run, third);
    await stopWell(run, third);
    await judge(run, { fromMs, toMs: nowMs() });
  });

/** Starts a node and sends requests until so many more are acknowledged. */
const liveUntil = async (run: Run, more: number): Promise<StartedNode> => {
  const node = await openNode(run);
  const load = startLoad({ ...run, url: node.url });
  await acknowledged(run.log, more).finally(load.stop);
  return node;
};

const dieRepairing = async ({ dataDir }: Run, point: string): Promise<void> => {
  const node = spawnNode({ dataDir, program, settings: { ...settings, CRASH_AT: `${point}:1` } });
  const { signal } = await node.exited;
  assert.is(signal, 'SIGKILL', `${point}: ${node.output()}`);
};

const judge = async ({ dataDir, directory, log, verdict, wrong }: Run, rowless: Span): Promise<void> => {
  const { rows, differences } = await readAtRest(dataDir, directory.targets);
  wrong.push(...withoutMissingRows(differences, log, rowless));
  judgeVotes(asRowsMayKnow(log, rowless), { rows, waitMs }, verdict);
};
