/**
 * The folder `hot`, or the folder `sql`, of a data folder is put back as it was earlier while the other went
 * on. Follows the steps and checks the results that docs/runbook/restored-backup.md gives the operator.
 * Time limit: 1200 s.
 */

import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nowMs, type Span } from '../../../bench/prove/client-log.ts';
import { judgeVotes, tally } from '../../../bench/prove/judge.ts';
import { until } from '../../support/until.ts';
import { readAtRest } from '../harness/at-rest.ts';
import {
  lookAtBots,
  openNode,
  type Run,
  type RunPlan,
  runEmbedded,
  stopWell,
  waitMs,
} from '../harness/embedded-run.ts';
import { faultCase } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { startLoad } from '../harness/load.ts';
import { asRowsMayKnow, withoutMissingRows } from '../harness/missing-rows.ts';
import { useTemplate } from '../harness/plans.ts';
import { command, countedSince } from './servers-older.ts';

const test = suite('folders of two ages');
const folders = useTemplate(test);

/** What is put back, and what the operator does before the node is started. */
type Swap = 'older hot' | 'no hot' | 'older sql' | 'older sql, reflush';

const partsOf: Readonly<Record<Swap, readonly string[]>> = {
  'older hot': ['hot'],
  'no hot': ['hot'],
  'older sql': ['postgres'],
  'older sql, reflush': ['postgres'],
};

/** Lives, is copied, lives on, gets a part of the copy, and lives once more. */
const runSwap = async (plan: RunPlan, swap: Swap): Promise<Figures> => {
  const early = `${plan.dataDir}-early`;
  try {
    return await runEmbedded({ ...plan, forgets: partsOf[swap].includes('hot') }, async (run) => {
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
    });
  } catch (error) {
    throw new Error(`${swap}: ${(error as Error).message}`, { cause: error });
  } finally {
    for (const folder of [plan.dataDir, early]) rmSync(folder, { recursive: true, force: true });
  }
};

/** Until so much is acknowledged. Without `reflush` SQL keeps the old totals of what is not counted again. */
const enough = ({ log }: Run, before: number) => tally(log).acked >= before + 150;

const liveOnce = async (run: Run, isEnough?: () => boolean): Promise<void> => {
  const before = tally(run.log).acked;
  const node = await openNode(run);
  await lookAtBots(run, node);
  const load = startLoad({ ...run, url: node.url });
  await until('enough is counted', async () => isEnough?.() ?? enough(run, before)).finally(load.stop);
  await lookAtBots(run, node);
  await stopWell(run, node);
};

const putBack = (dataDir: string, from: string | null, parts: readonly string[]): void => {
  for (const part of parts) {
    rmSync(join(dataDir, part), { recursive: true });
    if (from !== null) cpSync(join(from, part), join(dataDir, part), { recursive: true });
  }
};

const assertReflushRefused = async ({ dataDir }: Run): Promise<void> => {
  const refused = await command({ DATA_DIR: dataDir }, ['reflush']).catch((error: Error) => error);
  assert.match(String(refused), /The hot store is older than SQL in \d+ of its 16 shards/);
};

/** Votes and stores at rest; the run itself judges stats and clicks. */
const judge = async (
  { dataDir, directory, log, verdict, wrong }: Run,
  swap: Swap,
  span: Span,
): Promise<void> => {
  const { rows, differences, deadLetters } = await readAtRest(dataDir, directory.targets);
  const rowless = partsOf[swap].includes('postgres');
  judgeVotes(rowless ? asRowsMayKnow(log, span) : log, { rows, waitMs }, verdict);
  wrong.push(...(rowless ? withoutMissingRows(differences, log, span) : differences));
  if (deadLetters > 0) wrong.push(`${deadLetters} dead letters`);
};

const swaps: readonly Swap[] = ['older hot', 'no hot', 'older sql', 'older sql, reflush'];
for (const swap of swaps) {
  faultCase(test, {
    title: `${swap}: nothing is lost but what that part alone had`,
    name: `embedded, ${swap}`,
    run: ({ seed }) => runSwap(folders.plan(seed), swap),
  });
}

test.run();
