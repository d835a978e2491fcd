/**
 * A node that gets too little: its loop blocked, no file descriptor left, hardly any CPU, no memory. It
 * answers when it can, ends only where it must, and nothing acknowledged is lost or counts twice.
 *
 * Each scenario gets its own copy of a data folder. Used with small counts in `npm test` and with the
 * promised ones in `npm run test:faults`.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { blockFor, eatMemory, evaluate, inspected } from '../support/inspector.ts';
import { type StartedNode, startNode } from '../support/node-process.ts';
import { endLife, nowMs } from './client-log.ts';
import type { Figures } from './figures.ts';
import { conclude, createRun, lastLook, type Run, type RunPlan, settings, stopWell } from './live.ts';
import { type Load, startLoad } from './load.ts';
import { acknowledged, silenceSeconds } from './stack.ts';

export interface StrainFigures extends Figures {
  readonly silenceSecondsMax: number;
}

type Strain = (run: Run, node: StartedNode) => Promise<void>;

/** The strain under load, then a good stop and the verdict. Returns the longest time without a change. */
const under = async (
  plan: RunPlan,
  strain: Strain,
  more: Readonly<Record<string, string>> = {},
): Promise<StrainFigures> => {
  const startedMs = performance.now();
  const run = createRun(plan);
  const node = await startNode({ dataDir: run.dataDir, settings: { ...settings, ...more } });
  let load: Load | null = null;
  try {
    load = startLoad({ ...run, url: node.url });
    await acknowledged(run.log, 200);
    const fromMs = nowMs();
    await strain(run, node);
    await acknowledged(run.log, 200);
    const toMs = nowMs();
    await load.stop();
    assert.is(run.log.unanswered, 0, 'every request is answered');
    await stopWell(run, node);
    await lastLook(run);
    const silenceSecondsMax = Number(silenceSeconds(run.log, { fromMs, toMs }).toFixed(2));
    return { ...conclude(run, 1, startedMs), silenceSecondsMax };
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${node.output()}`, { cause: error });
  } finally {
    await node.kill();
    await load?.ended;
    run.client.close();
  }
};

/** The event loop stands still for so long: longer than any request may take. */
export const runBlocked = (plan: RunPlan, blockMs: number): Promise<StrainFigures> =>
  under(
    plan,
    async (_, node) => {
      await evaluate(node, blockFor(blockMs));
      await sleep(blockMs);
    },
    inspected(),
  );

/* ------------------------------------------------------ file descriptors */

/** Whether this system lets us take descriptors from a process that runs. */
export const canLimit = (): boolean => {
  try {
    execFileSync('prlimit', ['--version'], { stdio: 'ignore' });
    return process.platform === 'linux';
  } catch {
    // Not Linux, or without util-linux.
    return false;
  }
};

/** How many the process may open now. */
const filesMax = (pid: number): number =>
  Number(/^Max open files +(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'utf8'))?.[1]);
const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
const limitFiles = (pid: number, count: number): void => {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${count}:`]);
};

const spareFiles = 10;
const crowd = 100;

/** More clients than descriptors: those who are in are served, the others wait until there is room. */
export const runWithoutFiles = (plan: RunPlan): Promise<StrainFigures> =>
  under(plan, async (run, node) => {
    const before = filesMax(node.pid);
    limitFiles(node.pid, openFiles(node.pid) + spareFiles);
    const { hostname, port } = new URL(node.url);
    const sockets = Array.from({ length: crowd }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.on('error', () => {});
    const answers = sockets.map((socket) => answered(socket));
    try {
      await acknowledged(run.log, 300);
      await sleep(1_000);
      const served = await Promise.all(answers.map((answer) => Promise.race([answer, false])));
      const inside = served.filter(Boolean).length;
      assert.ok(inside < crowd, 'there were descriptors for everybody');
    } finally {
      limitFiles(node.pid, before);
      for (const socket of sockets.slice(0, crowd / 2)) socket.destroy();
    }
    const late = await Promise.all(answers.slice(crowd / 2).map((answer) => within(answer, 15_000)));
    for (const socket of sockets) socket.destroy();
    assert.is(late.filter(Boolean).length, crowd / 2, 'who waited is served once there is room');
  });

/** Whether the socket is ever answered. */
const answered = (socket: Socket): Promise<boolean> =>
  new Promise((resolve) => {
    socket.once('connect', () => socket.write('GET /bots/@random HTTP/1.1\r\nHost: crowd\r\n\r\n'));
    socket.once('data', () => resolve(true));
    socket.once('close', () => resolve(false));
  });

const within = (answer: Promise<boolean>, milliseconds: number): Promise<boolean> =>
  Promise.race([answer, sleep(milliseconds, false, { ref: false })]);

/* ------------------------------------------------------------------- CPU */

/** So many processes that never rest beside the node. */
export const runStarved = (plan: RunPlan, busy: number): Promise<StrainFigures> =>
  under(plan, async (run) => {
    const greedy: ChildProcess[] = [];
    try {
      for (let count = 0; count < busy; count++)
        greedy.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
      await acknowledged(run.log, 200);
    } finally {
      for (const one of greedy) one.kill('SIGKILL');
    }
  });

/* ---------------------------------------------------------------- memory */

const heapMegabytes = 128;

/** The heap is full: the process ends at once, as with kill -9, and the next one has everything. */
export const runWithoutMemory = async (plan: RunPlan): Promise<Figures> => {
  const startedMs = performance.now();
  const run = createRun(plan);
  const options = inspected(`--max-old-space-size=${heapMegabytes}`);
  const node = await startNode({ dataDir: run.dataDir, settings: { ...settings, ...options } });
  try {
    const load = startLoad({ ...run, url: node.url });
    await acknowledged(run.log, 300);
    await evaluate(node, eatMemory);
    const exit = await Promise.race([node.exited, sleep(60_000, null, { ref: false })]);
    assert.ok(exit, 'the process goes on without memory');
    await load.ended;
    endLife(run.log);
    assert.match(node.output(), /heap out of memory/);
    await lastLook(run);
    return conclude(run, 1, startedMs);
  } finally {
    await node.kill();
    run.client.close();
  }
};
