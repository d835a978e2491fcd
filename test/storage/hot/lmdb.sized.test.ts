/**
 * The LMDB hot store: the conformance suite, reopening in the middle, kill -9, full disks, what lies on disk.
 * Real folders and a real child process.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import * as assert from 'uvu/assert';
import type { Item } from '../../../engine/entity/items.ts';
import { emptyFacts, emptyTotals } from '../../../engine/entity/state.ts';
import type { StorageError } from '../../../engine/errors.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import type { HotStore } from '../../../engine/ports.ts';
import { toSlotKey } from '../../../storage/hot/lmdb/keys.ts';
import { type LmdbStore, openLmdbStore } from '../../../storage/hot/lmdb/store.ts';
import { openTables, type Tables } from '../../../storage/hot/lmdb/tables.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { assertNoNote, assertNote } from '../../support/notes.ts';
import { rejection } from '../../support/redis-load.ts';
import { refOf } from '../../support/refs.ts';
import { isLoop } from '../../support/test-group.ts';
import { conformance, type OpenedStore } from './conformance.ts';
import { startMs } from './generate.ts';
import { clicksPerBatch, initOf, producer, rules, targets } from './lmdb-child.ts';

const inFolder = async (use: (path: string) => Promise<void>): Promise<void> => {
  const path = await mkdtemp(join(tmpdir(), 'rollcall-lmdb-'));
  try {
    await use(path);
  } finally {
    await rm(path, { recursive: true });
  }
};

let opens = 0;
/** Every second store moves each commit into its tables at once, while the next ones run. */
const open = async (clock: () => number): Promise<OpenedStore> => {
  const path = await mkdtemp(join(tmpdir(), 'rollcall-lmdb-'));
  const options = { path, clock, checkpointBytes: opens++ % 2 === 0 ? 2 ** 24 : 1 };
  const openStore = (): Promise<LmdbStore> => openLmdbStore(options);
  const opened: OpenedStore = {
    store: await openStore(),
    async reopen() {
      await opened.store.close();
      return openStore();
    },
    newerRecords: {
      write: (ref) =>
        useSlots(
          ref,
          async (slots, key) => void (await slots.put(key, [...(slots.get(key) ?? []), ...newer])),
        ),
      isUnchanged: (ref) => useSlots(ref, async (slots, key) => slots.get(key)?.at(-1) === newer.at(-1)),
    },
    async dispose() {
      await opened.store.close();
      await rm(path, { recursive: true });
    },
  };
  const useSlots = async <Result>(
    ref: EntityRef,
    task: (slots: Tables['slots'], key: string) => Promise<Result>,
  ): Promise<Result> => {
    await opened.store.close();
    const tables = await openTables(path);
    const result = await task(tables.slots, toSlotKey(ref.shard, ref.address));
    await tables.root.close();
    opened.store = await openLmdbStore({ path, clock });
    return result;
  };
  return opened;
};
/** More values than a record of this version has. */
const newer = Array(20).fill('later');

const test = conformance('lmdb', { open, sequences: isLoop ? 8 : 40, operationsPerSequence: 120 });

const clock = () => startMs;
const bot = refOf('bot', '77', 1);
const openPublished = async (path: string, options: { sizeMaxBytes?: number } = {}): Promise<HotStore> => {
  const store = await openLmdbStore({ path, clock, ...options });
  await store.publish([{ shard: bot.shard, generation: 1 }]);
  return store;
};
const send = (store: HotStore, sequence: number, ...items: Item[]) =>
  store.commit([{ shard: bot.shard, producer: 'p', sequence, items }], rules);
const clicks = (count: number, from = 0): Item[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: 'click',
    target: bot,
    visitor: String(from + index),
  }));

test('a folder of another format is refused with a clear message', () =>
  inFolder(async (path) => {
    const tables = await openTables(path);
    await tables.meta.put('format', 99);
    await tables.root.close();

    assert.match(
      (await rejection(openLmdbStore({ path, clock }))).message,
      /was made by format 99; this program knows 1/,
    );
  }));

test('a closed store refuses every call, and can be closed twice', () =>
  inFolder(async (path) => {
    const store = await openPublished(path);
    await store.close();
    await store.close();

    assert.is((await rejection(send(store, 1, initOf(bot)))).reason, 'closed');
    assert.is((await rejection(store.load([]))).reason, 'closed');
  }));

test('concurrent writing calls run one at a time', () =>
  inFolder(async (path) => {
    const store = await openPublished(path);
    const first = send(store, 1, initOf(bot), ...clicks(3));
    const [second] = await Promise.allSettled([
      send(store, 2),
      store.sweep(startMs),
      store.publish([{ shard: bot.shard, generation: 4 }]),
      store.markFlushed({ entities: [{ ref: bot, generation: 4, version: 1, flushedVotes: 0 }], votes: [] }),
    ]);

    assert.is(second?.status, 'rejected', 'one commit at a time');
    assert.is((await first)[0]?.lastSequence, 1);
    assert.is((await store.readGenerations())[bot.shard], 4);
    assert.equal(await store.countBacklog(), { entities: 0, votes: 0 });
    await store.close();
  }));

test('forgetting removes visitors and parts at once', () =>
  inFolder(async (path) => {
    const store = await openPublished(path);
    const parts = [{ id: 0 }, { id: 1 }];
    const post: Item = { kind: 'parts', target: bot, atMs: startMs, shardCount: 3, parts };
    await send(store, 1, initOf(bot), post, ...clicks(1_000));
    await send(store, 2, { kind: 'forget', target: bot });
    await store.close();

    const tables = await openTables(path);
    assert.equal([tables.visitors.getCount(), tables.parts.getCount()], [0, 0]);
    await tables.root.close();
  }));

test('sweeping removes expired votes and producers from the disk', () =>
  inFolder(async (path) => {
    const store = await openPublished(path);
    const facts = { ...emptyFacts, listed: true };
    const init: Item = {
      ...initOf(bot),
      kind: 'init',
      target: bot,
      facts,
      totals: emptyTotals,
      row: { generation: 0, version: 0 },
    };
    await send(store, 1, init, {
      kind: 'vote',
      target: bot,
      user: '1',
      upvote: true,
      atMs: startMs,
      itags: ['a', 'b'],
    });
    await store.sweep(startMs + 30 * 86_400_000);
    await store.close();

    const tables = await openTables(path);
    assert.equal([tables.votes.getCount(), tables.producers.getCount(), tables.outbox.getCount()], [0, 0, 1]);
    await tables.root.close();
  }));

test('a bug in one item rejects the call before anything is written', () =>
  inFolder(async (path) => {
    const store = await openPublished(path);
    await send(store, 1, initOf(bot));
    const long = refOf('bot', 'x'.repeat(5_000), 1);
    const faulty: Item[] = [
      { ...initOf(bot), target: { ...long, shard: bot.shard } },
      { ...initOf(bot), target: refOf('bot', 'in another shard', 1) },
      { kind: 'click', target: bot, visitor: 'not a number' },
    ];
    for (const item of faulty) {
      const failure = await rejection(send(store, 2, ...clicks(2), item));
      assert.equal([failure.reason, failure.outcome], ['bug', 'not_applied']);
    }
    const longProducer = { shard: bot.shard, producer: 'p'.repeat(5_000), sequence: 1, items: clicks(1) };
    assert.is((await rejection(store.commit([longProducer], rules))).outcome, 'not_applied');

    const [reply] = await send(store, 2, ...clicks(2));
    assert.equal([reply?.outcome, reply?.states[0]?.read()?.clicks], ['applied', 2]);
    await store.close();
  }));

test('a full store refuses with nothing done, and counts again once there is room', () =>
  inFolder(async (path) => {
    const store = await openPublished(path, { sizeMaxBytes: 400_000 });
    let sequence = 1;
    await send(store, sequence, initOf(bot));
    let failure: StorageError | undefined;
    while (!failure && sequence < 2_000) {
      const next = send(store, sequence + 1, ...clicks(1_000, sequence * 1_000));
      failure = await next.then(
        () => undefined,
        (error: StorageError) => error,
      );
      if (!failure) sequence++;
    }
    assert.equal([failure?.reason, failure?.outcome], ['full', 'not_applied']);
    const [loaded] = await store.load([{ kind: 'bot', id: bot.id }]);
    assert.is(loaded?.outcome === 'found' && loaded.state.clicks, (sequence - 1) * 1_000);

    await store.close();
    const roomy = await openPublished(path);
    assert.is((await send(roomy, sequence + 1, ...clicks(1)))[0]?.outcome, 'applied');
    await roomy.close();
  }));

const child = join(import.meta.dirname, 'lmdb-child.ts');

test('a full disk leaves no half batch, and the sequence number may be used again', () =>
  inFolder(async (path) => {
    // The limit on the size of a file stands for the disk; node ignores its signal, so the write fails.
    const script = 'ulimit -f 4096; exec "$0" "$1" fill "$2"';
    const running = spawn('sh', ['-c', script, process.execPath, child, path], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const lines: string[] = [];
    for await (const line of createInterface({ input: running.stdout })) lines.push(line);
    const met = JSON.parse(lines.at(-1) ?? '{}');

    assert.equal([met.known, met.reason, met.outcome], [true, 'full', 'not_applied']);
    assert.is(met.counted, met.clicks);
    const store = await openLmdbStore({ path, clock: Date.now });
    const [target] = targets;
    assert.ok(target);
    const again = { shard: target.shard, producer, sequence: met.sequence, items: [initOf(target)] };
    const [reply] = await store.commit([again], rules);
    assert.equal([reply?.outcome, reply?.states[0]?.read()?.clicks], ['applied', met.clicks]);
    await store.close();
  }));

test('while the tables cannot be written, commits go on up to a bound; a later start has them all', () =>
  inFolder(async (path) => {
    const script = 'ulimit -f 5120; exec "$0" "$1" pend "$2"';
    const running = spawn('sh', ['-c', script, process.execPath, child, path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    for await (const line of createInterface({ input: running.stdout })) lines.push(line);
    const { acknowledged, failures, notes } = JSON.parse(lines.at(-1) ?? '{}');
    const store = await openLmdbStore({ path, clock: Date.now });
    const loaded = await store.load(targets.map(({ kind, id }) => ({ kind, id })));
    assertNoNote('hot_store_tables', store.listWarnings());
    await store.close();

    for (const { reason, outcome, detail } of failures) {
      assert.equal([reason, outcome], ['full', 'not_applied']);
      assert.match(detail, /checkpoint: full/, 'the bound is met before the limit on the journal file');
    }
    assertNote('hot_store_tables', notes);
    assert.match(notes.join(), /cannot write its tables .* tries again every 5 s; beyond 1 MiB/);
    for (const reply of loaded)
      assert.is(reply.outcome === 'found' && reply.state.uniqueClicks, acknowledged * 500);
  }));

/** Lets a child commit, kills it after some acknowledgements, and returns the last one that arrived. */
const killAfter = async (path: string, acknowledgements: number): Promise<number> => {
  const running = spawn(process.execPath, [child, 'clicks', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(running, 'exit');
  let acknowledged = 0;
  for await (const line of createInterface({ input: running.stdout })) {
    acknowledged = Number(line);
    if (acknowledged >= acknowledgements) running.kill('SIGKILL');
  }
  await exited;
  return acknowledged;
};

for (const acknowledgements of [1, 7, 40, 90]) {
  test(`killed after ${acknowledgements} acknowledged commits, all of them survive and none is partial`, () =>
    inFolder(async (path) => {
      const acknowledged = await killAfter(path, acknowledgements);

      const store = await openLmdbStore({ path, clock: Date.now });
      const probes = targets.map(({ shard }) => ({ shard, producer, sequence: 1, items: [] }));
      const sequences = (await store.commit(probes, rules)).map(({ lastSequence }) => lastSequence);
      const loaded = await store.load(targets.map(({ kind, id }) => ({ kind, id })));
      const last = sequences[0] ?? 0;

      assertIncludes([acknowledged, acknowledged + 1], last, `${last} after ${acknowledged}`);
      assert.equal(
        sequences,
        targets.map(() => last),
      );
      for (const reply of loaded) {
        if (reply.outcome !== 'found') throw new Error(reply.outcome);
        const { clicks: counted, uniqueClicks } = reply.state;
        assert.is(counted, last * clicksPerBatch);
        assert.is(uniqueClicks, counted);
      }
      await store.close();
    }));
}

test.run();
