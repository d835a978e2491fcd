/**
 * kill -9 of one of two nodes on shared stores, at random moments under load: the other one goes on, a new
 * one takes the place, and nothing that was acknowledged is lost or counts twice. Time limit: 900 s.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { faultCase } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { onServers } from '../harness/on-servers.ts';
import type { Life, Stack } from '../harness/stack.ts';
import { acknowledged, timeSilence, underLoad } from '../harness/waits.ts';

const test = suite('kill -9 of a node');

interface SilenceFigures extends Figures {
  readonly silenceSecondsMax: number;
}

const connections = 16;
const ackedMin = 150;

/** Kills so many nodes, one at a time. */
const runNodeKills = (seed: number, kills: number): Promise<SilenceFigures> =>
  onServers({ seed }, async ({ stack }) => {
    const silenceSecondsMax = await underLoad(stack, connections, () => killNodes(stack, kills));
    const figures = await stack.judge({ rounds: kills });
    assert.ok(figures.acked > ackedMin, `${figures.acked} acknowledged`);
    return { ...figures, silenceSecondsMax };
  });

/** SIGSTOP of one node for longer than a request's deadline, then SIGCONT; the load still reaches it. */
const runNodePause = (seed: number, pauseMs: number): Promise<SilenceFigures> =>
  onServers({ seed }, async ({ stack }) => {
    const silenceSecondsMax = await underLoad(stack, connections, async () => {
      await acknowledged(stack.log, 100);
      return timeSilence(stack, async () => {
        const { node } = stack.random.pick(stack.alive()) as Life;
        node.signal('SIGSTOP');
        await sleep(pauseMs);
        node.signal('SIGCONT');
        await acknowledged(stack.log, 100);
      });
    });
    return { ...(await stack.judge()), silenceSecondsMax };
  });

const killNodes = async (stack: Stack, kills: number): Promise<number> => {
  const { log, random } = stack;
  let silenceMax = 0;
  for (let round = 0; round < kills; round++) {
    await acknowledged(log, 100 + random.below(200));
    await sleep(random.below(30));
    const silence = await timeSilence(stack, async () => {
      await stack.kill(random.pick(stack.alive()) as Life);
      await acknowledged(log, 50);
      await stack.open();
    });
    silenceMax = Math.max(silenceMax, silence);
  }
  await acknowledged(log, 100);
  return silenceMax;
};

faultCase(test, {
  title: 'one of two nodes killed under load: nothing is lost or doubled, the other goes on',
  name: 'kill -9 of one of two nodes',
  counts: { quick: 1, faults: 7 },
  run: ({ seed, count }) => runNodeKills(seed, count),
});

faultCase(test, {
  title: 'one of two nodes stopped for 5 s and continued: nothing is lost or doubled',
  name: 'SIGSTOP of one of two nodes',
  run: ({ seed }) => runNodePause(seed, 5_000),
});

test.run();
