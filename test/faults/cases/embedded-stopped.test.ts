/**
 * Nodes that end cleanly, or must not end: drained under load, paused by the system, and undisturbed by a
 * second copy.
 *
 * Each scenario gets its own copy of a data folder and proves at its end, at rest, that both stores and the
 * client's log agree. Time limit: 1200 s.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endLife, nowMs } from '../../../bench/prove/client-log.ts';
import { type NodeOptions, type StartedNode, spawnNode } from '../../support/node-process.ts';
import {
  judgeAtRest,
  lastLook,
  openNode,
  type Run,
  type RunPlan,
  runEmbedded,
  settings,
  stopWell,
} from '../harness/embedded-run.ts';
import { countOf, faultCase } from '../harness/fault-case.ts';
import { addRuns, type Figures } from '../harness/figures.ts';
import { startLoad } from '../harness/load.ts';
import { useTemplate } from '../harness/plans.ts';
import { runSimultaneousVotes } from './embedded-simultaneous-votes.ts';

const test = suite('a node under faults');
const folders = useTemplate(test);

const slowProgram = fileURLToPath(new URL('../harness/crash-main.ts', import.meta.url));
const slowCommitMs = 150;
/** Five seconds for answers; flushing and the snapshot come on top, and take what the machine gives. */
const drainMsMax = 15_000;

interface DrainFigures extends Figures {
  readonly drainMsMax: number;
  readonly restartMsMax: number;
}

/** SIGTERM under load, with a store slow enough that requests are certainly in flight. */
const runDrain = (plan: RunPlan): Promise<DrainFigures> =>
  runEmbedded(plan, async (run) => {
    const node = await openNode(run, {
      program: slowProgram,
      settings: { SLOW_COMMIT_MS: String(slowCommitMs) },
    });
    const load = startLoad({ ...run, url: node.url });
    await sleep(1_500);
    const readiness = watchReadiness(node);
    await sleep(100);
    const signalledMs = nowMs();
    node.signal('SIGTERM');
    const exit = await node.exited;
    const drainMs = nowMs() - signalledMs;
    await load.ended;
    endLife(run.log);
    assert.equal(exit, { code: 0, signal: null }, node.output());
    assert.ok(drainMs < drainMsMax, `drained in ${drainMs} ms`);
    assertReadiness(await readiness);
    assertAnswered(run, signalledMs);
    await judgeAtRest(run);
    const restartMs = await timeRestart(run);
    await lastLook(run);
    return { drainMsMax: Math.round(drainMs), restartMsMax: Math.round(restartMs) };
  });

/** The answers of `/readyz` in order, until there is none. */
const watchReadiness = async ({ adminUrl }: StartedNode): Promise<string[]> => {
  const answers: string[] = [];
  for (;;) {
    try {
      const reply = await fetch(`${adminUrl}/readyz`);
      const { status } = (await reply.json()) as { status: string };
      answers.push(`${reply.status} ${status}`);
    } catch {
      // The listener is closed last of all: the node is gone.
      return answers;
    }
    await sleep(5);
  }
};

const assertReadiness = (answers: readonly string[]): void => {
  const changes = answers.filter((answer, index) => answer !== answers[index - 1]);
  assert.equal(changes, ['200 ready', '503 draining'], 'ready until the signal, draining until the end');
};

/** Requests sent up to a moment before the signal were answered, and none was refused. */
const assertAnswered = ({ log }: Run, signalledMs: number): void => {
  const momentMs = 20;
  const before = [...log.stats, ...log.clicks, ...log.votes].filter(
    (op) => op.callMs < signalledMs - momentMs,
  );
  const inFlight = before.filter((op) => op.returnMs > signalledMs);
  // On a busy machine a deadline may pass meanwhile; that is an answer too, and no refusal.
  const bad = inFlight.filter((op) => op.status === 0 || (op.outcome === 'fail' && op.status !== 429));
  assert.ok(inFlight.length > 0, 'nothing was in flight at the signal');
  assert.is(bad.length, 0, `${bad.length} of ${inFlight.length} requests in flight were not answered well`);
};

/** From the start of the process to the first answer. */
const timeRestart = async (run: Run): Promise<number> => {
  const startedMs = performance.now();
  const node = await openNode(run);
  assert.is((await fetch(`${node.url}/bots/${run.directory.bots[0]}`)).status, 200);
  const restartMs = performance.now() - startedMs;
  await stopWell(run, node);
  return restartMs;
};

/** SIGSTOP for longer than a request's deadline, then SIGCONT: nothing is lost, every request is answered. */
const runPause = (plan: RunPlan, pauseMs: number): Promise<Figures> =>
  runEmbedded(plan, async (run) => {
    const node = await openNode(run);
    const load = startLoad({ ...run, url: node.url });
    await sleep(1_000);
    node.signal('SIGSTOP');
    await sleep(pauseMs);
    node.signal('SIGCONT');
    await sleep(1_000);
    await load.stop();
    assert.is(run.log.unanswered, 0, 'a request whose deadline passed meanwhile is answered');
    await stopWell(run, node);
    await lastLook(run);
  });

/**
 * A second copy on the same folder, and one on the same port: both say why and end with 1, the first goes on.
 */
const runSecondCopy = (plan: RunPlan, otherDataDir: string): Promise<Figures> =>
  runEmbedded({ ...plan, rounds: 2 }, async (run) => {
    const node = await openNode(run);
    const load = startLoad({ ...run, url: node.url });
    const { port } = new URL(node.url);
    await refused({ dataDir: run.dataDir, settings }, /data folder .* is in use by process \d+/);
    await refused({ dataDir: otherDataDir, settings: { ...settings, PORT: port } }, /Port \d+ .*(use|taken)/);
    await load.stop();
    await stopWell(run, node);
    await lastLook(run);
  });

const refused = async (options: NodeOptions, message: RegExp): Promise<void> => {
  const second = spawnNode(options);
  const { code } = await second.exited;
  assert.is(code, 1, second.output());
  assert.match(second.output(), message);
  assert.not.match(second.output(), /^ {4}at /m, 'a message, not a stack');
};

faultCase(test, {
  title: 'of 1,000 simultaneous votes of one user exactly one is accepted',
  name: 'simultaneous votes',
  counts: { quick: 3, faults: 34 },
  run: ({ seed, count }) =>
    runSimultaneousVotes(folders.plan(seed), {
      rounds: count,
      votes: 1_000,
      connections: countOf({ quick: 500, faults: 1_000 }),
    }),
});

faultCase(test, {
  title: 'SIGTERM under load answers what is in flight and flushes',
  name: 'drain',
  counts: { quick: 1, faults: 4 },
  run: ({ seed, count }) =>
    addRuns(
      Array.from({ length: count }, (_, round) => round),
      (round) => runDrain(folders.plan(seed + round)),
    ),
});

faultCase(test, {
  title: 'a pause of five seconds loses nothing, and every request is answered',
  name: 'pause',
  run: ({ seed }) => runPause(folders.plan(seed), 5_000),
});

faultCase(test, {
  title: 'a second copy on the same folder or port says why, and the first goes on',
  name: 'second copy',
  counts: { quick: 1, faults: 1 },
  once: true,
  run: ({ seed }) => runSecondCopy(folders.plan(seed), folders.copy()),
});

test.run();
