/**
 * Errors of the disk in the middle of writing, by a preloaded library: a file of the embedded SQL or of the
 * hot store's journal cannot be written or synced, or finds no room. Nothing acknowledged is lost or counts
 * twice, the process ends where it must, and all else heals by itself. Time limit: 900 s.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endLife, nowMs } from '../../../bench/prove/client-log.ts';
import { type DiskFaults, type FaultyDisk, openFaultyDisk } from '../../support/faulty-disk.ts';
import type { StartedNode } from '../../support/node-process.ts';
import { untilNoNote, untilNote } from '../../support/notes.ts';
import { until } from '../../support/until.ts';
import {
  lastLook,
  loadFor,
  lookAtBots,
  openNode,
  type Run,
  type RunPlan,
  runEmbedded,
  stopWell,
} from '../harness/embedded-run.ts';
import { faultCase, skip } from '../harness/fault-case.ts';
import { addRuns, type Figures } from '../harness/figures.ts';
import { startLoad } from '../harness/load.ts';
import { useTemplate } from '../harness/plans.ts';

const test = suite('errors of the disk');
const folders = useTemplate(test);

const [sql, journal] = ['postgres', 'hot/journal'] as const;
interface Planted {
  /** A folder, or a file. */
  readonly path: typeof sql | typeof journal;
  readonly faults: DiskFaults;
}

/** After these the process must end: what is on disk is unknown. */
const fatal: readonly Planted[] = [
  { path: sql, faults: { writeError: 'EIO' } },
  { path: journal, faults: { syncError: 'EIO' } },
  { path: sql, faults: { syncError: 'EIO' } },
  { path: journal, faults: { syncError: 'ENOSPC' } },
  { path: sql, faults: { syncError: 'ENOSPC' } },
];
/** Refused, or waited for, until it is over. */
const refused: readonly Planted[] = [
  { path: sql, faults: { writeError: 'ENOSPC' } },
  { path: journal, faults: { growthError: 'ENOSPC' } },
  { path: sql, faults: { growthError: 'ENOSPC' } },
];
const openOn = async (run: Run, disk: FaultyDisk): Promise<StartedNode> => {
  disk.plant('', {});
  const node = await openNode(run, { settings: { ...disk.environment, LOG_LEVEL: 'info' } });
  await lookAtBots(run, node);
  return node;
};
const plant = (run: Run, disk: FaultyDisk, { path, faults }: Planted): void =>
  disk.plant(join(run.dataDir, path), faults);

const runFatal = (plan: RunPlan, disk: FaultyDisk, planted: Planted): Promise<Figures> =>
  runEmbedded(plan, async (run) => {
    const node = await openOn(run, disk);
    const load = startLoad({ ...run, url: node.url });
    await sleep(1_000);
    plant(run, disk, planted);
    const { code } = await node.exited;
    await load.ended;
    endLife(run.log);
    assert.is(code, 1, `${JSON.stringify(planted)}: ${node.output()}`);
    assert.match(node.output(), /Ending, so that a new process can start: /);
    await lastLook(run);
  });

const runRefused = (plan: RunPlan, disk: FaultyDisk, planted: Planted): Promise<Figures> =>
  runEmbedded(plan, async (run) => {
    const node = await openOn(run, disk);
    const load = startLoad({ ...run, url: node.url });
    await sleep(1_000);
    const fromMs = nowMs();
    plant(run, disk, planted);
    await until('a refusal', async () => disk.countRefused() > 0);
    if (planted.faults.writeError === 'ENOSPC') await untilNote('disk_full', node);
    await sleep(2_000);
    disk.plant('', {});
    await until('readiness', async () => (await readReady(run, node)).status === 200);
    run.log.withoutRoom.push({ fromMs, toMs: nowMs() });
    await load.stop();
    await loadFor(run, node, 500);
    await untilNoNote('disk_full', node);
    await stopWell(run, node);
    await lastLook(run);
  });

/** Five seconds for requests, as many for the flush, and what the end of the stores may take. */
const stopMsMax = 20_000;

/** SIGTERM while the log of SQL waits for room, which comes after the end only. */
const runStopped = (plan: RunPlan, disk: FaultyDisk): Promise<Figures> =>
  runEmbedded(plan, async (run) => {
    const node = await openOn(run, disk);
    const load = startLoad({ ...run, url: node.url });
    await sleep(1_000);
    const fromMs = nowMs();
    plant(run, disk, { path: sql, faults: { writeError: 'ENOSPC' } });
    await untilNote('disk_full', node);
    await sleep(1_000);
    const signalledMs = nowMs();
    const exit = await node.stop();
    const stopMs = nowMs() - signalledMs;
    run.log.withoutRoom.push({ fromMs, toMs: nowMs() });
    await load.ended;
    endLife(run.log);
    assert.equal(exit, { code: 0, signal: null }, node.output());
    assert.match(node.output(), 'disk_full: ');
    assert.ok(stopMs < stopMsMax, `ended after ${Math.round(stopMs)} ms`);
    await lastLook(run);
  });

const readReady = ({ client }: Run, { adminUrl }: StartedNode) => client.ask(`${adminUrl}/readyz`);

const runAll = async <One>(
  all: readonly One[],
  runOne: (disk: FaultyDisk, one: One) => Promise<Figures>,
): Promise<Figures | null> => {
  const disk = openFaultyDisk();
  if (disk === null) return skip('errors of the disk', 'no gcc, or not Linux');
  return addRuns(all, (one) => runOne(disk, one));
};

faultCase(test, {
  title: 'a write or a sync that fails ends the process, and the next start has all that was acknowledged',
  name: 'EIO while writing',
  counts: { quick: 2, faults: fatal.length },
  run: ({ seed, count }) =>
    runAll(fatal.slice(0, count), (disk, planted) => runFatal(folders.plan(seed), disk, planted)),
});

faultCase(test, {
  title: 'a store without room refuses or waits, and goes on when there is room',
  name: 'ENOSPC while writing',
  counts: { quick: 2, faults: refused.length },
  run: ({ seed, count }) =>
    runAll(refused.slice(0, count), (disk, planted) => runRefused(folders.plan(seed), disk, planted)),
});

faultCase(test, {
  title: 'a stop while SQL waits for room ends in its time, and the next start has all that was acknowledged',
  name: 'stopped without room',
  counts: { quick: 1, faults: 4 },
  run: ({ seed, count }) =>
    runAll(
      Array.from({ length: count }, (_, round) => seed + round),
      (disk, roundSeed) => runStopped(folders.plan(roundSeed), disk),
    ),
});

test.run();
