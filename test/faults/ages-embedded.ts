/**
 * The folder `hot`, or the folder `sql`, of a data folder is put back as it was earlier while the other went
 * on. Follows the steps and checks the results that docs/operating.md gives the operator. Called by
 * ages-embedded.fault.ts.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { startNode } from '../support/node-process.ts';
import { command, countedSince } from './ages.ts';
import { readAtRest } from './at-rest.ts';
import { nowMs, type Span } from './client-log.ts';
import { demandClean, type Figures } from './figures.ts';
import { judgeClicks, judgeStats, judgeVotes, tally } from './judge.ts';
import { createRun, type Run, type RunPlan, settings, stopWell } from './live.ts';
import { look, startLoad } from './load.ts';
import { asRowsMayKnow, withoutMissingRows } from './missing-rows.ts';
import { until } from './stack.ts';

/** What is put back, and what the operator does before the node is started. */
export type Swap = 'older hot' | 'no hot' | 'older sql' | 'older sql, reflush';

const waitMs = Number(settings.VOTE_WAIT_HOURS) * 3_600_000;
const partsOf: Readonly<Record<Swap, readonly string[]>> = {
  'older hot': ['hot'],
  'no hot': ['hot'],
  'older sql': ['sql', 'sql.state.json'],
  'older sql, reflush': ['sql', 'sql.state.json'],
};

/** Lives, is copied, lives on, gets a part of the copy, and lives once more. */
export const runSwap = async (plan: RunPlan, swap: Swap): Promise<Figures> => {
  const startedMs = performance.now();
  const run = createRun(plan);
  const early = `${run.dataDir}-early`;
  try {
    await liveOnce(run);
    cpSync(run.dataDir, early, { recursive: true });
    const fromMs = nowMs();
    await liveOnce(run);
    putBack(run.dataDir, swap === 'no hot' ? null : early, partsOf[swap]);
    const rowless = { fromMs, toMs: nowMs() };
    if (swap === 'older hot') await assertReflushRefused(run);
    if (swap === 'older sql, reflush')
      assert.match(await command({ DATA_DIR: run.dataDir }, ['reflush']), /^All totals/);
    const lastMs = nowMs();
    await liveOnce(run, swap === 'older sql' ? () => countedSince(run, lastMs) : undefined);
    await judge(run, swap, rowless);
    const { lost, fell, doubled, mixed } = run.verdict;
    return {
      ...tally(run.log),
      lost: lost.length + fell.length,
      doubled: doubled.length + mixed.length,
      rounds: 1,
      seconds: (performance.now() - startedMs) / 1_000,
    };
  } catch (error) {
    throw new Error(`${swap}: ${(error as Error).message}`, { cause: error });
  } finally {
    run.client.close();
    for (const folder of [run.dataDir, early]) rmSync(folder, { recursive: true, force: true });
  }
};

/** Until so much is acknowledged. Without `reflush` SQL keeps the old totals of what is not counted again. */
const enough = ({ log }: Run, before: number) => tally(log).acked >= before + 150;

const liveOnce = async (run: Run, isEnough?: () => boolean): Promise<void> => {
  const before = tally(run.log).acked;
  const node = await startNode({ dataDir: run.dataDir, settings });
  try {
    const lookAround = () =>
      Promise.all(run.directory.bots.map((bot) => look({ ...run, url: node.url }, bot)));
    await lookAround();
    const load = startLoad({ ...run, url: node.url });
    await until('enough is counted', async () => isEnough?.() ?? enough(run, before)).finally(load.stop);
    await lookAround();
    await stopWell(run, node);
  } finally {
    await node.kill();
  }
};

const putBack = (dataDir: string, from: string | null, parts: readonly string[]): void => {
  for (const part of parts) {
    rmSync(join(dataDir, part), { recursive: true });
    if (from !== null) cpSync(join(from, part), join(dataDir, part), { recursive: true });
  }
};

const assertReflushRefused = async ({ dataDir }: Run): Promise<void> => {
  const refused = await command({ DATA_DIR: dataDir }, ['reflush']).catch((error: Error) => error);
  assert.match(String(refused), /The hot store is older than SQL in \d+ of its 128 shards/);
};

const forgotten = / unique clicks of \d+$/;

const judge = async (
  { dataDir, directory, log, verdict, wrong }: Run,
  swap: Swap,
  span: Span,
): Promise<void> => {
  const { rows, differences, buried } = await readAtRest(dataDir, directory.targets);
  judgeStats(log, verdict);
  judgeClicks(log, verdict);
  const rowless = partsOf[swap].includes('sql');
  judgeVotes(rowless ? asRowsMayKnow(log, span) : log, { rows, waitMs }, verdict);
  if (!rowless)
    verdict.doubled.splice(0, Infinity, ...verdict.doubled.filter((line) => !forgotten.test(line)));
  const left = rowless ? withoutMissingRows(differences, log, span) : differences;
  const buriedWords = buried === 0 ? [] : [`${buried} rows buried`];
  demandClean(verdict, [...wrong, ...left, ...log.strange, ...buriedWords]);
};
