/**
 * Goes through the named crash points: a node dies at each, on both sides, the next one on the same folder
 * must find everything as promised.
 *
 * Prepares two folders once and starts every point from a copy: one that no node has opened yet, and one
 * that has lived, with votes voided, a listing deleted and one edited in SQL but not yet in the hot store.
 * Time limit: 2400 s.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { endLife } from '../../../bench/prove/client-log.ts';
import { deleteListing } from '../../../storage/ledger/adjust.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { voidVote } from '../../../storage/ledger/void-votes.ts';
import {
  copyDataFolder,
  type Directory,
  directoryOf,
  makeDataFolder,
  openAtRest,
  tokenOf,
} from '../../support/directory.ts';
import { type NodeProcess, type StartedNode, spawnNode, startNode } from '../../support/node-process.ts';
import { type CrashPoint, crashPoints, hotVerbs, ledgerVerbs } from '../harness/crash-points.ts';
import { lastLook, type Run, read, runEmbedded, settings } from '../harness/embedded-run.ts';
import { countOf, faultCase } from '../harness/fault-case.ts';
import { addRuns, type Figures } from '../harness/figures.ts';
import { startLoad } from '../harness/load.ts';

const test = suite('crash points');

const program = fileURLToPath(new URL('../harness/crash-main.ts', import.meta.url));
const sizes = { users: 60, bots: 8, servers: 2, teams: 2, packs: 5 };
/** Not part of the load: of its votes some are void, and the hot store does not know. */
const voidedPack = 'pack-2';
const votersOfVoided = 6;
const voids = 3;
/** Deleted in SQL, and the hot store does not know. */
const deletedPack = 'pack-3';
/** Votes for it are banned, and the hot store does not know. */
const bannedPack = 'pack-4';

interface CrashFolders {
  readonly fresh: string;
  readonly lived: string;
  /** What the load may touch. */
  readonly directory: Directory;
  remove(): void;
}

const prepareFolders = async (): Promise<CrashFolders> => {
  const parent = mkdtempSync(join(tmpdir(), 'rollcall-crash-'));
  const [fresh, lived] = [join(parent, 'fresh'), join(parent, 'lived')];
  const whole = await makeDataFolder(fresh, sizes);
  copyDataFolder(fresh, lived);
  const node = await startNode({ dataDir: lived, settings });
  await castVotes(node, whole).finally(() => node.stop());
  await decideInSql(lived);
  const left = directoryOf({ ...sizes, packs: 2 });
  return { fresh, lived, directory: left, remove: () => rmSync(parent, { recursive: true, force: true }) };
};

const castVotes = async ({ url }: StartedNode, { users }: Directory): Promise<void> => {
  for (const user of users.slice(0, votersOfVoided)) {
    for (const pack of [voidedPack, deletedPack, bannedPack]) {
      assert.is(await voteFor(url, pack, user), 204);
    }
  }
};

const voteFor = async (url: string, pack: string, user: string): Promise<number> => {
  const headers = { 'User-Auth': tokenOf('user', user) };
  const path = `${url}/users/${user}/packs/${pack}/votes?upvote=true`;
  return (await fetch(path, { method: 'PUT', headers })).status;
};

const decideInSql = async (dataDir: string): Promise<void> => {
  const { sql, close } = await openAtRest(dataDir);
  const votes = await sql<{ itag: string }[]>`
    select itag from votes where target_id = ${voidedPack} and vote_num = 0 order by author limit ${voids}`;
  for (const { itag } of votes) await voidVote(sql, itag, 'operator');
  await sql.begin((transaction) => deleteListing(transaction, { kind: 'pack', id: deletedPack }));
  await sql`update packs set vote_banned = true, revision = revision + 1 where url = ${bannedPack}`;
  await close();
};

/** Dies at the point, then proves the folder. Throws when the point is never passed, or anything is wrong. */
const runCrash = async (folders: CrashFolders, point: CrashPoint, seed: number): Promise<Figures> => {
  const fresh = point.situation === 'first start';
  const dataDir = copyDataFolder(fresh ? folders.fresh : folders.lived, join(folders.fresh, '..', 'copy'));
  try {
    const plan = { dataDir, directory: folders.directory, connections: 16, seed };
    return await runEmbedded(plan, async (run) => {
      await dieAt(run, point);
      const deadLetters = await lastLook(run, fresh ? undefined : waitForDecisions);
      // A crash right after the dead letter is stored: SQL may still accept that row.
      const expected = point.situation === 'poisoned' ? 1 : 0;
      if (deadLetters > expected) run.wrong.push(`${deadLetters} dead letters`);
    });
  } catch (error) {
    throw new Error(`${point.name}: ${(error as Error).message}`, { cause: error });
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
};

/** Passed once per life, or a few times at most: the first passage is the one. */
const seldom = /generation|positions|publish|adjust|forget|deadLetter|init|facts|markEditsSent/i;
/** Passed many times a second. */
const often = /commit/;
const passageOf = (name: string, { random }: Run): number =>
  1 + (seldom.test(name) ? 0 : random.below(often.test(name) ? 40 : 3));

const crashMsMax = 90_000;

const dieAt = async (run: Run, { name, situation }: CrashPoint): Promise<void> => {
  const poison: Record<string, string> =
    situation === 'poisoned' ? { POISON_USER: run.directory.users[0] ?? '' } : {};
  const node = spawnNode({
    dataDir: run.dataDir,
    program,
    settings: { ...settings, ...poison, CRASH_AT: `${name}:${passageOf(name, run)}` },
  });
  const late = AbortSignal.timeout(crashMsMax);
  try {
    await Promise.race([loadUntilDeath(run, node), rejectOn(late, `${name} was not passed`)]);
  } finally {
    await node.kill();
  }
  endLife(run.log);
};

const rejectOn = (signal: AbortSignal, message: string): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error(message))));

const loadUntilDeath = async (run: Run, node: NodeProcess): Promise<void> => {
  const started = await Promise.race([node.ready, node.exited.then(() => null)]).catch(() => null);
  if (started !== null) await startLoad({ ...run, url: started.url }).ended;
  const { code, signal } = await node.exited;
  assert.is(signal, 'SIGKILL', `ended by itself with ${code}:\n${node.output()}`);
};

/** The hot store applies void votes once, the deletion and the edit, however often they are delivered. */
const waitForDecisions = async ({ url }: StartedNode): Promise<void> => {
  for (let left = 100; left > 0; left--) {
    const { votes } = await read<{ votes: number }>(`${url}/packs/${voidedPack}`);
    const { status } = await fetch(`${url}/packs/${deletedPack}`);
    // On weekends a request is two votes; one of them is void.
    const perUser = (await read<VoteStatus>(`${url}/users/1/packs/${voidedPack}/votes`)).vote_info.per_user;
    const delivered = votes === votersOfVoided * perUser - voids && status === 404;
    if (delivered && (await voteFor(url, bannedPack, directoryOf(sizes).users[0] ?? '')) === 403) return;
    await sleep(100);
  }
  throw new Error('the hot store never got the void votes, the deletion and the edit');
};
interface VoteStatus {
  readonly vote_info: { readonly per_user: number };
}

/** Functions of the stores that the engine does not call, or that answer from memory. */
const others: ReadonlySet<string> = new Set([
  ...[
    'toCommitQueue',
    'countShards',
    'useShardCount',
    'copyInto',
    'listShardCounts',
    'listWarnings',
    'describeFullDisk',
  ],
]);

/** Names of the verbs that the real ports have, sorted. */
const verbsOfPorts = async (folders: CrashFolders) => {
  const { hot, sql, close } = await openAtRest(folders.fresh);
  const verbsOf = (port: object): string[] =>
    Object.entries(port).flatMap(([name, value]) =>
      typeof value === 'function' && !others.has(name) ? [name] : [],
    );
  const verbs = { hot: verbsOf(hot).sort(), ledger: verbsOf(createLedger(sql)).sort() };
  await close();
  return verbs;
};

const few = ['after-hot.markFlushed', 'after-hot.commit.adjust'];
const all = countOf({ quick: few.length, faults: crashPoints.length }) === crashPoints.length;
const chosen = crashPoints.filter(({ name }) => all || few.includes(name));

let folders: CrashFolders;
test.before(async () => {
  folders = await prepareFolders();
});
test.after(() => folders.remove());

test('the list of points knows every verb of both ports', async () => {
  const { hot, ledger } = await verbsOfPorts(folders);

  assert.equal(hot, Object.keys(hotVerbs).sort());
  assert.equal(ledger, Object.keys(ledgerVerbs).sort());
});

faultCase(test, {
  title: 'a crash at any point, before or after, loses nothing and counts nothing twice',
  name: 'crash points',
  counts: { quick: chosen.length, faults: chosen.length },
  // Minutes for all points: one round of them, each with a seed of its own.
  once: true,
  run: ({ seed }) =>
    addRuns([...chosen.entries()], ([index, point]) => runCrash(folders, point, seed + index)),
});

test.run();
