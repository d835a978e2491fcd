/**
 * The readable half of the conformance suite: one example per verb and edge of the hot store port.
 *
 * Each example opens its own store. They state expected results; generated sequences only compare stores.
 */
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Item } from '../../../engine/entity/items.ts';
import { createEntityRef, shardCount, toShard } from '../../../engine/ids.ts';
import { bot, click, type Example, init, kinds, later, statesIn, vote, type World } from './example-kit.ts';
import { rules, startMs } from './generate.ts';
import type { Harness } from './harness.ts';
import { lossExamples } from './loss-examples.ts';

const hourMs = 3_600_000;

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
  async 'an older duplicate has no decisions, and shows the state of now'(world) {
    await world.sendAs('p', 1, init());
    await world.sendAs('p', 2, click('5'));
    const old = await world.sendAs('p', 1, init());

    assert.equal([old.outcome, old.lastSequence, old.decisions], ['duplicate', 2, null]);
    assert.is(old.states[0]?.read()?.clicks, 1);
  },
  async 'a gap changes nothing'(world) {
    await world.sendAs('p', 1, init());
    const gap = await world.sendAs('p', 3, click('5'));

    assert.equal([gap.outcome, gap.lastSequence], ['gap', 1]);
    assert.is(gap.states[0]?.read()?.clicks, 0);
  },
  async 'each producer has its own sequence'(world) {
    await world.sendAs('p', 1, init());

    assert.is((await world.sendAs('q', 1, click('5'))).outcome, 'applied');
    assert.is((await world.sendAs('q', 3, click('5'))).outcome, 'gap');
  },
  async 'refusals do not stop the other items, and do not raise the version'(world) {
    const before = await world.send(init(), vote(world, 'a'));
    const refused = await world.send(vote(world, 'b'));
    const mixed = await world.send(vote(world, 'c'), click('5'));

    assert.is(refused.version, before.version);
    assert.equal(kinds(mixed), ['refused', 'applied']);
    assert.is(mixed.version, before.version + 1);
    assert.is(mixed.states[0]?.read()?.version, mixed.version);
  },
  async 'an empty store refuses to count, and names no generation'(world) {
    const other = createEntityRef('team', 'not-published', 1);
    const [reply] = await world.store.commit(
      [{ shard: toShard(other.shard), producer: 'p', sequence: 1, items: [init(other)] }],
      rules,
    );
    const generations = await world.store.readGenerations();

    assert.not.equal(other.shard, bot.shard);
    assert.equal([reply?.outcome, reply?.generation, generations[other.shard]], ['uninitialised', 0, 0]);
    assert.is(generations.length, shardCount);
  },
};

const entityExamples: Record<string, Example> = {
  async 'absent is not zero'(world) {
    const reply = await world.send(click('5'));

    assert.equal(kinds(reply), ['absent']);
    assert.is(reply.states[0], null);
    assert.equal(await world.store.load([{ kind: 'bot', id: bot.id }]), [
      { outcome: 'absent', generation: 1 },
    ]);
  },
  async 'an init whose row was read in another generation is refused'(world) {
    await world.store.publish([{ shard: bot.shard, generation: 2 }]);

    assert.equal(kinds(await world.send({ ...init(), readUnder: 1 })), ['absent']);
    assert.equal(kinds(await world.send({ ...init(), readUnder: 2 })), ['applied']);
  },
  async 'init brings an entity in without marking it dirty'(world) {
    await world.send(init());

    assert.equal(await world.store.countBacklog(), { entities: 0, votes: 0 });
    const [loaded] = await world.store.load([{ kind: 'bot', id: bot.id }]);
    assert.equal(loaded?.outcome === 'found' && loaded.ref, bot);
  },
  async 'a forgotten listing stays dead; a later one begins anew'(world) {
    await world.send(init(), click('5'), vote(world, 'a'));
    const buried = await world.send({ kind: 'forget', target: bot }, click('6'), init());

    assert.equal(kinds(buried), ['applied', 'forgotten', 'forgotten']);
    assert.is(buried.states[0], null);
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
  async 'a visitor counts once, also over batches'(world) {
    await world.send(init(), click('-1'), click('-1'), click('9223372036854775807'));
    const reply = await world.send(click('-1'), click('-9223372036854775808'));

    const state = reply.states[0]?.read();
    assert.equal([state?.clicks, state?.uniqueClicks], [5, 3]);
  },
  async 'integers of 64 bits come back to the digit'(world) {
    const servers = '18446744073709551557';
    await world.send(init(), {
      kind: 'stats',
      target: bot,
      atMs: world.nowMs,
      servers,
      shardList: '9007199254740993',
    });
    const [loaded] = await world.store.load([{ kind: 'bot', id: bot.id }]);

    assert.ok(loaded?.outcome === 'found');
    assert.equal([loaded.state.servers, loaded.state.shardList], [servers, '9007199254740993']);
  },
};

const voteExamples: Record<string, Example> = {
  async 'of two votes of one user in one batch only the first passes'(world) {
    const reply = await world.send(init(), vote(world, 'a'), vote(world, 'b', { upvote: false }));

    assert.equal(kinds(reply), ['applied', 'voted', 'refused']);
    assert.is((await world.store.countBacklog()).votes, 1);
  },
  async 'the wait ends at its millisecond, also across buckets of last votes'(world) {
    await world.send(init(), vote(world, 'a'));
    world.nowMs += 6 * hourMs - 1;
    const early = await world.send(vote(world, 'b'));
    world.nowMs += 1;
    const due = await world.send(vote(world, 'c'));

    assert.equal(early.decisions, [{ kind: 'refused', reason: 'wait', retryAtMs: startMs + 6 * hourMs }]);
    assert.equal(due.decisions, [{ kind: 'voted', count: 2 }], 'a weekend vote, since Friday began');
  },
  async 'load tells when a voter last voted, for him alone'(world) {
    await world.send(init(), vote(world, 'a'));
    const ask = async (voter: string) => {
      const [reply] = await world.store.load([{ kind: 'bot', id: bot.id, voter }]);
      return reply?.outcome === 'found' ? reply.votedAtMs : undefined;
    };

    assert.equal([await ask('42'), await ask('43')], [startMs, 0]);
  },
  async 'a released vote frees its voter, a held one keeps him whatever is released'(world) {
    const adjust = (sequence: number, change: object): Item => ({
      ...{ kind: 'adjust', target: bot, sequence, upvotes: -1, downvotes: 0 },
      ...{ releaseBeforeMs: 0, release: [], hold: [] },
      ...change,
    });
    const mark = { user: '42', atMs: startMs };
    await world.send(init(), vote(world, 'a'));
    world.nowMs += hourMs;
    const all = adjust(1, { hold: [mark], releaseBeforeMs: startMs + 1 });
    const held = await world.send(all, vote(world, 'b'));
    const released = await world.send(adjust(2, { release: [mark] }), vote(world, 'c'), vote(world, 'd'));
    const repeated = await world.send(adjust(2, { release: [mark] }), adjust(4, {}));

    assert.equal(kinds(held), ['applied', 'refused']);
    assert.equal(kinds(released), ['applied', 'voted', 'refused']);
    assert.equal(kinds(repeated), ['applied', 'gap']);
    assert.is(repeated.states[0]?.read()?.upvotes, 1, 'never below 0, and each adjustment once');
  },
  async 'sweeping keeps what a window may need'(world) {
    await world.send(init(), vote(world, 'a'));
    world.nowMs += 6 * hourMs - 1;
    await world.store.sweep(world.nowMs);

    assert.equal(kinds(await world.send(vote(world, 'b'))), ['refused']);
  },
};

const flushExamples: Record<string, Example> = {
  async 'a settled entity leaves the backlog only when it has not moved since'(world) {
    await world.send(init(), click('5'));
    const [peeked] = (await world.store.peek({ entities: 9, votes: 9 })).entities;
    assert.ok(peeked);
    const settle = () =>
      world.store.markFlushed({
        entities: [{ ref: bot, generation: 1, version: peeked.state.version, flushedVotes: 7 }],
        votes: [],
      });
    const moved = await world.send(click('6'));
    await settle();
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
  async 'a late settlement of an older flush does not undo a later one'(world) {
    await world.send(init(), click('5'));
    const { version } = await world.send(click('6'));
    const settle = (of: number, flushedVotes: number) =>
      world.store.markFlushed({
        entities: [{ ref: bot, generation: 1, version: of, flushedVotes }],
        votes: [],
      });
    await settle(version, 6);
    await settle(version - 1, 8);

    const [found] = await world.store.load([{ kind: bot.kind, id: bot.id }]);
    assert.is(found?.outcome === 'found' && found.state.flushedVotes, 6);
  },
  async 'a settlement of another generation cleans nothing: the version may have been given twice'(world) {
    await world.send(init(), click('5'));
    const [peeked] = (await world.store.peek({ entities: 9, votes: 9 })).entities;
    const version = peeked?.state.version ?? 0;
    await world.store.publish([{ shard: bot.shard, generation: 2 }]);
    const settle = (generation: number) =>
      world.store.markFlushed({ entities: [{ ref: bot, generation, version, flushedVotes: 0 }], votes: [] });
    await settle(1);
    assert.equal(await world.store.countBacklog(), { entities: 1, votes: 0 });

    await settle(2);
    assert.equal(await world.store.countBacklog(), { entities: 0, votes: 0 });
  },
  async 'settling what is gone, or never was, does nothing'(world) {
    await world.send(init(), click('5'));
    const gone = { ref: later, generation: 1, version: 1, flushedVotes: 9 };
    await world.store.markFlushed({ entities: [gone], votes: [] });
    await world.store.markFlushed({ entities: [], votes: [{ itag: 'never', shard: bot.shard }] });

    assert.equal(await world.store.countBacklog(), { entities: 1, votes: 0 });
  },
  async 'the outbox keeps every granted vote with its number until it is settled'(world) {
    world.nowMs += 5 * hourMs;
    await world.send(init(), vote(world, 'a'), vote(world, 'b', { user: '43', upvote: false }));
    const { votes } = await world.store.peek({ entities: 9, votes: 9 });

    const rows = votes.map(({ itag, user, upvote, voteNumber }) => [itag, user, upvote, voteNumber]);
    assert.equal(rows, [
      ['a-0', '42', true, 0],
      ['a-1', '42', true, 1],
      ['b-0', '43', false, 0],
      ['b-1', '43', false, 1],
    ]);
    assert.equal((await world.store.peek({ entities: 0, votes: 3 })).votes.length, 3);
    await world.store.markFlushed({ entities: [], votes: [{ itag: 'a-1', shard: bot.shard }] });
    assert.is((await world.store.countBacklog()).votes, 3);
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
  async 'an init that SQL knows to be newer asks for a new generation first'(world) {
    const behind: Item = { ...init(), row: { generation: 1, version: 99 } };
    assert.equal(kinds(await world.send(behind)), ['behind']);
    await world.store.publish([{ shard: bot.shard, generation: 2 }]);

    assert.equal(kinds(await world.send(behind)), ['applied']);
  },
};

/** Adds all examples to an adapter's suite. */
export const addExamples = (test: Test, harness: Harness): void => {
  const all = { ...sequenceExamples, ...entityExamples, ...voteExamples, ...flushExamples, ...lossExamples };
  for (const [title, example] of Object.entries(all)) {
    test(title, async () => {
      const clock = () => world.nowMs;
      const opened = await harness.open(clock);
      const { store } = opened;
      let sequence = 0;
      const world: World = {
        store,
        nowMs: startMs,
        send: (...items) => world.sendAs('example', ++sequence, ...items),
        async sendAs(producer, number, ...items) {
          const [reply] = await store.commit(
            [{ shard: bot.shard, producer, sequence: number, items }],
            rules,
          );
          assert.ok(reply);
          return reply;
        },
      };
      try {
        await store.publish([{ shard: bot.shard, generation: 1 }]);
        await example(world);
      } finally {
        await opened.dispose();
      }
    });
  }
};
