/**
 * A damaged SQL folder, as a power cut may leave it: the newest snapshot takes its place, and the totals are
 * rewritten from the hot store. Vote rows younger than the snapshot are missing, as documented.
 */
import { globSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { type StartedNode, startNode } from '../support/node-process.ts';
import { readAtRest } from './at-rest.ts';
import { endLife } from './client-log.ts';
import type { Figures } from './figures.ts';
import { conclude, createRun, judgeOverHttp, type Run, type RunPlan, settings, stopWell } from './live.ts';
import { look, startLoad } from './load.ts';

/** Lives once and stops (that takes a snapshot), lives again, is killed, and loses its SQL folder. */
export const runTorn = async (plan: RunPlan): Promise<Figures> => {
  const startedMs = performance.now();
  const run = createRun(plan);
  const nodes: StartedNode[] = [];
  const open = async (): Promise<StartedNode> => {
    const node = await startNode({ dataDir: run.dataDir, settings });
    nodes.push(node);
    return node;
  };
  try {
    const first = await open();
    await loadFor(run, first, 1_000);
    await stopWell(run, first);
    const second = await open();
    await judgeOverHttp(run, second);
    await loadFor(run, second, 1_000);
    await second.kill();
    endLife(run.log);
    damage(run.dataDir);
    const third = await open();
    assert.match(third.output(), /could not be used .* The snapshot .* was put in its place/);
    await Promise.all(run.directory.bots.map((bot) => look({ ...run, url: third.url }, bot)));
    await stopWell(run, third);
    await assertTotalsHealed(run);
    return conclude(run, 1, startedMs);
  } finally {
    for (const node of nodes) await node.kill();
    run.client.close();
  }
};

const loadFor = async (run: Run, node: StartedNode, milliseconds: number): Promise<void> => {
  const load = startLoad({ ...run, url: node.url });
  await sleep(milliseconds);
  await load.stop();
};

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
const assertTotalsHealed = async (run: Run): Promise<void> => {
  const { differences } = await readAtRest(run.dataDir, run.directory.targets);
  run.wrong.push(...differences.filter((words) => !/ rows in SQL$/.test(words)));
};
