/**
 * Examples of the conformance suite about stores that were emptied, or are older than SQL: rows of
 * votes, totals and waits must agree afterwards.
 */
import * as assert from 'uvu/assert';
import type { Item } from '../../../engine/entity/items.ts';
import { bot, click, type Example, init, kinds, vote } from './example-kit.ts';
import { startMs } from './generate.ts';

const hourMs = 3_600_000;

export const lossExamples: Record<string, Example> = {
  async 'voters told before their listing comes wait on, held ones whatever is released'(world) {
    const remember = (readUnder: number): Item => ({
      ...{ kind: 'remember', target: bot, readUnder },
      ...{ cast: [{ user: '42', atMs: startMs - hourMs }], hold: [{ user: '43', atMs: startMs - hourMs }] },
    });
    const told = await world.send(remember(9), remember(1), vote(world, 'a'), init());
    const release: Item = {
      ...{ kind: 'adjust', target: bot, sequence: 1, upvotes: 0, downvotes: 0, release: [], hold: [] },
      releaseBeforeMs: startMs,
    };
    const waiting = await world.send(vote(world, 'b'), vote(world, 'c', { user: '43' }), release);
    const after = await world.send(remember(1), vote(world, 'd'), vote(world, 'e', { user: '43' }));

    assert.equal(kinds(told), ['absent', 'applied', 'absent', 'applied']);
    const retryAtMs = startMs + 11 * hourMs;
    assert.equal(waiting.decisions?.[0], { kind: 'refused', reason: 'wait', retryAtMs });
    assert.equal(kinds(waiting), ['refused', 'refused', 'applied']);
    assert.equal(kinds(after), ['applied', 'voted', 'refused'], 'who is known is known better');
  },
  async 'voters of a listing that never comes leave it absent'(world) {
    const marks = { cast: [{ user: '42', atMs: startMs }], hold: [] };
    const reply = await world.send({ kind: 'remember', target: bot, readUnder: 1, ...marks });

    assert.equal([kinds(reply), reply.version], [['applied'], 0]);
    assert.equal(reply.states, [null]);
    assert.equal(await world.store.countBacklog(), { entities: 0, votes: 0 });
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
      'asked for one kind alone',
    );
  },
  async 'a shard is emptied only where it stands as it is said'(world) {
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
