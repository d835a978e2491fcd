/**
 * A disk whose every sync takes 10 ms longer, by a preloaded library, under 50 posts and 5 edits a second:
 * reads that need SQL are answered in 100 ms (p99), also during a checkpoint of SQL. Time limit: 600 s.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { percentile } from '../../../bench/report/statistics.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { tokenOf } from '../../support/directory.ts';
import { type FaultyDisk, openFaultyDisk } from '../../support/faulty-disk.ts';
import type { StartedNode } from '../../support/node-process.ts';
import { openNode, type Run, type RunPlan, runEmbedded, stopWell } from '../harness/embedded-run.ts';
import { faultCase, skip } from '../harness/fault-case.ts';
import { useTemplate } from '../harness/plans.ts';

const test = suite('slow syncs');
const folders = useTemplate(test);

const syncDelayMs = 10;
const readMsP99Max = 100;
/** 50 posts, 20 reads and 5 edits a second. */
const [postEveryMs, readEveryMs, editEveryMs] = [20, 50, 200];
/** Random, so that the log of SQL grows to a checkpoint in about two minutes. */
const longCharacters = 60_000;
const secondsMin = 30;
const secondsMax = 400;

type Send = (index: number) => Promise<void>;

/** Calls it at each time that is due, whether or not earlier calls ended. */
const repeat = (everyMs: number, send: Send): (() => Promise<void>) => {
  const sent: Promise<void>[] = [];
  const timer = setInterval(() => sent.push(send(sent.length)), everyMs);
  return async () => {
    clearInterval(timer);
    await Promise.all(sent);
  };
};

const createSends = ({ client, directory: { bots, users } }: Run, { url }: StartedNode) => {
  const times = { reads: [] as number[], edits: [] as number[], posts: [] as number[] };
  const pick = (list: readonly string[], index: number): string => list[index % list.length] ?? '';
  const ask = async (into: number[], path: string, options: object = {}): Promise<void> => {
    const startedMs = performance.now();
    const answer = await client.ask(`${url}${path}`, options);
    into.push(performance.now() - startedMs);
    assertIncludes([200, 204], answer.status, `${path}: ${answer.status} ${answer.text}`);
  };
  const asBot = (index: number, method: string, body: object) => {
    const headers = { 'Bot-Auth': tokenOf('bot', pick(bots, index)), 'Content-Type': 'application/json' };
    return { method, headers, body: JSON.stringify(body) };
  };
  return {
    times,
    post: (index: number) => ask(times.posts, '/bots/stats', asBot(index, 'POST', { servers: index })),
    edit: (index: number) => {
      const long = randomBytes((longCharacters * 3) / 4).toString('base64');
      return ask(times.edits, `/bots/${pick(bots, index)}/settings`, asBot(index, 'PATCH', { long }));
    },
    read: (index: number) =>
      ask(times.reads, `/users/${pick(users, index)}/bots/${pick(bots, index)}/votes/@all`),
  };
};

const runSlow = (plan: RunPlan, disk: FaultyDisk) =>
  runEmbedded(plan, async (run) => {
    disk.plant('', {});
    const node = await openNode(run, { settings: disk.environment });
    const { times, post, edit, read } = createSends(run, node);
    const readControl = () => readFileSync(join(run.dataDir, 'postgres/global/pg_control'), 'base64');
    await Promise.all([read(0), post(0), edit(0)]);
    for (const list of Object.values(times)) list.length = 0;
    disk.plant(run.dataDir, { syncDelayMs });
    const before = readControl();
    const stops = [repeat(postEveryMs, post), repeat(readEveryMs, read), repeat(editEveryMs, edit)];
    let seconds = 0;
    for (; seconds < secondsMin || readControl() === before; seconds++) {
      assert.ok(seconds < secondsMax, 'no checkpoint was completed');
      await sleep(1_000);
    }
    await Promise.all(stops.map((stop) => stop()));
    disk.plant('', {});
    await stopWell(run, node);
    const readMsP99 = percentile(times.reads, 0.99);
    const figures = {
      reads: times.reads.length,
      readMsP99Max: readMsP99,
      editMsP99Max: percentile(times.edits, 0.99),
    };
    assert.ok(readMsP99 <= readMsP99Max, JSON.stringify(figures));
    return { ...figures, postMsP99Max: percentile(times.posts, 0.99) };
  });

faultCase(test, {
  title: 'reads that need SQL are answered in 100 ms while each sync takes 10 ms longer',
  name: 'slow syncs',
  run: async ({ seed }) => {
    const disk = openFaultyDisk();
    return disk === null ? skip('slow syncs', 'no gcc, or not Linux') : runSlow(folders.plan(seed), disk);
  },
});

test.run();
