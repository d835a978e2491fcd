/**
 * No room left: the hot store at its size limit, and the disk full. Changes are refused with "nothing was
 * counted", reads go on, and once there is room everything goes on, with nothing lost. Time limit: 600 s.
 */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nowMs } from '../../../bench/prove/client-log.ts';
import type { Answer } from '../../../bench/shared/http-client.ts';
import { copyDataFolder, tokenOf } from '../../support/directory.ts';
import type { StartedNode } from '../../support/node-process.ts';
import { until } from '../../support/until.ts';
import {
  judgeAtRest,
  lastLook,
  loadFor,
  lookAtBots,
  openNode,
  type Run,
  type RunPlan,
  runEmbedded,
  stopWell,
} from '../harness/embedded-run.ts';
import { faultCase } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { adoptLimited, limitedProgram } from '../harness/limited.ts';
import { startLoad } from '../harness/load.ts';
import { outsiders, useTemplate } from '../harness/plans.ts';
import { fillDisk, onSmallDisk } from '../harness/small-disk.ts';

const test = suite('no room');
const folders = useTemplate(test);

const roomyBytes = 2 ** 30;

const limitBytes = 2 * 2 ** 20;
const fillMsMax = 30_000;

/** Fills the hot store up to its limit, then starts again with a higher one. */
const runStoreFull = (plan: RunPlan): Promise<Figures> =>
  runEmbedded(plan, async (run) => {
    const open = (bytes: number): Promise<StartedNode> =>
      openNode(run, { program: limitedProgram, settings: { HOT_BYTES_MAX: String(bytes) } });
    const small = await open(limitBytes);
    await lookAtBots(run, small);
    const fromMs = nowMs();
    await loadUntilFull(run, small);
    await assertReadsOnly(run, small);
    await stopWell(run, small);
    // It was full to its end, five seconds of draining later: page views that waited ended with it.
    run.log.withoutRoom.push({ fromMs, toMs: nowMs() });
    const large = await open(roomyBytes);
    await assertWritesAgain(run, large);
    await stopWell(run, large);
    adoptLimited(run.dataDir);
    await judgeAtRest(run);
  });

const loadUntilFull = async (run: Run, node: StartedNode): Promise<void> => {
  const load = startLoad({ ...run, url: node.url });
  for (let index = 0; index < outsiders; index++) await post(run, node, { outsider: index, body: fatBody });
  for (let waitedMs = 0; !(await isFull(run, node)); waitedMs += 100) {
    assert.ok(waitedMs < fillMsMax, 'the store was never full');
    await sleep(100);
  }
  await sleep(500);
  await load.stop();
};

/** The largest post there is: about 340 kB at rest. */
const fatBody = `{"shard_list":[${Array.from({ length: 16_384 }, () => '18446744073709551557').join(',')}]}`;

interface Post {
  readonly outsider: number;
  readonly body: string;
}
const post = ({ client, directory }: Run, { url }: StartedNode, { outsider, body }: Post) => {
  const bot = `2${String(directory.bots.length + outsider).padStart(15, '0')}`;
  const headers = { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' };
  return client.ask(`${url}/bots/stats`, { method: 'POST', headers, body });
};

/** A refusal says that nothing was counted, and when to come again. */
const isFull = async (run: Run, node: StartedNode): Promise<boolean> => {
  const { status, text, headers } = await post(run, node, { outsider: 0, body: '{"servers":1}' });
  if (status !== 503) return false;
  assert.match(text, '"outcome":"not_applied"');
  assert.ok(Number(headers['retry-after']) >= 1, 'says when to come again');
  return true;
};

/** Of bots that were read before: the first read of a bot is a write, too, because the store gets its row. */
const assertReadsOnly = async (run: Run, node: StartedNode): Promise<void> => {
  for (const answer of await lookAtBots(run, node)) {
    const { status, text } = answer as Partial<Answer>;
    assert.is(status, 200, `a read while there is no room: ${status} ${text}`);
  }
};

const assertWritesAgain = async (run: Run, node: StartedNode): Promise<void> => {
  const { status, text } = await post(run, node, { outsider: 0, body: '{"servers":2}' });
  assert.is(status, 200, `a post when there is room again: ${status} ${text}`);
  await loadFor(run, node, 500);
};

const diskBytes = 256 * 2 ** 20;

/** Fills the disk under a node, then makes room again. */
const runDiskFull = (plan: RunPlan): Promise<Figures | null> =>
  onSmallDisk('disk full', diskBytes, (disk) =>
    runEmbedded({ ...plan, dataDir: copyDataFolder(plan.dataDir, join(disk, 'data')) }, async (run) => {
      const node = await openNode(run);
      await lookAtBots(run, node);
      const load = startLoad({ ...run, url: node.url });
      await sleep(1_000);
      const fromMs = nowMs();
      const ballast = fillDisk(disk);
      await sleep(3_000);
      const refused = await isFull(run, node);
      await assertReadsOnly(run, node);
      rmSync(ballast);
      await sleep(100);
      run.log.withoutRoom.push({ fromMs, toMs: nowMs() });
      await sleep(1_000);
      await load.stop();
      assert.ok(refused, 'a full disk refuses changes');
      await assertWritesAgain(run, node);
      await stopWell(run, node);
      await lastLook(run);
    }),
  );

faultCase(test, {
  title: 'a full hot store refuses changes, goes on reading, and goes on when there is room',
  name: 'hot store full',
  counts: { quick: 1, faults: 1 },
  run: ({ seed }) => runStoreFull(folders.plan(seed)),
});

faultCase(test, {
  title: 'a full disk refuses changes, goes on reading, and goes on when there is room',
  name: 'disk full',
  run: ({ seed }) => runDiskFull(folders.plan(seed)),
});

/** Nothing is written after the refusal: neither while the disk is full nor when it has room. */
const runIdle = (plan: RunPlan): Promise<Figures | null> =>
  onSmallDisk('idle on a full disk', diskBytes, (disk) =>
    runEmbedded({ ...plan, dataDir: copyDataFolder(plan.dataDir, join(disk, 'data')) }, async (run) => {
      const node = await openNode(run, { settings: { LOG_LEVEL: 'info' } });
      const ballast = fillDisk(disk);
      assert.ok(await isFull(run, node), 'a full disk refuses changes');
      const full = await readReady(run, node);
      assert.is(full.status, 503);
      assert.match(full.text, `disk_full: 0.0 MiB are free for ${join(run.dataDir, 'hot')}`);
      await until('a line about the full disk', () => node.output().includes('disk_full: '));
      rmSync(ballast);
      const roomMs = nowMs();
      await until('readiness', async () => (await readReady(run, node)).status === 200);
      assert.ok(nowMs() - roomMs < readyMsMax, 'ready within 5 s of room');
      await until('a line about the room', () => node.output().includes('disk_full: over'));
      assert.is(node.output().split('disk_full: ').length, 3, 'one line each');
      await stopWell(run, node);
      await lastLook(run);
    }),
  );
const readyMsMax = 5_000;
const readReady = ({ client }: Run, { adminUrl }: StartedNode) => client.ask(`${adminUrl}/readyz`);

faultCase(test, {
  title: 'a node that was refused on a full disk is ready again once there is room, without a write',
  name: 'idle on a full disk',
  counts: { quick: 1, faults: 3 },
  run: ({ seed }) => runIdle(folders.plan(seed)),
});

test.run();
