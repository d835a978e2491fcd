/**
 * A node that gets too little: its loop blocked, no file descriptor left, hardly any CPU, no memory. It
 * answers when it can, ends only where it must, and nothing acknowledged is lost or counts twice.
 *
 * Each case gets its own copy of a data folder. Time limit: 1200 s.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endLife, nowMs } from '../../../bench/prove/client-log.ts';
import { blockFor, eatMemory, evaluate, inspected } from '../../support/inspector.ts';
import type { StartedNode } from '../../support/node-process.ts';
import {
  lastLook,
  openNode,
  type Run,
  type RunPlan,
  runEmbedded,
  stopWell,
} from '../harness/embedded-run.ts';
import { faultCase, skip } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { startLoad } from '../harness/load.ts';
import { useTemplate } from '../harness/plans.ts';
import { acknowledged, silenceSeconds } from '../harness/waits.ts';

const test = suite('a starved node');
const folders = useTemplate(test);

interface StarvedFigures extends Figures {
  readonly silenceSecondsMax: number;
}

/** The shortage under load, then a good stop and the verdict; measures the longest time without a change. */
const duringShortage = (
  plan: RunPlan,
  cause: (run: Run, node: StartedNode) => Promise<void>,
  settings: Readonly<Record<string, string>> = {},
): Promise<StarvedFigures> =>
  runEmbedded(plan, async (run) => {
    const node = await openNode(run, { settings });
    const load = startLoad({ ...run, url: node.url });
    await acknowledged(run.log, 200);
    const fromMs = nowMs();
    await cause(run, node);
    await acknowledged(run.log, 200);
    const toMs = nowMs();
    await load.stop();
    assert.is(run.log.unanswered, 0, 'every request is answered');
    await stopWell(run, node);
    await lastLook(run);
    return { silenceSecondsMax: silenceSeconds(run.log, { fromMs, toMs }) };
  });

/** The event loop is blocked for so long: longer than any request may take. */
const runBlocked = (plan: RunPlan, blockMs: number): Promise<StarvedFigures> =>
  duringShortage(
    plan,
    async (_, node) => {
      await evaluate(node, blockFor(blockMs));
      await sleep(blockMs);
    },
    inspected(),
  );

/* ------------------------------------------------------ file descriptors */

/** Whether this system lets us take descriptors from a process that runs. */
const canLimit = (): boolean => {
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

/** More clients than descriptors: connected clients are served, the others wait until there is room. */
const runWithoutFiles = async (plan: RunPlan): Promise<StarvedFigures | null> => {
  if (!canLimit()) return skip('no descriptors', 'this system has no prlimit');
  return duringShortage(plan, async (run, node) => {
    const before = filesMax(node.pid);
    limitFiles(node.pid, openFiles(node.pid) + spareFiles);
    const { hostname, port } = new URL(node.url);
    const sockets = Array.from({ length: crowd }, () => connect(Number(port), hostname));
    for (const socket of sockets) socket.on('error', () => {});
    const answers = sockets.map((socket) => isAnswered(socket));
    try {
      await acknowledged(run.log, 300);
      await sleep(1_000);
      const served = await Promise.all(answers.map((answer) => Promise.race([answer, false])));
      const inside = served.filter(Boolean).length;
      assert.ok(inside < crowd, 'there were descriptors for all clients');
    } finally {
      limitFiles(node.pid, before);
      for (const socket of sockets.slice(0, crowd / 2)) socket.destroy();
    }
    const late = await Promise.all(answers.slice(crowd / 2).map((answer) => within(answer, 15_000)));
    for (const socket of sockets) socket.destroy();
    assert.is(late.filter(Boolean).length, crowd / 2, 'waiting clients are served once there is room');
  });
};

/** Whether the socket is ever answered. */
const isAnswered = (socket: Socket): Promise<boolean> =>
  new Promise((resolve) => {
    socket.once('connect', () => socket.write('GET /bots/@random HTTP/1.1\r\nHost: crowd\r\n\r\n'));
    socket.once('data', () => resolve(true));
    socket.once('close', () => resolve(false));
  });

const within = (answer: Promise<boolean>, milliseconds: number): Promise<boolean> =>
  Promise.race([answer, sleep(milliseconds, false, { ref: false })]);

/* ------------------------------------------------------------------- CPU */

/** So many processes that never rest beside the node. */
const runStarved = (plan: RunPlan, busy: number): Promise<StarvedFigures> =>
  duringShortage(plan, async (run) => {
    const busyOnes: ChildProcess[] = [];
    try {
      for (let count = 0; count < busy; count++)
        busyOnes.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
      await acknowledged(run.log, 200);
    } finally {
      for (const one of busyOnes) one.kill('SIGKILL');
    }
  });

/* ---------------------------------------------------------------- memory */

const heapMegabytes = 128;

/** The heap is full: the process ends at once, as with kill -9, and the next one has everything. */
const runWithoutMemory = (plan: RunPlan): Promise<Figures> =>
  runEmbedded(plan, async (run) => {
    const node = await openNode(run, { settings: inspected(`--max-old-space-size=${heapMegabytes}`) });
    const load = startLoad({ ...run, url: node.url });
    await acknowledged(run.log, 300);
    await evaluate(node, eatMemory);
    const exit = await Promise.race([node.exited, sleep(60_000, null, { ref: false })]);
    assert.ok(exit, 'the process goes on without memory');
    await load.ended;
    endLife(run.log);
    assert.match(node.output(), /heap out of memory/);
    await lastLook(run);
  });

faultCase(test, {
  title: 'a loop blocked for 5 s loses nothing, and every request is answered',
  name: 'loop blocked for 5 s',
  run: ({ seed }) => runBlocked(folders.plan(seed), 5_000),
});

faultCase(test, {
  title: 'without descriptors connected clients are served, and the others once there are some',
  name: 'no descriptors',
  run: ({ seed }) => runWithoutFiles(folders.plan(seed)),
});

faultCase(test, {
  title: 'with hardly any CPU nothing fails',
  name: '8 busy processes',
  run: ({ seed }) => runStarved(folders.plan(seed), 8),
});

faultCase(test, {
  title: 'without memory it ends like kill -9, and nothing is lost',
  name: 'heap full',
  run: ({ seed }) => runWithoutMemory(folders.plan(seed)),
});

test.run();
