/**
 * A node dies between an edit's commit in SQL and its delivery to the hot store: the next flusher delivers
 * it, the other node or the next start. Votes are judged by delivered facts, so they show the delivery.
 *
 * The node is the program of crash-main.ts, which dies at named points around the delivery. Called by
 * edits.fault.ts.
 */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as assert from 'uvu/assert';
import type { Facts } from '../../engine/entity/state.ts';
import { createLedger } from '../../storage/ledger/ledger.ts';
import type { Stores } from '../../storage/open.ts';
import { openAtRest, tokenOf } from '../support/directory.ts';
import { type StartedNode, startNode } from '../support/node-process.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { endLife } from './client-log.ts';
import type { Figures } from './figures.ts';
import { conclude, createRun, lastLook, type Run, type RunPlan, settings, stopWell } from './live.ts';
import { startLoad } from './load.ts';
import { type Operation, operate } from './operate.ts';
import { acknowledged, openStack, operatorToken, outsider, type Stack, until } from './stack.ts';

const program = fileURLToPath(new URL('./crash-main.ts', import.meta.url));

/** Around the telling: committed in SQL and nothing else; told, and SQL does not know that. */
export const points = ['before-hot.commit.facts', 'after-hot.commit.facts'];
/** Where nobody else can tell it first. */
export const pointsAlone = [...points, 'before-ledger.markEditsSent'];

interface Edit extends Operation {
  /** What votes are answered with when it is told. */
  readonly answers: readonly number[];
}
const taken = [204, 429];
/** Each changes facts of the outsider, which the load does not touch. */
const edits: readonly Edit[] = [
  { method: 'PUT', path: `/bot/${outsider}/vote-ban`, answers: [403] },
  { method: 'DELETE', path: `/bot/${outsider}/vote-ban`, answers: taken },
  { method: 'POST', path: `/bots/${outsider}/deny`, body: {}, answers: [404, 409] },
  { method: 'POST', path: `/bots/${outsider}/approve`, body: {}, answers: taken },
  { method: 'PUT', path: `/bots/${outsider}/premium`, body: { hours: 100 }, answers: taken },
];
const editOf = (round: number): Edit => edits[round % edits.length] as Edit;

export interface EditFigures extends Figures {
  /** From the node's death until the hot store was told. */
  readonly toldSecondsMax: number;
}

const target = { kind: 'bot', id: outsider } as const;

const inSql = async ({ sql }: Pick<Stores, 'sql'>): Promise<Facts | undefined> =>
  (await createLedger(sql).find([target]))[0]?.facts;

const inHot = async ({ hot }: Pick<Stores, 'hot'>): Promise<Facts | undefined> => {
  const [reply] = await hot.load([target]);
  return reply?.outcome === 'found' ? reply.state.facts : undefined;
};

const same = (one: Facts | undefined, other: Facts | undefined): boolean =>
  one !== undefined && JSON.stringify(one) === JSON.stringify(other);

const voteAt = async ({ client }: Pick<Stack, 'client'>, url: string, user: string): Promise<number> => {
  const asked = { method: 'PUT', headers: { 'User-Auth': tokenOf('user', user) } } as const;
  return (await client.ask(`${url}/users/${user}/bots/${outsider}/votes?upvote=true`, asked)).status;
};

/** Asks for the edit; the node dies of it, before or after it has answered. */
const editAndDie = async (
  parts: Pick<Stack, 'client'>,
  node: StartedNode,
  edit: Operation,
): Promise<void> => {
  await operate(parts, { node }, edit).catch(() => undefined);
  const { signal } = await node.exited;
  assert.is(signal, 'SIGKILL', node.output());
};

/* ---------------------------------------------------------- shared stores */

/** A node that dies of each edit at each of the points, beside one that lives. */
export const runEditsOnServers = async (seed: number, names: readonly string[]): Promise<EditFigures> => {
  const postgres = await startPostgres();
  const redis = await startRedis();
  try {
    const databaseUrl = await postgres.database('edits');
    const stack = await openStack({ redisUrls: [redis.url], databaseUrl, nodes: 1, seed });
    try {
      const toldSecondsMax = await editRounds(stack, names);
      return { ...(await stack.judge({ rounds: names.length })), toldSecondsMax };
    } finally {
      await stack.close();
    }
  } finally {
    await redis.dispose();
    await postgres.close();
  }
};

const editRounds = async (stack: Stack, names: readonly string[]): Promise<number> => {
  const load = stack.load(12);
  let longest = 0;
  try {
    await acknowledged(stack.log, 100);
    for (const [index, name] of names.entries()) {
      longest = Math.max(longest, await editOnce(stack, name, editOf(index)));
      await acknowledged(stack.log, 30);
    }
  } finally {
    await load.stop();
  }
  return Number(longest.toFixed(2));
};

/** Seconds until the node that lives has told the edit. */
const editOnce = async (stack: Stack, name: string, edit: Edit): Promise<number> => {
  const { stores } = stack;
  const victim = await stack.open({ program, settings: { CRASH_AT: `${name}:1` } });
  const [living] = stack.alive();
  await voteAt(stack, victim.node.url, voterOf(stack));
  const before = await inSql(stores);
  await editAndDie(stack, victim.node, edit);
  await stack.kill(victim);
  const diedMs = performance.now();
  const wanted = await inSql(stores);
  assert.not.equal(wanted, before, `${edit.path} is committed`);
  await until('the hot store is told', async () => same(await inHot(stores), wanted));
  const seconds = (performance.now() - diedMs) / 1_000;
  const url = living?.node.url ?? '';
  await until('votes go by it', async () => edit.answers.includes(await voteAt(stack, url, voterOf(stack))));
  await until('the edit is settled', async () => (await stores.sql`select from edited`).length === 0);
  return seconds;
};

const voterOf = ({ directory, dice: random }: Pick<Stack, 'directory' | 'dice'>): string =>
  random.pick(directory.users);

/* -------------------------------------------------------- embedded stores */

/** One node dies of an edit at each of the points; its next start tells the edit. */
export const runEditsEmbedded = async (plan: RunPlan, names: readonly string[]): Promise<Figures> => {
  const startedMs = performance.now();
  const run = createRun(plan);
  try {
    for (const [index, name] of names.entries()) {
      await loadAndDie(run, name, editOf(index));
      await toldByNext(run, editOf(index));
    }
    await lastLook(run);
    const stores = await openAtRest(run.dataDir);
    const [sql, hot] = [await inSql(stores), await inHot(stores)];
    await stores.close();
    assert.equal(hot, sql, 'facts at rest');
    return conclude(run, names.length, startedMs);
  } finally {
    run.client.close();
    rmSync(run.dataDir, { recursive: true, force: true });
  }
};

const loadAndDie = async (run: Run, name: string, edit: Edit): Promise<void> => {
  const crashing = { ...settings, ADMIN_TOKEN: operatorToken, CRASH_AT: `${name}:1` };
  const node = await startNode({ dataDir: run.dataDir, program, settings: crashing });
  try {
    const load = startLoad({ ...run, url: node.url });
    await voteAt(run, node.url, voterOf(run));
    await editAndDie(run, node, edit);
    await load.ended;
  } finally {
    await node.kill();
  }
  endLife(run.log);
};

/** Lives until votes go by the edit and SQL knows that it was told: the next round dies of its own one. */
const toldByNext = async (run: Run, edit: Edit): Promise<void> => {
  for (let lives = 0; lives < livesMax; lives++) {
    await liveUntilTold(run, edit);
    const stores = await openAtRest(run.dataDir);
    const left = await stores.sql`select from edited`;
    await stores.close();
    if (left.length === 0) return;
  }
  throw new Error(`${edit.path} is told again and again`);
};
const livesMax = 5;

const liveUntilTold = async (run: Run, edit: Edit): Promise<void> => {
  const hasty = { ...settings, FLUSH_INTERVAL_MS: '100' };
  const node = await startNode({ dataDir: run.dataDir, settings: hasty });
  try {
    await until('votes go by it', async () =>
      edit.answers.includes(await voteAt(run, node.url, voterOf(run))),
    );
    await sleep(1_000);
    await stopWell(run, node);
  } finally {
    await node.kill();
  }
};
