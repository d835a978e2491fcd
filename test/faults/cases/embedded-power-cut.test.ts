/**
 * Power cuts under a whole node on embedded stores: a preloaded library records each change of its data
 * folder from its start under load to its end. Of the record a simulated disk keeps what was synced, and any
 * part of the rest; on the folder as a cut leaves it, a node must show all that was acknowledged, once.
 * Time limit: 1800 s.
 */
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ClientLog, createLog, endLife } from '../../../bench/prove/client-log.ts';
import { judgeVotes } from '../../../bench/prove/judge.ts';
import { createRandom } from '../../../bench/shared/random.ts';
import { copyDataFolder, openAtRest } from '../../support/directory.ts';
import { type FaultyDisk, openFaultyDisk } from '../../support/faulty-disk.ts';
import { makeFolder } from '../../support/folder.ts';
import { cutPower, type PowerCut, type Recording } from '../../support/power-cuts.ts';
import { inspect } from '../harness/at-rest.ts';
import { addWebhooks, type EditLog, judgeEditsAt, startEdits } from '../harness/edits.ts';
import {
  judgeOverHttp,
  openNode,
  type Run,
  type RunPlan,
  runEmbedded,
  stopWell,
  waitMs,
} from '../harness/embedded-run.ts';
import { faultCase, skip } from '../harness/fault-case.ts';
import { addFigures, type Figures } from '../harness/figures.ts';
import { adoptLimited, limitedProgram, oftenSettings } from '../harness/limited.ts';
import { startLoad } from '../harness/load.ts';
import { useTemplate } from '../harness/plans.ts';
import { findFaults } from './webhooks-servers.ts';

const test = suite('power cuts');
const folders = useTemplate(test);

const loadMs = 4_000;
/** An answer that came before a sync ended would be certain to come before it. */
const syncDelayMs = 2;

/** What a node did to its folder, and what its clients were answered meanwhile. */
interface NodeRecording extends Recording {
  readonly log: ClientLog;
  readonly edits: EditLog;
}

const recordNode = async (plan: RunPlan, disk: FaultyDisk): Promise<NodeRecording> => {
  const folder = makeFolder('rollcall-record-');
  const record = join(folder, 'record');
  const base = copyDataFolder(plan.dataDir, join(folder, 'base'));
  let recording: NodeRecording | null = null;
  disk.plant(plan.dataDir, { syncDelayMs });
  await runEmbedded(plan, async (run) => {
    const settings = { ...disk.recordInto(record), ...oftenSettings, WEBHOOKS_PER_ENTITY_MAX: '100' };
    const node = await openNode(run, { program: limitedProgram, settings });
    await addWebhooks(run, node.url);
    const load = startLoad({ ...run, url: node.url });
    const edits = startEdits(run, node.url);
    await sleep(loadMs);
    await Promise.all([load.stop(), edits.stop()]);
    await node.stop();
    endLife(run.log);
    recording = { base, live: plan.dataDir, record, log: run.log, edits: edits.log };
  });
  assert.ok(recording !== null);
  return recording;
};

/** The log of clients whose node ended at `cutMs`. */
const cutLog = (log: ClientLog, cutMs: number): ClientLog => {
  const sent = <Operation extends { callMs: number; returnMs: number }>(all: readonly Operation[]) =>
    all
      .filter(({ callMs }) => callMs <= cutMs)
      .map((one) => (one.returnMs <= cutMs ? one : { ...one, outcome: 'unknown' as const, refused: false }));
  return {
    ...createLog(),
    nextId: log.nextId,
    life: 1,
    endedMs: [cutMs],
    stats: sent(log.stats),
    clicks: sent(log.clicks),
    votes: sent(log.votes),
    sights: log.sights.filter(({ returnMs }) => returnMs <= cutMs),
  };
};

/** A node on the folder shows all that was acknowledged, and both stores agree at rest. */
const judgeCut = (
  plan: RunPlan,
  { log, edits }: NodeRecording,
  { folder, cutMs, place }: PowerCut,
): Promise<Figures> =>
  runEmbedded({ ...plan, dataDir: folder }, async (made) => {
    adoptLimited(folder);
    const run: Run = Object.assign(made, { log: cutLog(log, cutMs) });
    try {
      const node = await openNode(run);
      await judgeOverHttp(run, node);
      await judgeEditsAt(run, node.url, { ...edits, cutMs });
      await stopWell(run, node);
      await judgeStores(run);
    } catch (error) {
      throw new Error(`cut ${place}: ${(error as Error).message}`, { cause: error });
    }
    run.wrong.push(...run.wrong.splice(0).map((fault) => `cut ${place}: ${fault}`));
  });

const judgeStores = async ({ dataDir, directory, log, verdict, wrong }: Run): Promise<void> => {
  const stores = await openAtRest(dataDir);
  try {
    const { rows, differences } = await inspect(stores, stores.hot, directory.targets);
    judgeVotes(log, { rows, waitMs }, verdict);
    const faults = await findFaults(stores.sql);
    wrong.push(...differences, ...faults.map(({ fault }) => fault));
  } finally {
    await stores.close();
  }
};

const runCuts = async (plan: RunPlan, disk: FaultyDisk, count: number): Promise<Figures> => {
  const recording = await recordNode(plan, disk);
  let all: Figures | null = null;
  const mapped = await cutPower(recording, { random: createRandom(plan.seed), count }, async (cut) => {
    const figures = await judgeCut(plan, recording, cut);
    all = all === null ? figures : addFigures<Figures>(all, figures);
  });
  // LMDB changes its data by calls alone, which the record has.
  assert.ok(
    mapped.every((path) => basename(path) === 'lock.mdb'),
    mapped.join(),
  );
  assert.ok(all !== null);
  return all;
};

faultCase(test, {
  title: 'after a power cut at any moment all that was acknowledged is there, once',
  name: 'power cut',
  counts: { quick: 5, faults: 60 },
  run: async ({ seed, count }) => {
    const disk = openFaultyDisk();
    return disk === null
      ? skip('power cuts', 'no gcc, or not Linux')
      : runCuts(folders.plan(seed), disk, count);
  },
});

test.run();
