/**
 * kill -9 of one of two nodes on shared stores, at random moments under load: the other one goes on, a
 * new one takes the place, and nothing that was acknowledged is lost or counts twice.
 *
 * Used with small counts in `npm test` and with the promised ones in `npm run test:faults`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { nowMs } from './client-log.ts';
import type { Figures } from './figures.ts';
import { acknowledged, type Life, openStack, type Stack, silenceSeconds } from './stack.ts';

export interface NodeKillFigures extends Figures {
  readonly silenceSecondsMax: number;
}

/** Kills so many nodes, one at a time. */
export const runNodeKills = async (kills: number, seed: number): Promise<NodeKillFigures> => {
  const figures = await onTwoNodes(seed, (stack) => killNodes(stack, kills));
  return { ...figures, rounds: kills };
};

/** SIGSTOP of one node for longer than a request's deadline, then SIGCONT; the load still asks it. */
export const runNodePause = (pauseMs: number, seed: number): Promise<NodeKillFigures> =>
  onTwoNodes(seed, async (stack) => {
    const load = stack.load(16);
    try {
      await acknowledged(stack.log, 100);
      const fromMs = nowMs();
      const { node } = stack.dice.pick(stack.alive()) as Life;
      node.signal('SIGSTOP');
      await sleep(pauseMs);
      node.signal('SIGCONT');
      await acknowledged(stack.log, 100);
      return Number(silenceSeconds(stack.log, { fromMs, toMs: nowMs() }).toFixed(2));
    } finally {
      await load.stop();
    }
  });

const onTwoNodes = async (
  seed: number,
  task: (stack: Stack) => Promise<number>,
): Promise<NodeKillFigures> => {
  const postgres = await startPostgres();
  const redis = await startRedis();
  try {
    const databaseUrl = await postgres.database('kills');
    const stack = await openStack({ redisUrls: [redis.url], databaseUrl, nodes: 2, seed });
    try {
      const silenceSecondsMax = await task(stack);
      return { ...(await stack.judge()), silenceSecondsMax };
    } finally {
      await stack.close();
    }
  } finally {
    await redis.dispose();
    await postgres.close();
  }
};

const killNodes = async (stack: Stack, kills: number): Promise<number> => {
  const { log, dice: random } = stack;
  const load = stack.load(16);
  let silenceMax = 0;
  try {
    for (let round = 0; round < kills; round++) {
      await acknowledged(log, 100 + random.below(200));
      await sleep(random.below(30));
      const fromMs = nowMs();
      await stack.kill(random.pick(stack.alive()) as Life);
      await acknowledged(log, 50);
      await stack.open();
      silenceMax = Math.max(silenceMax, silenceSeconds(log, { fromMs, toMs: nowMs() }));
    }
    await acknowledged(log, 100);
  } finally {
    await load.stop();
  }
  return Number(silenceMax.toFixed(2));
};
