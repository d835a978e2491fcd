/**
 * The batch loader: what travels together, how many batches at once, and who hears of a failure.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { createBatchLoader } from '../../../engine/tools/batch-loader.ts';

const test = suite('batch loader');

/** Batches are answered by hand; each value is its key, doubled. */
const createWorld = (options: { keysMax: number; batchesMax: number }) => {
  const tasks: (() => void)[] = [];
  const batches: { keys: readonly number[]; answer(): void; fail(error: Error): void }[] = [];
  const load = createBatchLoader<number, number>({
    ...options,
    loadMany: (keys) => {
      const { promise, resolve, reject } = Promise.withResolvers<readonly number[]>();
      batches.push({ keys, answer: () => resolve(keys.map((key) => key * 2)), fail: reject });
      return promise;
    },
    schedule: (task) => void tasks.push(task),
  });
  return { tasks, batches, load, keys: () => batches.map(({ keys }) => keys) };
};

test('requests until the scheduled start travel together, in batches of bounded size', async () => {
  const world = createWorld({ keysMax: 2, batchesMax: Number.POSITIVE_INFINITY });
  const values = [1, 2, 3].map(world.load);

  assert.is(world.tasks.length, 1);
  assert.equal(world.keys(), []);
  world.tasks[0]?.();
  assert.equal(world.keys(), [[1, 2], [3]]);
  for (const { answer } of world.batches) answer();

  assert.equal(await Promise.all(values), [2, 4, 6]);
});

test('an unbounded loader gathers until the next start, also when a batch ends meanwhile', async () => {
  const world = createWorld({ keysMax: 10, batchesMax: Number.POSITIVE_INFINITY });
  const first = world.load(1);
  world.tasks[0]?.();
  const second = world.load(2);
  world.batches[0]?.answer();

  assert.is(await first, 2);
  assert.equal(world.keys(), [[1]]);
  world.tasks[1]?.();
  world.batches[1]?.answer();
  assert.is(await second, 4);
});

test('beyond the bound of batches requests wait, and share the next batch', async () => {
  const world = createWorld({ keysMax: 10, batchesMax: 1 });
  const first = world.load(1);
  world.tasks[0]?.();
  const others = [world.load(2), world.load(3)];
  assert.is(world.tasks.length, 1);
  world.batches[0]?.answer();

  assert.is(await first, 2);
  assert.equal(world.keys(), [[1], [2, 3]]);
  world.batches[1]?.answer();
  assert.equal(await Promise.all(others), [4, 6]);
});

test('a failure rejects the requests of its batch alone', async () => {
  const world = createWorld({ keysMax: 1, batchesMax: 1 });
  const values = [world.load(1), world.load(2)];
  world.tasks[0]?.();
  world.batches[0]?.fail(new Error('away'));

  assert.is((await Promise.allSettled(values.slice(0, 1)))[0]?.status, 'rejected');
  world.batches[1]?.answer();
  assert.is(await values[1], 4);
});

/** A loader whose batches fail while they contain a key below 0. */
const createStrictLoader = (fault: Error) => {
  const batches: (readonly number[])[] = [];
  const load = createBatchLoader<number, number>({
    keysMax: 500,
    batchesMax: 1,
    loadMany: async (keys) => {
      batches.push(keys);
      if (keys.some((key) => key < 0)) throw fault;
      return keys.map((key) => key * 2);
    },
    schedule: (task) => setImmediate(task),
  });
  return { batches, load };
};
const keys = Array.from({ length: 64 }, (_, index) => (index === 40 ? -1 : index));

test('a key that the store cannot take fails its own request only', async () => {
  const { batches, load } = createStrictLoader(new Error('a key is too long'));

  const results = await Promise.allSettled(keys.map(load));

  for (const [index, result] of results.entries()) {
    if (index === 40) assert.is(result.status, 'rejected');
    else assert.equal(result, { status: 'fulfilled', value: index * 2 });
  }
  assert.ok(batches.length <= 1 + 2 * 6, `${batches.length} batches`);
});

test('while the store is away, a batch fails at once', async () => {
  const away = new StorageError('load', { outcome: 'not_applied', reason: 'unreachable' });
  const { batches, load } = createStrictLoader(away);

  const results = await Promise.allSettled(keys.map(load));

  assert.equal(
    results.filter(({ status }) => status !== 'rejected'),
    [],
  );
  assert.is(batches.length, 1);
});

test.run();
