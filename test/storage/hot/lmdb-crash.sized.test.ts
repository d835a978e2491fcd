/**
 * Generated sequences on the embedded hot store, copied as a crash would leave it: between calls, and within
 * a commit, before and after its record is whole. Checkpoints run all the time.
 *
 * A crash may undo acknowledgements of flushes: the backlog of a copy may have more than the model.
 */
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import type { HotStore } from '../../../engine/ports.ts';
import { openLmdbStore } from '../../../storage/hot/lmdb/store.ts';
import { createHotModel } from '../../model/hot-model.ts';
import { makeFolder } from '../../support/folder.ts';
import { isLoop } from '../../support/test-group.ts';
import { generate, names, type Operation, rules, startMs, usedShards, voters } from './generate.ts';

const test = suite('the embedded hot store after a crash');

const requests = names.flatMap((name) => [name, ...voters.map((voter) => ({ ...name, voter }))]);
const bots = names.filter(({ kind }) => kind === 'bot');

/** What must survive. */
const observe = async (store: HotStore) => ({
  loads: (await store.load(requests)).map((reply) =>
    reply.outcome === 'found' ? { ...reply, state: { ...reply.state, flushedVotes: 0 } } : reply,
  ),
  versions: await store.readVersions(usedShards),
  generations: await store.readGenerations(),
  parts: await Promise.all(
    bots.map(async ({ id }) => (await store.readParts({ id, fromId: 0, limit: 100 }))?.parts),
  ),
  due: (await store.listDueParts(usedShards, 100)).map(({ address }) => address).sort(),
});
type Observed = Awaited<ReturnType<typeof observe>>;

const listBacklog = async (store: HotStore) => {
  const { entities, votes } = await store.peek({
    entities: 1_000,
    votes: 1_000,
    shards: usedShards,
  });
  const size = await store.countBacklog();
  assert.equal(size, { entities: entities.length, votes: votes.length }, 'the size of the backlog');
  return new Set([...entities.map(({ ref }) => ref.address), ...votes.map(({ itag }) => itag)]);
};

interface Run {
  readonly path: string;
  readonly clock: () => number;
  readonly store: HotStore;
  readonly random: ReturnType<typeof createRandom>;
  /** Copies of the folder, and what each must show. */
  readonly copies: { readonly path: string; readonly when: 'before' | 'after' }[];
}

const copyFolder = ({ path, copies }: Run, when: 'before' | 'after'): string => {
  const copy = `${path}-${when}-${copies.length}`;
  cpSync(path, copy, { recursive: true });
  copies.push({ path: copy, when });
  return copy;
};

/** The newest file of the journal. */
const findNewest = (folder: string): string => {
  const names = readdirSync(join(folder, 'journal'));
  const [newest = ''] = names.sort((left, right) => Number.parseInt(right, 10) - Number.parseInt(left, 10));
  return join(folder, 'journal', newest);
};

/** Bytes of records: none of them ends with a zero. */
const measureRecords = (file: string): number => readFileSync(file).findLastIndex((byte) => byte !== 0) + 1;

/** Copies the folder while a record is not synced: with all of it, and with a part, or with zeros instead. */
const copyUnsynced = (run: Run, syncedBytes: number): void => {
  copyFolder(run, 'after');
  const newest = findNewest(copyFolder(run, 'before'));
  const from = syncedBytes + run.random.below(measureRecords(newest) - syncedBytes);
  if (run.random.below(2) === 0) truncateSync(newest, from);
  else writeFileSync(newest, readFileSync(newest).fill(0, from));
};

const perform = (store: HotStore, operation: Operation, nowMs: number): Promise<unknown> => {
  if (operation.verb === 'commit') return store.commit(operation.batches, rules);
  if (operation.verb === 'publish') return store.publish(operation.generations);
  if (operation.verb === 'settled') return store.markFlushed(operation.receipt);
  if (operation.verb === 'clear') return store.clear(operation.places);
  return operation.verb === 'sweep' ? store.sweep(nowMs) : Promise.resolve();
};

const assertCopies = async (run: Run, model: HotStore, before: Observed): Promise<void> => {
  const after = await observe(model);
  const backlog = await listBacklog(model);
  for (const { path, when } of run.copies.splice(0)) {
    const copy = await openLmdbStore({ path, clock: run.clock });
    assert.equal(await observe(copy), when === 'before' ? before : after, when);
    const found = await listBacklog(copy);
    if (when === 'after') for (const name of backlog) assert.ok(found.has(name), `${name} is in no flush`);
    await copy.close();
    rmSync(path, { recursive: true });
  }
};

const runSeed = async (seed: number, operations: number): Promise<void> => {
  let nowMs = startMs;
  const clock = () => nowMs;
  const path = makeFolder('rollcall-lmdb-crash-');
  const random = createRandom(seed);
  let copiesUnsynced = false;
  const sync = async (): Promise<void> => {
    if (copiesUnsynced) copyUnsynced(run, syncedBytes.get(findNewest(path)) ?? 0);
    syncedBytes.set(findNewest(path), measureRecords(findNewest(path)));
  };
  const syncedBytes = new Map<string, number>();
  const store = await openLmdbStore({ path, clock, sync, checkpointBytes: 1 + random.below(3_000) });
  const run: Run = { path, clock, store, random, copies: [] };
  const model = createHotModel({ clock });
  const generator = generate(seed, model);
  for (let number = 0; number < operations; number++) {
    const operation = generator.next(nowMs);
    if (operation.verb === 'wait') nowMs += operation.milliseconds;
    const before = await observe(model);
    copiesUnsynced = random.below(4) === 0;
    try {
      await Promise.all([perform(store, operation, nowMs), perform(model, operation, nowMs)]);
      if (random.below(4) === 0) copyFolder(run, 'after');
      await assertCopies(run, model, before);
    } catch (error) {
      throw new Error(`seed ${seed}, step ${number}: ${error} ${(error as { details?: string }).details}`);
    }
  }
  await store.close();
  copyFolder(run, 'after');
  await assertCopies(run, model, await observe(model));
};

test('a copy of the folder at any moment has every acknowledged change, and no half of one', async () => {
  const first = 1 + Math.floor(Math.random() * 1e9);
  for (let index = 0; index < (isLoop ? 2 : 12); index++) await runSeed(first + index, 120);
});

test.run();
