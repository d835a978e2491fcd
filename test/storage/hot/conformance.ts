/**
 * What every hot store must do: readable examples, and generated sequences compared with the model.
 *
 * `conformance(name, harness)` returns a suite to which an adapter's test file may add its own cases before
 * it runs it. After every generated operation the replies and everything the port can show must be equal. A
 * failure names its seed: add it to `corpusSeeds`, where it stays.
 */
import { isDeepStrictEqual } from 'node:util';
import { suite, type Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { BatchReply } from '../../../engine/entity/items.ts';
import type { HotStore, LoadRequest } from '../../../engine/ports.ts';
import { createHotModel, type HotModel } from '../../model/hot-model.ts';
import { isLoop } from '../../support/test-group.ts';
import { addExamples, type Harness, type OpenedStore } from './examples.ts';
import { generate, names, type Operation, rules, startMs, usedShards, voters } from './generate.ts';

export type { OpenedStore } from './examples.ts';

/** Seeds that once failed; every store runs them first. A failure that matters gets an example as well. */
const corpusSeeds: readonly number[] = [51_845_311];

interface Run {
  readonly opened: OpenedStore;
  readonly model: HotModel;
  nowMs: number;
  readonly mix: Map<string, number>;
  readonly listsChanges: boolean;
  /** The shards' versions after the newest operations, oldest first. */
  readonly positions: Known[];
}
type Known = Parameters<HotStore['readChanges']>[0];

const requests: readonly LoadRequest[] = names.flatMap((name) => [
  name,
  ...voters.map((voter) => ({ ...name, voter })),
]);
const bots = names.filter(({ kind }) => kind === 'bot');
const everything = { entities: 1_000, votes: 1_000, shards: usedShards };

/** Everything that the port shows of a store. */
const observe = async (store: HotStore) => ({
  loads: await store.load(requests),
  backlog: await store.countBacklog(),
  peek: await store.peek(everything),
  versions: await store.readVersions(usedShards),
  generations: await store.readGenerations(),
  parts: await Promise.all(bots.map(({ id }) => store.readParts({ id, fromId: 0, limit: 100 }))),
  page: await store.readParts({ id: bots[0]?.id ?? '', fromId: 1, limit: 2 }),
  due: (await store.listDueParts(usedShards, 100)).map(({ address }) => address).sort(),
});

const count = (run: Run, word: string): void => {
  run.mix.set(word, (run.mix.get(word) ?? 0) + 1);
};

/** Applies one operation to a store; what it returns must be equal on both. */
const perform = (store: HotStore, operation: Operation, nowMs: number): Promise<unknown> => {
  switch (operation.verb) {
    case 'commit':
      return store.commit(operation.batches, rules);
    case 'publish':
      return store.publish(operation.generations);
    case 'settled':
      return store.markFlushed(operation.receipt);
    case 'peek':
      return store.peek(operation);
    case 'clear':
      return store.clear(operation.places);
    case 'sweep':
      return store.sweep(nowMs);
    default:
      return Promise.resolve();
  }
};

const countReplies = (run: Run, replies: unknown): void => {
  for (const reply of replies as Awaited<ReturnType<HotStore['commit']>>) {
    count(run, reply.outcome);
    if (reply.outcome !== 'applied') continue;
    for (const decision of reply.decisions ?? []) {
      count(
        run,
        decision.kind === 'refused'
          ? decision.reason
          : decision.kind === 'applied'
            ? (decision.switched ?? 'done')
            : decision.kind,
      );
    }
  }
};

/** Replies with their lazy states unpacked, so that stores compare equal whatever their encoding. */
const opened = (replies: unknown): unknown => {
  if (!Array.isArray(replies)) return replies;
  return replies.map((reply: BatchReply) =>
    reply?.states === undefined ? reply : { ...reply, states: reply.states.map((state) => state?.read()) },
  );
};

const step = async (run: Run, operation: Operation): Promise<void> => {
  count(run, operation.verb);
  if (operation.verb === 'wait') run.nowMs += operation.milliseconds;
  if (operation.verb === 'reopen' && run.opened.reopen) run.opened.store = await run.opened.reopen();
  const [ours, theirs] = [
    await perform(run.opened.store, operation, run.nowMs),
    await perform(run.model, operation, run.nowMs),
  ];
  assert.equal(opened(ours), opened(theirs), 'replies');
  if (operation.verb === 'commit') countReplies(run, ours);
  assert.equal(await observe(run.opened.store), await observe(run.model), 'states');
  await compareChanges(run);
};

const positionsKept = 4;

/** What changed since a version of some operations ago; a store that does not know it says so. */
const compareChanges = async ({ opened: { store }, model, positions, listsChanges, mix }: Run) => {
  const versions = await model.readVersions(usedShards);
  positions.push(usedShards.map((shard, index) => ({ shard, ...(versions[index] as (typeof versions)[0]) })));
  const known = positions.length > positionsKept ? (positions.shift() as Known) : (positions[0] as Known);
  const [ours, theirs] = [await store.readChanges(known), await model.readChanges(known)];
  for (const [index, { now, changed }] of ours.entries()) {
    const expected = theirs[index] as (typeof theirs)[0];
    assert.equal(now, expected.now, 'the version of changes');
    const isSame = isDeepStrictEqual({ shard: known[index]?.shard, ...now }, known[index]);
    if (isSame && changed !== null) assert.is(changed.size, 0, 'no changes');
    else if (expected.changed === null) assert.is(changed, null, 'unknown changes');
    else if (changed !== null) assert.equal([...changed].sort(), [...expected.changed].sort(), 'changes');
    else assert.not(listsChanges && now.version > positionsKept, 'changes are known');
    if ((changed?.size ?? 0) > 0) mix.set('changes', (mix.get('changes') ?? 0) + 1);
  }
};

/** Runs one sequence; throws with seed and step where the two differ. */
export const runSeed = async (harness: Harness, seed: number, mix: Map<string, number>): Promise<void> => {
  const clock = () => run.nowMs;
  const opened = await harness.open(clock);
  const model = createHotModel({ clock });
  const { listsChanges = false } = harness;
  const run: Run = { opened, model, nowMs: startMs, mix, listsChanges, positions: [] };
  const generator = generate(seed, model);
  let number = 0;
  let operation: Operation | undefined;
  try {
    for (; number < harness.operationsPerSequence; number++) {
      operation = generator.next(run.nowMs);
      await step(run, operation);
    }
  } catch (failure) {
    const words = `seed ${seed}, step ${number}: ${JSON.stringify(operation).slice(0, 2_000)}`;
    throw new Error(
      `${words}\n${(failure as Error).message}\n${(failure as { details?: string }).details ?? ''}`,
      {
        cause: failure,
      },
    );
  } finally {
    await opened.dispose();
  }
};

/** Outcomes that generated sequences must contain. `done` is the plain case. */
const wanted = [
  ...['applied', 'duplicate', 'gap', 'uninitialised', 'done', 'voted', 'wait', 'not_listed', 'vote_banned'],
  ...[
    'clock_ahead',
    'clock_behind',
    'absent',
    'forgotten',
    'behind',
    'overflow',
    'publish',
    'settled',
    'sweep',
    'peek',
    'reopen',
  ],
];
/** Outcomes of shards of a bot: so rare that only many operations contain each. */
const rare = ['complete', 'time', 'idle', 'totals', 'inconsistent'];
const manyOperations = 4_000;
/** While an outcome is missing, the sequences are run again, in all so many times at most. */
const extensionMax = 4;

const listMissing = (mix: ReadonlyMap<string, number>, harness: Harness): readonly string[] => {
  const operations = harness.sequences * harness.operationsPerSequence;
  const words = operations < manyOperations ? wanted : [...wanted, ...rare];
  return words.filter((word) => !mix.has(word));
};

const assertMix = (mix: ReadonlyMap<string, number>, harness: Harness): void => {
  assert.equal(listMissing(mix, harness), [], 'outcomes that were not generated');
  const decisions = [
    'done',
    'voted',
    'wait',
    'not_listed',
    'vote_banned',
    'clock_ahead',
    'clock_behind',
    'absent',
    'forgotten',
    'behind',
    'overflow',
    'complete',
    'time',
    'idle',
    'totals',
    'inconsistent',
  ];
  const total = decisions.reduce((sum, word) => sum + (mix.get(word) ?? 0), 0);
  const plain = mix.get('done') ?? 0;
  assert.ok(plain <= total * 0.7, `${plain} of ${total} decisions are plain: ${JSON.stringify([...mix])}`);
};

/** The suite of an adapter. The first seed differs by run; failures print the one to keep. */
export const conformance = (name: string, harness: Harness): Test => {
  const test = suite(name);
  addExamples(test, harness);
  test('equals the model on every sequence that failed before', async () => {
    for (const seed of corpusSeeds) await runSeed(harness, seed, new Map());
  });
  test('equals the model after every operation of generated sequences', async () => {
    const mix = new Map<string, number>();
    const first = 1 + Math.floor(Math.random() * 1e9);
    const run = async (from: number): Promise<void> => {
      for (let index = 0; index < harness.sequences; index++)
        await runSeed(harness, first + from + index, mix);
    };
    await run(0);
    // Fewer need not contain each.
    if (isLoop) return;
    for (let times = 1; times < extensionMax && listMissing(mix, harness).length > 0; times++)
      await run(times * harness.sequences);
    assertMix(mix, harness);
  });
  return test;
};
