/**
 * A damaged SQL folder, as a power cut may leave it: the newest snapshot takes its place, and the totals are
 * rewritten from the hot store. Vote rows younger than the snapshot are missing, as documented.
 */
import { globSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { readAtRest } from '../harness/at-rest.ts';
import {
  judgeOverHttp,
  killNode,
  loadFor,
  lookAtBots,
  openNode,
  type Run,
  type RunPlan,
  runEmbedded,
  stopWell,
} from '../harness/embedded-run.ts';
import type { Figures } from '../harness/figures.ts';

/** Lives once and stops (that takes a snapshot), lives again, is killed, and loses its SQL folder. */
export const runSqlDamaged = (plan: RunPlan): Promise<Figures> =>
  runEmbedded(plan, async (run) => {
    const first = await openNode(run);
    await loadFor(run, first, 1_000);
    await stopWell(run, first);
    const second = await openNode(run);
    await judgeOverHttp(run, second);
    await loadFor(run, second, 1_000);
    await killNode(run, second);
    damage(run.dataDir);
    const third = await openNode(run);
    assert.match(third.output(), /could not be used .* The snapshot .* was put in its place/);
    await lookAtBots(run, third);
    await stopWell(run, third);
    await assertTotalsRestored(run);
  });

/** Cuts the control file and the largest tables short. */
export const damage = (dataDir: string): void => {
  const sql = join(dataDir, 'sql');
  const [control, ...tables] = [
    ...globSync('**/pg_control', { cwd: sql }),
    ...globSync('base/5/*', { cwd: sql }),
  ];
  assert.ok(control !== undefined && tables.length > 10, 'the folder looks as expected');
  for (const path of [control, ...tables.slice(0, 10)]) truncateSync(join(sql, path), 100);
};

/** All but the rows of votes, of which those since the snapshot are gone. */
const assertTotalsRestored = async (run: Run): Promise<void> => {
  const { differences } = await readAtRest(run.dataDir, run.directory.targets);
  run.wrong.push(...differences.filter((line) => !/ rows in SQL$/.test(line)));
};
