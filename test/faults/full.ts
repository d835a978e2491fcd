/**
 * No room left: the hot store at its size limit, and the disk full. Changes are refused with "nothing was
 * counted", reads go on, and once there is room everything goes on, with nothing lost.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as assert from 'uvu/assert';
import { copyDataFolder, tokenOf } from '../support/directory.ts';
import { type StartedNode, startNode } from '../support/node-process.ts';
import { nowMs } from './client-log.ts';
import type { Figures } from './figures.ts';
import {
  conclude,
  createRun,
  judgeAtRest,
  lastLook,
  type Run,
  type RunPlan,
  settings,
  stopWell,
} from './live.ts';
import { look, startLoad } from './load.ts';

const limitedProgram = fileURLToPath(new URL('./full-main.ts', import.meta.url));
const roomyBytes = 2 ** 30;

const limitBytes = 2 * 2 ** 20;
const fillMsMax = 30_000;
/**
 * Bots that the load does not touch, so that the log's judge has no business with them; enough to pass the
 * limit.
 */
export const outsiders = 12;

/** Fills the hot store up to its limit, then starts again with a higher one. */
export const runStoreFull = async (plan: RunPlan): Promise<Figures> => {
  const startedMs = performance.now();
  const run = createRun(plan);
  const limited = (bytes: number) => ({
    dataDir: run.dataDir,
    program: limitedProgram,
    settings: { ...settings, HOT_BYTES_MAX: String(bytes) },
  });
  const nodes: StartedNode[] = [];
  const open = async (bytes: number): Promise<StartedNode> => {
    const node = await startNode(limited(bytes));
    nodes.push(node);
    return node;
  };
  try {
    const small = await open(limitBytes);
    await loadUntilFull(run, small);
    await assertReadsOnly(run, small);
    await stopWell(run, small);
    const large = await open(roomyBytes);
    await assertWritesAgain(run, large);
    await stopWell(run, large);
    const used = join(run.dataDir, 'hot-limited');
    rmSync(join(run.dataDir, 'hot'), { recursive: true });
    renameSync(used, join(run.dataDir, 'hot'));
    await judgeAtRest(run);
    return conclude(run, 1, startedMs);
  } finally {
    for (const node of nodes) await node.kill();
    run.client.close();
  }
};

const loadUntilFull = async (run: Run, node: StartedNode): Promise<void> => {
  const load = startLoad({ ...run, url: node.url });
  const fromMs = nowMs();
  for (let index = 0; index < outsiders; index++) await post(run, node, { outsider: index, body: fatBody });
  for (let waitedMs = 0; !(await isFull(run, node)); waitedMs += 100) {
    assert.ok(waitedMs < fillMsMax, 'the store was never full');
    await sleep(100);
  }
  await sleep(500);
  await load.stop();
  run.log.withoutRoom.push({ fromMs, toMs: nowMs() });
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

const assertReadsOnly = async (run: Run, node: StartedNode): Promise<void> => {
  const answers = await Promise.all(run.directory.bots.map((bot) => look({ ...run, url: node.url }, bot)));
  for (const answer of answers) assert.is((answer as { status?: number }).status, 200);
};

const assertWritesAgain = async (run: Run, node: StartedNode): Promise<void> => {
  assert.is((await post(run, node, { outsider: 0, body: '{"servers":2}' })).status, 200);
  const load = startLoad({ ...run, url: node.url });
  await sleep(500);
  await load.stop();
};

const diskBytes = 256 * 2 ** 20;

/** Whether this system lets us mount a small disk of our own. */
export const canMount = (folder: string): boolean => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'rollcall-full', folder], {
      stdio: 'ignore',
    });
    execFileSync('umount', [folder], { stdio: 'ignore' });
    return true;
  } catch {
    // Containers without that right: the caller reports the case as left out.
    return false;
  }
};

/** Fills the disk under a node, then makes room again. */
export const runDiskFull = async (plan: RunPlan, disk: string): Promise<Figures> => {
  const startedMs = performance.now();
  mkdirSync(disk, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'rollcall-full', disk]);
  const run = createRun({ ...plan, dataDir: copyDataFolder(plan.dataDir, join(disk, 'data')) });
  let node: StartedNode | null = null;
  try {
    node = await startNode({ dataDir: run.dataDir, settings });
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
    assert.ok(refused, 'a full disk takes nothing');
    await assertWritesAgain(run, node);
    await stopWell(run, node);
    await lastLook(run);
    return conclude(run, 1, startedMs);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${node?.output()}`, { cause: error });
  } finally {
    await node?.kill();
    run.client.close();
    execFileSync('umount', ['-l', disk]);
  }
};

/** Takes all the room there is, against whoever else writes. */
const fillDisk = (disk: string): string => {
  const ballast = join(disk, 'ballast');
  const chunk = Buffer.alloc(64 * 2 ** 10);
  for (;;) {
    try {
      appendFileSync(ballast, chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return ballast;
      throw error;
    }
  }
};
