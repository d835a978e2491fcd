/**
 * An import through a node that serves: how much longer it takes than without the node, how long requests
 * wait beside it, and what becomes of it when it is interrupted, the node stops, or somebody else imports.
 *
 * Time limit: 900 s.
 */
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { bot, linesOf, pack, platformId, team, user, vote } from '../../storage/import/store.ts';
import { makeFolder } from '../../support/folder.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';
import { type OpsOptions, runOps } from '../../support/ops-process.ts';
import { makeBareFolder } from '../../support/sql-template.ts';
import { faultCase } from '../harness/fault-case.ts';

const test = suite('an import beside a node');
const folder = makeFolder('rollcall-import-');

interface Sizes {
  readonly bots: number;
  readonly votes: number;
}
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** A directory of so many users and bots, with 200 teams and packs, and votes of two years. */
const writeDirectory = (name: string, { bots, votes }: Sizes): string => {
  const file = join(folder, name);
  const timeOf = (n: number): string => new Date(Date.UTC(2024, n % 24, 1 + (n % 28), n % 24)).toISOString();
  const lines = linesOf(
    ...numbers(bots).map((n) => user(n + 1)),
    ...numbers(200).map((n) => team(`team-${n}`, 1 + n)),
    ...numbers(bots).map((n) =>
      bot(1_000_000 + n, {
        ...{ owner: platformId(1 + n), type: 'approved', user: { username: `Bot ${n}` } },
        ...{ created_at: timeOf(n), upvotes: 60 },
      }),
    ),
    ...numbers(200).map((n) => pack(`pack-${n}`, { bot_ids: [platformId(1_000_000 + n)] })),
    ...numbers(votes).map((n) =>
      vote(1_000_000 + (n % bots), 2_000_000 + Math.floor(n / bots), { created_at: timeOf(n) }),
    ),
  );
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
};

const startBare = async (name: string): Promise<{ node: StartedNode; dataDir: string }> => {
  const dataDir = join(folder, name);
  await makeBareFolder(dataDir);
  return { dataDir, node: await startNode({ dataDir }) };
};
const ops = (dataDir: string, node: StartedNode, args: readonly string[], options: OpsOptions = {}) =>
  runOps(dataDir, args, { ...options, settings: { ADMIN_PORT: new URL(node.adminUrl).port } });

/** Reads the list of bots again and again; ends with the times and the number of failures. */
const readBeside = (url: string) => {
  const times: number[] = [];
  let failures = 0;
  let goesOn = true;
  const ended = (async () => {
    while (goesOn) {
      const fromMs = performance.now();
      const reply = await fetch(`${url}/bots/@all`).catch(() => null);
      if (reply?.status !== 200) failures++;
      await reply?.text();
      times.push(performance.now() - fromMs);
      await sleep(20);
    }
  })();
  return async () => {
    goesOn = false;
    await ended;
    times.sort((a, b) => a - b);
    return { p99: times[Math.floor(times.length * 0.99)] ?? 0, failures, requests: times.length };
  };
};

const measure = async (sizes: Sizes) => {
  const file = writeDirectory('measured.jsonl', sizes);
  const stopped = join(folder, 'stopped');
  await makeBareFolder(stopped);
  const alone = await runOps(stopped, ['import', file, '--json']);
  const { node, dataDir } = await startBare('beside');
  const stopReading = readBeside(node.url);
  const beside = await ops(dataDir, node, ['import', file, '--json']);
  const { p99, failures, requests } = await stopReading();
  const failedJobs = node.output().match(/a job failed/g)?.length ?? 0;
  await node.stop();
  assert.equal([alone.code, beside.code], [0, 0], alone.err + beside.err);
  const [one, other] = [JSON.parse(alone.out), JSON.parse(beside.out)];
  assert.equal(other.added, one.added);
  assert.is(one.added.vote, sizes.votes);
  return {
    lines: one.linesDone,
    secondsAlone: one.milliseconds / 1_000,
    secondsBeside: other.milliseconds / 1_000,
    ...{ p99Ms: p99, requests, failedRequests: failures, failedJobs },
  };
};

faultCase(test, {
  title: 'through a node it takes at most twice the time, requests wait little, and no job fails',
  name: 'import beside a node',
  counts: { faults: 60_000 },
  once: true,
  run: async ({ count }) => {
    const figures = await measure({ bots: 5_000, votes: count });
    const ratio = figures.secondsBeside / figures.secondsAlone;
    console.log(`\nfigures: ${JSON.stringify({ name: 'import beside a node', ...figures, ratio })}`);
    assert.ok(ratio <= 2, `${ratio} times as long`);
    assert.ok(figures.p99Ms <= 250, `p99 ${figures.p99Ms} ms`);
    assert.equal([figures.failedRequests, figures.failedJobs], [0, 0]);
    return figures;
  },
});

/** Resolves when the node has some of the file, and not all. */
const isUnderWay = async (dataDir: string, node: StartedNode): Promise<void> => {
  for (;;) {
    const { out } = await ops(dataDir, node, ['users', 'list', '--json']);
    if (JSON.parse(out).total > 300) return;
  }
};

faultCase(test, {
  title: 'interrupted, beside another one, a backup and flushes, or with the node stopped, it loses nothing',
  name: 'import disturbed',
  once: true,
  run: async () => {
    const file = writeDirectory('disturbed.jsonl', { bots: 3_000, votes: 5_000 });
    const { node, dataDir } = await startBare('disturbed');
    const children: ChildProcess[] = [];
    const first = ops(dataDir, node, ['import', file], { onStart: (child) => void children.push(child) });
    await isUnderWay(dataDir, node);
    const second = await ops(dataDir, node, ['import', file]);
    children[0]?.kill('SIGINT');
    const interrupted = await first;
    const audited = JSON.parse((await ops(dataDir, node, ['audit', 'list', '--json'])).out).entries[0];

    const third = ops(dataDir, node, ['import', file]);
    await sleep(1_500);
    const backup = await ops(dataDir, node, ['backup', join(folder, 'backup')]);
    await node.stop();
    const cut = await third;

    const again = await startNode({ dataDir });
    const last = await ops(dataDir, again, ['import', file, '--json']);
    const exported = await ops(dataDir, again, ['export', '-']);
    await again.stop();
    const restored = join(folder, 'restored');
    const restore = await runOps(restored, ['restore', join(folder, 'backup')]);

    assert.match(second.err, /Another import is in progress at this node/);
    assert.is(interrupted.code, 130, interrupted.err);
    assert.match(interrupted.out, /interrupted: run the same command again; what is there already stays/);
    assert.equal([audited.operation, audited.outcome], ['stores import', 'interrupted']);
    assert.equal([backup.code, restore.code], [0, 0], backup.err + restore.err);
    assert.is(cut.code, 1, cut.out);
    assert.match(cut.err, /No node answers at|The node refuses: /);
    assert.is(last.code, 0, last.err);
    const counted = (kind: string) => exported.out.split(`\n{"kind":"${kind}"`).length - 1;
    assert.equal(['bot', 'pack', 'vote'].map(counted), [3_000, 200, 5_000]);
    return { interrupted: 1, refused: 1, cut: 1 };
  },
});

test.run();
