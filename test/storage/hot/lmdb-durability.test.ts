/**
 * The embedded hot store between its journal and its tables: what shows when, what survives, what a copy has.
 * Real folders; syncs are held back or made to fail.
 */
import { cpSync, fdatasync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Item } from '../../../engine/entity/items.ts';
import { emptyFacts, emptyTotals } from '../../../engine/entity/state.ts';
import type { HotStore } from '../../../engine/ports.ts';
import { type LmdbOptions, type LmdbStore, openLmdbStore } from '../../../storage/hot/lmdb/store.ts';
import { openTables } from '../../../storage/hot/lmdb/tables.ts';
import { makeFolder } from '../../support/folder.ts';
import { rejection } from '../../support/redis-load.ts';
import { refOf } from '../../support/refs.ts';
import { startMs } from './generate.ts';
import { rules } from './lmdb-child.ts';

const test = suite('the embedded hot store and its journal');

const clock = () => startMs;
const bot = refOf('bot', '77', 1);
const init: Item = {
  kind: 'init',
  target: bot,
  facts: { ...emptyFacts, listed: true },
  totals: emptyTotals,
  row: { generation: 0, version: 0 },
};
const click = (visitor: number): Item => ({ kind: 'click', target: bot, visitor: String(visitor) });
const vote = (number: number): Item => ({
  kind: 'vote',
  target: bot,
  user: `user-${number}`,
  upvote: true,
  atMs: startMs,
  itags: [`vote-${number}`, `vote-${number}-2`],
});
const send = (store: HotStore, sequence: number, ...items: Item[]) =>
  store.commit([{ shard: bot.shard, producer: 'p', sequence, items }], rules);

const openPublished = async (options: Partial<LmdbOptions> & { readonly path: string }) => {
  const store = await openLmdbStore({ clock, ...options });
  await store.publish([{ shard: bot.shard, generation: 1 }]);
  return store;
};
/** What a process that is killed now leaves. */
const copyFolder = (path: string): string => {
  const copy = makeFolder('rollcall-lmdb-killed-');
  cpSync(path, copy, { recursive: true });
  return copy;
};
const readBot = async (store: HotStore) => {
  const [reply] = await store.load([{ kind: 'bot', id: '77' }]);
  return reply?.outcome === 'found' ? reply.state : null;
};
/** A copy needs all of it in the tables. */
const writeTables = (store: LmdbStore) => store.copyInto(makeFolder('rollcall-lmdb-copy-'));
const peekAll = (store: HotStore) => store.peek({ entities: 10, votes: 1_000 });
const flushAll = async (store: HotStore): Promise<void> => {
  const { entities, votes } = await peekAll(store);
  await store.markFlushed({
    entities: entities.map(({ ref, generation, state: { version } }) => ({
      ...{ ref, generation, version },
      flushedVotes: 0,
    })),
    votes: votes.map(({ itag, ref: { shard } }) => ({ itag, shard })),
  });
};

test('nothing shows a change before its record is synced', async () => {
  let release = (): void => {};
  let begun = (): void => {};
  const syncBegun = new Promise<void>((resolve) => (begun = resolve));
  let held = false;
  const sync = async (file: number): Promise<void> => {
    if (held) {
      begun();
      await new Promise<void>((resolve) => (release = resolve));
    }
    await promisify(fdatasync)(file);
  };
  const store = await openPublished({ path: makeFolder('rollcall-lmdb-'), sync });
  await send(store, 1, init);
  await store.markFlushed(await receiptOf(store));
  held = true;

  const sent = send(store, 2, click(1), vote(1));
  await syncBegun;
  for (let turn = 0; turn < 3; turn++) await nextTurn();
  const before = [await readBot(store), await peekAll(store), await store.readVersions([bot.shard])] as const;
  release();
  await sent;
  const { entities, votes } = await peekAll(store);
  await store.close();

  assert.is(before[0]?.clicks, 0);
  assert.equal(before[1], { entities: [], votes: [] });
  assert.is(before[2][0]?.version, 1);
  assert.is(entities[0]?.state.clicks, 1);
  assert.ok(votes.length > 0);
});

const receiptOf = async (store: HotStore) => {
  const { entities, votes } = await peekAll(store);
  return {
    entities: entities.map(({ ref, generation, state }) => {
      return { ref, generation, version: state.version, flushedVotes: state.upvotes };
    }),
    votes: votes.map(({ itag, ref }) => ({ itag, shard: ref.shard })),
  };
};

test('a failed sync: the outcome is unknown, nothing shows it, and the process is told to end', async () => {
  const path = makeFolder('rollcall-lmdb-');
  let fails = false;
  const sync = (file: number) => (fails ? Promise.reject(new Error('EIO')) : promisify(fdatasync)(file));
  const lost: string[] = [];
  const store = await openPublished({
    path,
    sync,
    onLost: (message, error) => lost.push(`${message}: ${error}`),
  });
  await send(store, 1, init, click(1));
  fails = true;

  const failure = await rejection(send(store, 2, click(2)));
  const later = await rejection(send(store, 2, click(3)));
  const killed = await openLmdbStore({ path: copyFolder(path), clock });
  const found = await readBot(killed);
  await killed.close();
  await store.close();

  assert.is(failure.outcome, 'unknown');
  assert.is(later.outcome, 'not_applied');
  assert.is(lost.length, 1);
  assert.match(lost[0] ?? '', /journal .* could not be synced: .*EIO/);
  assert.is(found?.clicks, 1);
});

test('a bot that is read while its shard is published is flushed once', async () => {
  const store = await openPublished({ path: makeFolder('rollcall-lmdb-') });
  await send(store, 1, init);
  await flushAll(store);
  await writeTables(store);
  let isPublished = false;
  const published = store.publish([{ shard: bot.shard, generation: 2 }]).then(() => (isPublished = true));
  while (!isPublished) {
    await readBot(store);
    await nextTurn();
  }
  await published;
  await send(store, 2, click(1));
  await flushAll(store);
  const counted = await store.countBacklog();
  await writeTables(store);
  const listed = await peekAll(store);
  await store.close();

  assert.equal(counted, { entities: 0, votes: 0 });
  assert.equal(listed, { entities: [], votes: [] });
});

test('a cleared shard stays empty, and a published one dirty, after a crash', async () => {
  const path = makeFolder('rollcall-lmdb-');
  const store = await openPublished({ path });
  await send(store, 1, init, click(1), vote(1));
  await store.publish([{ shard: bot.shard, generation: 2 }]);
  const published = await openLmdbStore({ path: copyFolder(path), clock });
  await send(store, 2, click(2));
  const [position] = await store.readVersions([bot.shard]);
  await store.clear([{ shard: bot.shard, generation: 2, version: position?.version ?? 0 }]);
  const cleared = await openLmdbStore({ path: copyFolder(path), clock });

  assert.equal(await published.countBacklog(), { entities: 1, votes: 1 });
  assert.is((await published.readGenerations())[bot.shard], 2);
  assert.is(await readBot(cleared), null);
  assert.equal(await cleared.countBacklog(), { entities: 0, votes: 0 });
  assert.is((await cleared.readGenerations())[bot.shard], 0);
  for (const opened of [store, published, cleared]) await opened.close();
});

test('what is flushed before a checkpoint never gets into the index and the outbox', async () => {
  const path = makeFolder('rollcall-lmdb-');
  const store = await openPublished({ path });
  await send(store, 1, init, click(1), vote(1));
  await store.markFlushed(await receiptOf(store));
  await writeTables(store);

  const tables = await openTables(copyFolder(path));
  const counts = [tables.slots, tables.votes, tables.dirty, tables.outbox].map((table) => table.getCount());
  await tables.root.close();
  await store.close();

  assert.equal(counts, [1, 1, 0, 0]);
});

test('an acknowledged flush survives a checkpoint, and one without is repeated', async () => {
  const path = makeFolder('rollcall-lmdb-');
  const store = await openPublished({ path });
  await send(store, 1, init, vote(1));
  await writeTables(store);
  await store.markFlushed(await receiptOf(store));
  const [killed, counted] = [
    await openLmdbStore({ path: copyFolder(path), clock }),
    await store.countBacklog(),
  ];
  await writeTables(store);
  const later = await openLmdbStore({ path: copyFolder(path), clock });

  assert.equal(counted, { entities: 0, votes: 0 });
  assert.equal(await killed.countBacklog(), { entities: 1, votes: 1 });
  assert.equal(await later.countBacklog(), { entities: 0, votes: 0 });
  assert.is((await readBot(later))?.flushedVotes, 1);
  for (const opened of [store, killed, later]) await opened.close();
});

/** Copies a folder; `null` if one of its files shrank or went meanwhile, which the copy of a file reports. */
const tryCopyFolder = (path: string): string | null => {
  try {
    return copyFolder(path);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EIO' || code === 'ENOENT') return null;
    throw error;
  }
};

/** What a kill during a checkpoint leaves; `null` if a file changed meanwhile: it is of no one moment. */
const copyMoment = (path: string): string | null => {
  const copy = tryCopyFolder(path);
  if (copy === null) return null;
  const [copied, now] = [copy, path].map((folder) => readFileSync(join(folder, 'data.mdb')));
  return copied?.equals(now as Buffer) ? copy : null;
};

test('a process killed at any step of a checkpoint loses nothing', async () => {
  const path = makeFolder('rollcall-lmdb-');
  const store = await openPublished({ path });
  await send(store, 1, init, vote(1));
  // One transaction has at most 1,000 entries.
  for (let sequence = 2; sequence <= 8; sequence++)
    await send(store, sequence, ...Array.from({ length: 700 }, (_, index) => click(sequence * 700 + index)));
  const copies = [copyFolder(path)];
  let ended = false;
  const written = writeTables(store).then(() => (ended = true));
  while (!ended) {
    const copy = copyMoment(path);
    if (copy !== null) copies.push(copy);
    await nextTurn();
  }
  await written;
  copies.push(copyFolder(path));
  await store.close();

  assert.ok(copies.length > 5, `${copies.length} copies`);
  for (const copy of copies) {
    const opened = await openLmdbStore({ path: copy, clock });
    const state = await readBot(opened);
    const backlog = await opened.countBacklog();
    await opened.close();
    assert.equal([state?.clicks, state?.uniqueClicks, state?.upvotes], [4_900, 4_900, 1], copy);
    assert.equal(backlog, { entities: 1, votes: 1 });
  }
});

test('checkpoints that overlap leave no old entry in an index', async () => {
  const path = makeFolder('rollcall-lmdb-');
  // Commits are quicker than the tables.
  const store = await openPublished({ path, sync: async () => {} });
  await send(store, 1, init, click(1));
  const first = writeTables(store);
  await store.markFlushed(await receiptOf(store));
  const second = writeTables(store);
  await send(store, 2, click(2));
  await Promise.all([first, second]);
  await store.markFlushed(await receiptOf(store));
  await writeTables(store);
  const tables = await openTables(copyFolder(path));
  const dirty = [...tables.dirty.getKeys({})];
  await tables.root.close();
  await store.close();

  assert.equal(dirty, []);
});

test('a move reads what is only in the journal', async () => {
  const store = await openPublished({ path: makeFolder('rollcall-lmdb-') });
  await send(store, 1, init, click(1), vote(1));
  const kinds: string[] = [];
  let entries = 0;
  const chunks = store.transfer.readRecords((count) => {
    entries += count;
  });
  for await (const records of chunks) kinds.push(...records.map(({ kind }) => kind));
  const expected = await store.transfer.countEntries();
  await send(store, 2, click(2), vote(2));
  const more = await store.transfer.countEntries();
  await store.close();

  assert.equal(kinds.sort(), ['state', 'visitors', 'votes']);
  assert.equal([entries, expected, more], [3, 3, 5]);
});

/** Commits until it is stopped; counts what was acknowledged. */
const startLoad = (store: LmdbStore) => {
  const load = { acknowledged: 0, stopped: false };
  const run = async (): Promise<void> => {
    while (!load.stopped) {
      await send(store, load.acknowledged + 2, click(load.acknowledged), vote(load.acknowledged));
      load.acknowledged++;
    }
  };
  return { load, ended: run() };
};

test('a copy under load has all that was acknowledged before it began, and needs no journal', async () => {
  const store = await openPublished({ path: makeFolder('rollcall-lmdb-'), checkpointBytes: 2_000 });
  await send(store, 1, init);
  const { load, ended } = startLoad(store);
  for (let round = 0; round < 5; round++) {
    const from = load.acknowledged + 20;
    while (load.acknowledged < from) await nextTurn();
    const folder = makeFolder('rollcall-lmdb-copy-');
    const before = load.acknowledged;
    await store.copyInto(folder);
    const after = load.acknowledged;
    const copy = await openLmdbStore({ path: folder, clock });
    const state = await readBot(copy);
    const { votes } = await peekAll(copy);
    await copy.close();

    assert.ok(state && state.clicks >= before && state.clicks <= after + 1, `${before} ${state?.clicks}`);
    assert.equal([state.uniqueClicks, state.upvotes], [state.clicks, state.clicks]);
    assert.is(new Set(votes.map(({ itag }) => itag)).size, Math.min(1_000, state.upvotes));
    assert.equal(readdirSync(join(folder, 'journal')), ['1.log']);
  }
  load.stopped = true;
  await ended;
  await store.close();
});

test('checkpoints under load leave at most two files, and none of them grows', async () => {
  const path = makeFolder('rollcall-lmdb-');
  const store = await openPublished({ path, checkpointBytes: 4_000 });
  await send(store, 1, init);
  const { load, ended } = startLoad(store);
  let filesMax = 0;
  while (load.acknowledged < 400) {
    filesMax = Math.max(filesMax, readdirSync(join(path, 'journal')).length);
    await nextTurn();
  }
  load.stopped = true;
  await ended;
  await store.close();

  assert.ok(filesMax <= 2, `${filesMax} files`);
  assert.is(readdirSync(join(path, 'journal')).length, 1);
  const opened = await openLmdbStore({ path, clock });
  assert.is((await readBot(opened))?.clicks, load.acknowledged);
  await opened.close();
});

test.run();
