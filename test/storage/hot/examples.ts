/**
 * The readable half of the conformance suite: what each verb of the hot store port promises at its edges.
 *
 * Each example opens its own store. They state expected results; generated sequences only compare stores with
 * the model, and the rules of single items are in test/engine/entity.
 */
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { fields } from '../../../engine/entity/fields.ts';
import type { BatchReply, InitItem, Item, VoteItem } from '../../../engine/entity/items.ts';
import { emptyFacts, emptyTotals, type HotState } from '../../../engine/entity/state.ts';
import { type EntityRef, shardsTotal } from '../../../engine/ids.ts';
import type { HotStore } from '../../../engine/ports.ts';
import { fullTotals, singlePosts } from '../../support/field-values.ts';
import { rejection } from '../../support/redis-load.ts';
import { refOf } from '../../support/refs.ts';
import { rules, startMs } from './generate.ts';

const hourMs = 3_600_000;

export interface OpenedStore {
  store: HotStore;
  /** Closes the store and opens it again on the same data; absent if the store cannot do that. */
  reopen?: () => Promise<HotStore>;
  /** Replaces the record of a listing by one of a form that only a newer program knows. */
  readonly newerRecords: {
    write(ref: EntityRef): Promise<void>;
    isUnchanged(ref: EntityRef): Promise<boolean>;
  };
  /** Closes the store and removes its data. */
  dispose(): Promise<void>;
}
export interface Harness {
  /** Opens a store with `count` shards. */
  open(clock: () => number, count?: number): Promise<OpenedStore>;
  readonly sequences: number;
  readonly operationsPerSequence: number;
  /** The store lists recent changes; otherwise it may answer that it does not know them. */
  readonly listsChanges?: boolean;
}

/** In shard 12 with either number of shards. */
const bot = refOf('bot', '123456789012345601', 1);
const later = refOf('bot', '123456789012345601', 2);
/** In the same shard. */
const neighbour = refOf('bot', '123456789012345715', 1);
const facts = { ...emptyFacts, revision: 1, listed: true, listedSinceMs: startMs };

interface World {
  readonly store: HotStore;
  readonly newerRecords: OpenedStore['newerRecords'];
  reopen(): Promise<void>;
  nowMs: number;
  send(...items: Item[]): Promise<BatchReply>;
  sendAs(producer: string, sequence: number, ...items: Item[]): Promise<BatchReply>;
}

const init = (target: EntityRef = bot): InitItem => ({
  kind: 'init',
  target,
  facts,
  totals: { ...emptyTotals, uptimeCheckedMs: startMs },
  row: { generation: 0, version: 0 },
});
const click = (visitor: string, target = bot): Item => ({ kind: 'click', target, visitor });
const vote = (world: World, itag: string, change: Partial<VoteItem> = {}): VoteItem => ({
  ...{
    kind: 'vote',
    target: bot,
    user: '42',
    upvote: true,
    atMs: world.nowMs,
    itags: [`${itag}-0`, `${itag}-1`],
  },
  ...change,
});
const statesIn = (reply: BatchReply) => reply.states.map((state) => state?.read());
const totalsOf = (state: HotState | undefined) =>
  Object.fromEntries(fields.map(({ name }) => [name, state?.[name]]));
const loadTotals = async ({ store }: World) => {
  const [reply] = await store.load([{ kind: 'bot', id: bot.id }]);
  return reply?.outcome === 'found' ? totalsOf(reply.state) : reply;
};
const kinds = (reply: BatchReply) => reply.decisions?.map((decision) => decision.kind);

type Example = (world: World) => Promise<void>;

const sequenceExamples: Record<string, Example> = {
  async 'a batch is applied once; sent again it gets the decisions it got'(world) {
    const items = [init(), vote(world, 'a'), vote(world, 'b'), click('5')];
    const first = await world.sendAs('p', 1, ...items);
    const again = await world.sendAs('p', 1, ...items);

    assert.equal(kinds(first), ['applied', 'voted', 'refused', 'applied']);
    assert.is(again.outcome, 'duplicate');
    assert.equal(again.decisions, first.decisions);
    assert.equal(statesIn(again), statesIn(first));
    assert.is(again.version, first.version);
  },
  async 'a visitor counts whose lost click, which the totals include, comes in the same batch'(world) {
    await world.sendAs('p', 1, init());
    const lostAt = { generation: 1e9, version: 1, copies: [{ producer: 'p', sequence: 1 }] };
    const [state] = statesIn(await world.sendAs('p', 2, click('5'), { ...click('5'), lostAt }));

    assert.equal([state?.clicks, state?.uniqueClicks], [1, 1]);
  },
  async 'an empty batch takes its number and changes no version'(world) {
    const before = await world.send(init());
    const [first, again] = [await world.sendAs('p', 1), await world.sendAs('p', 1)];
    await world.reopen();
    const next = await world.sendAs('p', 2, click('5'));

    assert.equal([first.outcome, first.lastSequence, first.decisions], ['applied', 1, []]);
    assert.equal([again.outcome, again.lastSequence, again.decisions], ['duplicate', 1, []]);
    assert.equal([first.version, first.chainHash], [before.version, before.chainHash]);
    assert.equal([next.outcome, next.version], ['applied', before.version + 1]);
  },
  async 'an empty store refuses to count, and names no generation'(world) {
    const other = refOf('team', 'not-published');
    const [reply] = await world.store.commit(
      [{ shard: other.shard, producer: 'p', sequence: 1, items: [init(other)] }],
      rules,
    );
    const generations = await world.store.readGenerations();

    assert.not.equal(other.shard, bot.shard);
    assert.equal([reply?.outcome, reply?.generation, generations[other.shard]], ['uninitialised', 0, 0]);
    assert.is(generations.length, shardsTotal);
  },
};

const entityExamples: Record<string, Example> = {
  async 'every field is stored and read back'(world) {
    await world.send({ ...init(), totals: fullTotals });
    await world.reopen();

    assert.equal(await loadTotals(world), fullTotals);
  },
  async 'a post sets the fields that it names, and no others'(world) {
    for (const [index, post] of singlePosts.entries()) {
      const target = refOf('bot', bot.id, index + 1);
      const reply = await world.send(init(target), { kind: 'stats', target, atMs: startMs, ...post });
      await world.reopen();
      const expected = { ...emptyTotals, ...post, uptimeCheckedMs: startMs, lastStatsPostMs: startMs };

      assert.equal(totalsOf(statesIn(reply)[1]), expected, 'in the reply');
      assert.equal(await loadTotals(world), expected, 'in the store');
    }
  },
  async 'a record of a newer program is neither shown nor changed'(world) {
    await world.send(init());
    await world.newerRecords.write(bot);
    const same = await world.send(click('5'), vote(world, 'a'), init(later), { kind: 'forget', target: bot });
    await world.store.markFlushed({
      entities: [{ ref: bot, generation: 1, version: 1, flushedVotes: 4 }],
      votes: [],
    });

    assert.equal(kinds(same), ['damaged', 'damaged', 'damaged', 'damaged']);
    assert.equal(statesIn(same), [undefined, undefined, undefined, undefined]);
    const damaged = { outcome: 'damaged', generation: 1 };
    const { id } = bot;
    assert.equal(await world.store.load([{ kind: 'bot', id, voter: '42' }]), [damaged]);
    assert.is((await rejection(world.store.readParts({ id, fromId: 0, limit: 1 }))).reason, 'damaged');
    await world.send(init(neighbour));
    assert.equal((await world.send(click('5', neighbour), click('6'))).decisions, [
      { kind: 'applied' },
      { kind: 'damaged' },
    ]);
    const { entities } = await world.store.peek({ entities: 10, votes: 10 });
    assert.equal(
      entities.map(({ ref }) => ref.id),
      [neighbour.id],
    );
    assert.ok(await world.newerRecords.isUnchanged(bot));
  },
  async 'an init whose row was read in another generation is refused'(world) {
    await world.store.publish([{ shard: bot.shard, generation: 2 }]);

    assert.equal(kinds(await world.send({ ...init(), readUnder: 1 })), ['absent']);
    assert.equal(kinds(await world.send({ ...init(), readUnder: 2 })), ['applied']);
  },
  async 'a forgotten listing stays dead; a later one counts from zero'(world) {
    await world.send(init(), click('5'), vote(world, 'a'));
    const forgotten = await world.send({ kind: 'forget', target: bot }, click('6'), init());

    assert.equal(kinds(forgotten), ['applied', 'forgotten', 'forgotten']);
    assert.is(forgotten.states[0], null);
    const [dead] = await world.store.load([{ kind: 'bot', id: bot.id }]);
    assert.equal(dead, { outcome: 'forgotten', incarnation: 1, generation: 1 });
    assert.equal(await world.store.countBacklog(), { entities: 0, votes: 1 }, 'the vote still gets its row');

    const reborn = await world.send(
      init(later),
      click('5', later),
      vote(world, 'b', { target: later }),
      click('5'),
    );
    assert.equal(kinds(reborn), ['applied', 'applied', 'voted', 'forgotten']);
    assert.is(reborn.states[0]?.read()?.uniqueClicks, 1, 'visitors and votes of the dead do not count');
  },
};

const partsExamples: Record<string, Example> = {
  async 'a late post of a part changes nothing'(world) {
    world.nowMs += 3_000;
    const post = (behindMs: number, servers: number): Item => ({
      ...{ kind: 'parts', target: bot, atMs: world.nowMs - behindMs, shardCount: 1 },
      parts: [{ id: 0, servers }],
    });
    await world.send(init(), post(0, 5));
    await world.send(post(1_000, 7));
    const reply = await world.store.readParts({ id: bot.id, fromId: 0, limit: 9 });

    assert.equal([reply?.state.servers, reply?.parts.get(0)?.servers], ['5', 5]);
  },
};

const flushExamples: Record<string, Example> = {
  async 'a receipt sent again removes no vote whose itag begins with one of it'(world) {
    await world.send(init(), vote(world, 'a', { itags: ['a', 'b'] }));
    const receipt = { entities: [], votes: [{ itag: 'a', shard: bot.shard }] };
    await world.store.markFlushed(receipt);
    await world.send(vote(world, 'c', { user: '43', itags: ['a-again', 'c'] }));
    await world.store.markFlushed(receipt);
    const { votes } = await world.store.peek({ entities: 0, votes: 9 });

    assert.equal(
      votes.map(({ itag }) => itag),
      ['a-again'],
    );
  },
  async 'a settled entity leaves the backlog only when it has not moved since'(world) {
    await world.send(init(), click('5'));
    const [peeked] = (await world.store.peek({ entities: 9, votes: 9 })).entities;
    assert.ok(peeked);
    const markFlushed = () =>
      world.store.markFlushed({
        entities: [{ ref: bot, generation: 1, version: peeked.state.version, flushedVotes: 7 }],
        votes: [],
      });
    const moved = await world.send(click('6'));
    await markFlushed();
    const [again] = (await world.store.peek({ entities: 9, votes: 9 })).entities;

    assert.equal(again?.state, { ...moved.states[0]?.read(), flushedVotes: 7 });
    await world.store.markFlushed({
      entities: [{ ref: bot, generation: 1, version: moved.version, flushedVotes: 7 }],
      votes: [],
    });
    assert.equal(await world.store.countBacklog(), { entities: 0, votes: 0 });
    assert.equal(await world.store.readVersions([bot.shard]), [
      { generation: 1, version: moved.version, chainHash: moved.chainHash },
    ]);
  },
  async 'a raised generation marks every entity dirty; a lower one does nothing'(world) {
    await world.send(init());
    await world.store.publish([{ shard: bot.shard, generation: 7 }]);
    await world.store.publish([{ shard: bot.shard, generation: 3 }]);
    const { entities } = await world.store.peek({ entities: 9, votes: 9 });

    assert.equal(
      entities.map(({ ref, generation }) => [ref, generation]),
      [[bot, 7]],
    );
    assert.is((await world.store.readGenerations())[bot.shard], 7);
  },
};

const lossExamples: Record<string, Example> = {
  async 'remembered voters wait before their listing is initialised, and a release skips some'(world) {
    const remember = (readUnder: number): Item => ({
      ...{ kind: 'remember', target: bot, readUnder },
      ...{ cast: [{ user: '42', atMs: startMs - hourMs }], pinned: [{ user: '43', atMs: startMs - hourMs }] },
    });
    const remembered = await world.send(remember(9), remember(1), vote(world, 'a'), init());
    const release: Item = {
      ...{ kind: 'adjust', target: bot, sequence: 1, upvotes: 0, downvotes: 0, release: [], pinned: [] },
      releaseBeforeMs: startMs,
    };
    const waiting = await world.send(vote(world, 'b'), vote(world, 'c', { user: '43' }), release);
    const after = await world.send(remember(1), vote(world, 'd'), vote(world, 'e', { user: '43' }));

    assert.equal(kinds(remembered), ['absent', 'applied', 'absent', 'applied']);
    const retryAtMs = startMs + 11 * hourMs;
    assert.equal(waiting.decisions?.[0], { kind: 'refused', reason: 'wait', retryAtMs });
    assert.equal(kinds(waiting), ['refused', 'refused', 'applied']);
    assert.equal(kinds(after), ['applied', 'voted', 'refused'], 'the later vote of a voter stays');
  },
  async 'totals never come without all votes they count, nor votes without their totals'(world) {
    await world.send(init(), vote(world, 'a'), vote(world, 'b', { user: '43' }));
    const peek = async (entities: number, votes: number) => {
      const backlog = await world.store.peek({ entities, votes });
      return [backlog.entities.length, backlog.votes.length];
    };

    assert.equal(await peek(1, 2), [1, 2]);
    assert.equal(await peek(1, 1), [0, 1], 'no room for all votes');
    assert.equal(
      [await peek(0, 2), await peek(1, 0)],
      [
        [0, 2],
        [1, 0],
      ],
      'a limit of 0 leaves that kind out',
    );
  },
  async 'a shard is emptied only at the version that the caller names'(world) {
    const { version } = await world.send(init(), click('5'), vote(world, 'a'));
    const { shard } = bot;
    await world.store.clear([{ shard, generation: 1, version: version + 1 }]);
    assert.equal(await world.store.countBacklog(), { entities: 1, votes: 1 });
    await world.store.clear([{ shard, generation: 1, version }]);

    assert.equal(await world.store.countBacklog(), { entities: 0, votes: 0 });
    assert.equal(await world.store.readVersions([shard]), [{ generation: 0, version: 0, chainHash: 0 }]);
    assert.is((await world.sendAs('new', 1, init())).outcome, 'uninitialised');
    await world.store.publish([{ shard, generation: 2 }]);
    assert.is((await world.sendAs('example', 1, click('5'))).outcome, 'applied', 'no producer is known');
    assert.equal(await world.store.load([{ kind: 'bot', id: bot.id }]), [
      { outcome: 'absent', generation: 2 },
    ]);
  },
};

/** Adds all examples to an adapter's suite. */
export const addExamples = (test: Test, harness: Harness): void => {
  const all = { ...sequenceExamples, ...entityExamples, ...partsExamples, ...flushExamples, ...lossExamples };
  for (const [title, example] of Object.entries(all)) {
    test(title, async () => {
      const clock = () => world.nowMs;
      const opened = await harness.open(clock);
      let sequence = 0;
      const world: World = {
        get store() {
          return opened.store;
        },
        newerRecords: opened.newerRecords,
        async reopen() {
          opened.store = (await opened.reopen?.()) ?? opened.store;
        },
        nowMs: startMs,
        send: (...items) => world.sendAs('example', ++sequence, ...items),
        async sendAs(producer, number, ...items) {
          const [reply] = await opened.store.commit(
            [{ shard: bot.shard, producer, sequence: number, items }],
            rules,
          );
          assert.ok(reply);
          return reply;
        },
      };
      try {
        await opened.store.publish([{ shard: bot.shard, generation: 1 }]);
        await example(world);
      } finally {
        await opened.dispose();
      }
    });
  }
};
