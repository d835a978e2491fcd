/**
 * A node dies between an edit's commit in SQL and its delivery to the hot store: the next flusher delivers
 * it, the other node or the next start. Votes are judged by delivered facts, so they show the delivery.
 *
 * The node is the program of crash-main.ts, which dies at named points around the delivery.
 * Time limit: 900 s.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endLife } from '../../../bench/prove/client-log.ts';
import type { Facts } from '../../../engine/entity/state.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import type { Stores } from '../../../storage/open.ts';
import { openAtRest } from '../../support/directory.ts';
import type { StartedNode } from '../../support/node-process.ts';
import { until } from '../../support/until.ts';
import {
  lastLook,
  openNode,
  type Run,
  type RunPlan,
  runEmbedded,
  stopWell,
} from '../harness/embedded-run.ts';
import { faultCase } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { startLoad } from '../harness/load.ts';
import { onServers } from '../harness/on-servers.ts';
import { type Operation, operate } from '../harness/operate.ts';
import { useTemplate } from '../harness/plans.ts';
import { type Life, operatorToken, outsider, type Stack } from '../harness/stack.ts';
import { acknowledged, underLoad, voteForOutsider } from '../harness/waits.ts';

const test = suite('edits whose node dies');
const folders = useTemplate(test);

const program = fileURLToPath(new URL('../harness/crash-main.ts', import.meta.url));

/** Around the delivery: committed in SQL and nothing else; delivered, and SQL does not know that. */
const points = ['before-hot.commit.facts', 'after-hot.commit.facts'];
/** Where no other node can deliver it first. */
const pointsAlone = [...points, 'before-ledger.markEditsSent'];

interface Edit extends Operation {
  /** The statuses of votes once it is delivered. */
  readonly answers: readonly number[];
}
const accepted = [204, 429];
/** Each changes facts of the outsider, which the load does not touch. */
const edits: readonly Edit[] = [
  { method: 'PUT', path: `/bot/${outsider}/vote-ban`, answers: [403] },
  { method: 'DELETE', path: `/bot/${outsider}/vote-ban`, answers: accepted },
  { method: 'POST', path: `/bots/${outsider}/deny`, body: { note: 'No.' }, answers: [404, 409] },
  { method: 'POST', path: `/bots/${outsider}/approve`, body: {}, answers: accepted },
  { method: 'PUT', path: `/bots/${outsider}/premium`, body: { hours: 100 }, answers: accepted },
];
const editOf = (round: number): Edit => edits[round % edits.length] as Edit;

interface EditFigures extends Figures {
  /** From the node's death until the hot store had the edit. */
  readonly deliveredSecondsMax: number;
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

const voteAt = async (
  parts: Pick<Stack, 'client' | 'directory' | 'random'>,
  node: { readonly url: string },
): Promise<number> =>
  (await voteForOutsider(parts, { node }, { user: parts.random.pick(parts.directory.users) })).status;

/** Requests the edit; the node dies of it, before or after its answer. */
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
const runEditsOnServers = (seed: number, names: readonly string[]): Promise<EditFigures> =>
  onServers({ seed, nodes: 1 }, async ({ stack }) => {
    const deliveredSecondsMax = await underLoad(stack, 12, () => editRounds(stack, names));
    return { ...(await stack.judge({ rounds: names.length })), deliveredSecondsMax };
  });

const editRounds = async (stack: Stack, names: readonly string[]): Promise<number> => {
  let longest = 0;
  await acknowledged(stack.log, 100);
  for (const [index, name] of names.entries()) {
    longest = Math.max(longest, await editOnce(stack, name, editOf(index)));
    await acknowledged(stack.log, 30);
  }
  return longest;
};

/** Seconds until the node that lives has delivered the edit. */
const editOnce = async (stack: Stack, name: string, edit: Edit): Promise<number> => {
  const { stores } = stack;
  const victim = await stack.open({ program, settings: { CRASH_AT: `${name}:1` } });
  const [living] = stack.alive() as readonly [Life];
  await voteAt(stack, victim.node);
  const before = await inSql(stores);
  await editAndDie(stack, victim.node, edit);
  await stack.kill(victim);
  const diedMs = performance.now();
  const expected = await inSql(stores);
  assert.not.equal(expected, before, `${edit.path} is committed`);
  await until('the hot store has the edit', async () => same(await inHot(stores), expected));
  const seconds = (performance.now() - diedMs) / 1_000;
  await until('votes follow it', async () => edit.answers.includes(await voteAt(stack, living.node)));
  await until('SQL knows of the delivery', async () => (await stores.sql`select from edited`).length === 0);
  return seconds;
};

/* -------------------------------------------------------- embedded stores */

/** One node dies of an edit at each of the points; its next start delivers the edit. */
const runEditsEmbedded = (plan: RunPlan, names: readonly string[]): Promise<Figures> =>
  runEmbedded({ ...plan, rounds: names.length }, async (run) => {
    for (const [index, name] of names.entries()) {
      await loadAndDie(run, name, editOf(index));
      await deliverByNext(run, editOf(index));
    }
    await lastLook(run);
    const stores = await openAtRest(run.dataDir);
    const [sql, hot] = [await inSql(stores), await inHot(stores)];
    await stores.close();
    assert.equal(hot, sql, 'facts at rest');
  });

const loadAndDie = async (run: Run, name: string, edit: Edit): Promise<void> => {
  const crashing = { ADMIN_TOKEN: operatorToken, CRASH_AT: `${name}:1` };
  const node = await openNode(run, { program, settings: crashing });
  const load = startLoad({ ...run, url: node.url });
  await voteAt(run, node);
  await editAndDie(run, node, edit);
  await load.ended;
  endLife(run.log);
};

/** Lives until votes follow the edit and SQL knows of its delivery: the next round dies of its own one. */
const deliverByNext = async (run: Run, edit: Edit): Promise<void> => {
  for (let lives = 0; lives < livesMax; lives++) {
    const node = await openNode(run, { settings: { FLUSH_INTERVAL_MS: '100' } });
    await until('votes follow it', async () => edit.answers.includes(await voteAt(run, node)));
    await sleep(1_000);
    await stopWell(run, node);
    const stores = await openAtRest(run.dataDir);
    const left = await stores.sql`select from edited`;
    await stores.close();
    if (left.length === 0) return;
  }
  throw new Error(`${edit.path} is delivered again and again`);
};
const livesMax = 5;

faultCase(test, {
  title: 'beside another node: that one delivers the edit, and nothing is lost or doubled',
  name: "an edit's node dies",
  counts: { faults: 2 },
  run: ({ seed, count }) => runEditsOnServers(seed, Array.from({ length: count }, () => points).flat()),
});

faultCase(test, {
  title: 'alone: the next start delivers the edit, and nothing is lost or doubled',
  name: "an edit's node dies, embedded",
  run: ({ seed }) => runEditsEmbedded(folders.plan(seed), pointsAlone),
});

test.run();
