/**
 * A damaged SQL folder once more, and the start that puts its snapshot in place dies before the hot store has
 * heard of that, or soon after: the next start still writes all totals anew, without any load that would do
 * so. Called by unmended.fault.ts.
 */
import { fileURLToPath } from 'node:url';
import * as assert from 'uvu/assert';
import { type StartedNode, spawnNode, startNode } from '../support/node-process.ts';
import { readAtRest } from './at-rest.ts';
import { endLife, nowMs, type Span } from './client-log.ts';
import type { Figures } from './figures.ts';
import { judgeVotes } from './judge.ts';
import { conclude, createRun, type Run, type RunPlan, settings, stopWell } from './live.ts';
import { look, startLoad } from './load.ts';
import { asRowsMayKnow, withoutMissingRows } from './missing-rows.ts';
import { acknowledged } from './stack.ts';
import { damage } from './torn.ts';

const program = fileURLToPath(new URL('./crash-main.ts', import.meta.url));
const waitMs = Number(settings.VOTE_WAIT_HOURS) * 3_600_000;

/** From the first look at both stores to the first totals written anew. */
export const points = [
  'before-hot.readGenerations',
  'before-ledger.takeGeneration',
  'before-hot.publish',
  'after-hot.publish',
  'before-ledger.flush',
];

/** Lives and stops, lives and is killed, is damaged, dies while it mends that, and mends it. */
export const runUnmended = async (plan: RunPlan, point: string): Promise<Figures> => {
  const startedMs = performance.now();
  const run = createRun(plan);
  try {
    const first = await liveUntil(run, 150);
    await stopWell(run, first);
    const fromMs = nowMs();
    const second = await liveUntil(run, 150);
    await second.kill();
    endLife(run.log);
    damage(run.dataDir);
    await dieMending(run, point);
    await mend(run);
    await judge(run, { fromMs, toMs: nowMs() });
    return conclude(run, 1, startedMs);
  } catch (error) {
    throw new Error(`${point}: ${(error as Error).message}`, { cause: error });
  } finally {
    run.client.close();
  }
};

/** Starts a node and asks until so much more is acknowledged. */
const liveUntil = async (run: Run, more: number): Promise<StartedNode> => {
  const node = await startNode({ dataDir: run.dataDir, settings });
  const load = startLoad({ ...run, url: node.url });
  await acknowledged(run.log, more).finally(load.stop);
  return node;
};

const dieMending = async ({ dataDir }: Run, point: string): Promise<void> => {
  const node = spawnNode({ dataDir, program, settings: { ...settings, CRASH_AT: `${point}:1` } });
  const { signal } = await node.exited;
  assert.is(signal, 'SIGKILL', node.output());
};

const mend = async (run: Run): Promise<void> => {
  const node = await startNode({ dataDir: run.dataDir, settings });
  try {
    await Promise.all(run.directory.bots.map((bot) => look({ ...run, url: node.url }, bot)));
    await stopWell(run, node);
  } finally {
    await node.kill();
  }
};

const judge = async ({ dataDir, directory, log, verdict, wrong }: Run, rowless: Span): Promise<void> => {
  const { rows, differences } = await readAtRest(dataDir, directory.targets);
  wrong.push(...withoutMissingRows(differences, log, rowless));
  judgeVotes(asRowsMayKnow(log, rowless), { rows, waitMs }, verdict);
};
