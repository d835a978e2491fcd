/**
 * Parts of a bot, by example: when a table comes into force, what counts, what is stale and gone.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PostedPart } from '../../../engine/entity/items.ts';
import { limits } from '../../../engine/limits.ts';
import { createBot, hourMs, minuteMs, parts, showTotals, startMs, target } from './parts-kit.ts';

const test = suite('parts');

const ofAll = (shardCount: number, servers: number): readonly PostedPart[] =>
  Array.from({ length: shardCount }, (_, id) => ({ id, servers, users: 10 }));
test('the first table counts nothing until all its parts were seen, then its sums are the totals', () => {
  const bot = createBot();
  const first = bot.post(3, [{ id: 0, servers: 100, users: 5 }]);
  const before = showTotals(bot);
  bot.nowMs += 1;
  const last = bot.post(3, [
    { id: 1, servers: 20 },
    { id: 2, servers: 3, users: 1, status: 'dnd' },
  ]);

  assert.equal(first, { kind: 'applied' });
  assert.equal(before, ['500', '9', '0', '', '']);
  assert.equal(last, { kind: 'applied', switched: 'complete' });
  assert.equal(showTotals(bot), ['123', '6', '3', '100,20,3', 'online']);
  assert.is(bot.state.lastStatsPostMs, bot.nowMs);
});

test('a later post changes the sums by its difference, and keeps fields that it lacks', () => {
  const bot = createBot();
  bot.post(2, ofAll(2, 50));
  bot.nowMs += minuteMs;
  bot.post(2, [{ id: 1, servers: 7 }]);

  assert.equal(showTotals(bot), ['57', '20', '2', '50,7', 'online']);
});

test('a building table comes into force when its time is over, by a post or by the job', () => {
  for (const wake of ['post', 'job']) {
    const bot = createBot();
    bot.post(1, ofAll(1, 80));
    bot.post(2, [{ id: 1, servers: 5 }]);
    bot.nowMs += parts.switchMs - 1;
    bot.judge();
    bot.post(1, [{ id: 0, servers: 81 }]);
    assert.equal([bot.state.servers, bot.state.shards], ['81', '1'], 'a building table changes no total');
    bot.nowMs += 1;
    const decision = wake === 'job' ? bot.judge() : bot.post(2, [{ id: 1, servers: 6 }]);

    assert.equal(decision, { kind: 'applied', switched: 'time' });
    assert.equal(showTotals(bot).slice(2, 4), ['2', wake === 'job' ? '0,5' : '0,6']);
  }
});

test('a building table comes into force at once when no part of the current one is live', () => {
  const bot = createBot();
  bot.post(2, ofAll(2, 50));
  bot.nowMs += parts.staleMs + 1;
  const decision = bot.post(4, [{ id: 0, servers: 9 }]);

  assert.equal(decision, { kind: 'applied', switched: 'idle' });
  assert.equal(showTotals(bot), ['9', '20', '4', '9,0,0,0', 'online']);
});

test('posts to a replaced table are refused while the current one lives', () => {
  const bot = createBot();
  bot.post(2, ofAll(2, 50));
  bot.post(3, ofAll(3, 40));
  const refused = bot.post(2, ofAll(2, 51));
  const during = showTotals(bot);
  bot.nowMs += parts.staleMs + 1;
  const back = bot.post(2, ofAll(2, 52));

  assert.equal(refused, { kind: 'inconsistent' });
  assert.equal(during.slice(0, 3), ['120', '30', '3']);
  assert.equal(back, { kind: 'applied', switched: 'complete' });
  assert.is(bot.state.servers, '104');
  assert.equal([...bot.tables.keys()], [2], 'parts of replaced tables are removed');
});

test('the wait of a building table begins again with every part that is new to it', () => {
  const bot = createBot();
  bot.post(20, ofAll(20, 50));
  for (let id = 0; id < 23; id++) {
    bot.nowMs += minuteMs;
    // The processes in force go on until theirs is replaced.
    bot.post(20, ofAll(20 - Math.min(id, 19), 50));
    assert.equal(bot.post(24, [{ id, servers: 45 }]), { kind: 'applied' });
    assert.is(bot.state.servers, '1000', `after ${id + 1} of 24`);
  }
  bot.nowMs += parts.switchMs;
  bot.judge();

  assert.equal([bot.state.servers, bot.state.shards], [String(23 * 45), '24'], 'the last one never came');
});

test('a much smaller table waits while most shards in force run', () => {
  const bot = createBot();
  bot.post(20, ofAll(20, 50));
  assert.equal(bot.post(1, ofAll(1, 3)), { kind: 'applied' });
  for (let minute = 0; minute < 30; minute++) {
    bot.nowMs += minuteMs;
    bot.judge();
    assert.equal(bot.post(20, ofAll(minute < 10 ? 20 : 11, 50)), { kind: 'applied' });
    assert.equal([bot.state.servers, bot.state.shards], ['1000', '20']);
  }
  assert.equal(bot.state.parts?.building?.shardCount, 1);
  bot.post(1, ofAll(1, 3));
  const switched = bot.post(20, [{ id: 10, status: 'offline' }]);

  assert.equal(switched, { kind: 'applied', switched: 'complete' });
  assert.equal([bot.state.servers, bot.state.shards], ['3', '1']);
});

test('a table whose parts are all stale never comes into force, and goes when they are gone', () => {
  const bot = createBot();
  bot.post(2, ofAll(2, 50));
  bot.post(1, ofAll(1, 3));
  bot.nowMs += parts.staleMs + 1;
  bot.judge();
  assert.equal([bot.state.servers, bot.state.status], ['100', 'offline'], 'an outage of both');
  bot.nowMs += minuteMs;
  bot.post(2, ofAll(2, 60));
  bot.nowMs = startMs + parts.goneMs + 1;
  bot.judge();

  assert.is(bot.state.servers, '120');
  assert.equal(bot.state.parts?.building, null);
  assert.ok((bot.state.parts?.dueMs ?? 0) > bot.nowMs, 'nothing is judged again and again');
});

test('a bot goes back to its former shard count when the processes in force stopped', () => {
  for (const stop of ['offline', 'killed']) {
    const bot = createBot();
    bot.post(5, ofAll(5, 60));
    bot.post(6, ofAll(6, 50));
    bot.nowMs += minuteMs;
    bot.post(
      6,
      stop === 'killed' ? [{ id: 3 }] : ofAll(6, 50).map((part) => ({ ...part, status: 'offline' })),
    );
    if (stop === 'killed') {
      bot.nowMs += limits.formerCountQuietMs - 1;
      assert.equal(bot.post(5, [{ id: 0 }]), { kind: 'inconsistent' });
      bot.nowMs += 1;
    }
    const first = bot.post(5, ofAll(5, 61).slice(0, 4));
    const during = bot.state.servers;
    const last = bot.post(5, [{ id: 4, servers: 61 }]);

    assert.equal([first, during], [{ kind: 'applied' }, '300'], stop);
    assert.equal(last, { kind: 'applied', switched: 'complete' }, stop);
    assert.equal([bot.state.servers, bot.state.shards], ['305', '5'], stop);
  }
});

test('some processes of the former shard count do not come into force beside those that run', () => {
  const bot = createBot();
  bot.post(5, ofAll(5, 60));
  bot.post(6, ofAll(6, 50));
  for (let round = 0; round < 10; round++) {
    bot.nowMs += 2 * minuteMs;
    bot.post(5, [{ id: 0, servers: 60 }]);
    bot.nowMs += 2 * minuteMs;
    assert.equal(bot.post(6, ofAll(6, 50)), { kind: 'applied' });
  }

  assert.equal([bot.state.servers, bot.state.shards], ['300', '6']);
});

test('numbers that no part has posted stay as they were, 0 is a number', () => {
  const bot = createBot();
  bot.post(2, [{ id: 0, servers: 4 }, { id: 1 }]);
  const first = showTotals(bot).slice(0, 2);
  bot.post(3, [{ id: 0 }, { id: 1 }, { id: 2 }]);
  const unnamed = showTotals(bot).slice(0, 3);
  bot.post(3, [{ id: 0, users: 0 }]);
  const zero = bot.state.users;
  bot.post(3, [{ id: 0, servers: 8 }]);
  bot.nowMs += parts.goneMs + 1;
  bot.judge();

  assert.equal(first, ['4', '9']);
  assert.equal(unnamed, ['4', '9', '3']);
  assert.is(zero, '0');
  assert.equal(showTotals(bot).slice(0, 2), ['0', '0'], 'those that are gone do not count');
});

test('a third shard count replaces a building table', () => {
  const bot = createBot();
  bot.post(2, [{ id: 0 }]);
  bot.post(3, [{ id: 0 }]);
  bot.post(2, [{ id: 1 }]);

  assert.equal([...bot.tables.keys()], [2]);
  assert.is(bot.state.parts?.building?.seen, 1, 'the table began again');
});

test('a part that stops is stale, still counts, and is gone a day later', () => {
  const bot = createBot();
  bot.post(2, [
    { id: 0, servers: 50, status: 'online' },
    { id: 1, servers: 5, status: 'idle' },
  ]);
  bot.nowMs += parts.staleMs;
  bot.post(2, [{ id: 1 }]);
  bot.judge();
  assert.is(bot.state.status, 'online', 'exactly at the limit it is live');
  bot.nowMs += 1;
  bot.judge();
  assert.equal(showTotals(bot), ['55', '9', '2', '50,5', 'idle']);
  bot.nowMs = startMs + parts.goneMs;
  bot.judge();
  assert.equal([bot.state.servers, bot.state.status], ['55', 'offline']);
  bot.nowMs += 1;
  bot.judge();

  assert.equal(showTotals(bot), ['5', '9', '2', '0,5', 'offline']);
  bot.nowMs += parts.goneMs;
  bot.judge();
  assert.equal(showTotals(bot), ['0', '9', '2', '0,0', 'offline']);
  assert.is(bot.state.parts?.dueMs, limits.counterMax, 'nothing is due any more');
});

test('a stale part that posts again is live, and becomes stale again', () => {
  const bot = createBot();
  bot.post(1, ofAll(1, 4));
  bot.nowMs += parts.staleMs + 1;
  bot.judge();
  assert.is(bot.state.status, 'offline');
  bot.post(1, [{ id: 0, status: 'dnd' }]);
  assert.is(bot.state.status, 'dnd');
  bot.nowMs += parts.staleMs + 1;
  bot.judge();

  assert.is(bot.state.status, 'offline');
});

test('a judgement that is not due changes nothing', () => {
  const bot = createBot();
  bot.post(1, ofAll(1, 4));
  bot.nowMs += parts.switchMs;
  bot.judge();
  const { state } = bot;
  bot.nowMs = startMs + parts.staleMs;
  bot.judge();

  assert.is(bot.state, state);
});

test('a post that is older than the stored part changes nothing', () => {
  const bot = createBot();
  bot.post(1, ofAll(1, 4));
  const { state } = bot;
  const decision = bot.post(1, ofAll(1, 99), bot.nowMs - 1);

  assert.equal(decision, { kind: 'applied' });
  assert.is(bot.state, state);
});

test('a post of a node whose clock is wrong counts from the present time of the store', () => {
  for (const wrongMs of [-hourMs, hourMs]) {
    const bot = createBot();
    bot.post(1, ofAll(1, 4));
    bot.nowMs += minuteMs;
    bot.post(1, ofAll(1, 5), bot.nowMs + wrongMs);

    assert.is(bot.state.servers, '5');
    assert.ok((bot.tables.get(1)?.get(0)?.atMs ?? 0) >= bot.nowMs - limits.clockBehindMaxMs);
    assert.ok((bot.tables.get(1)?.get(0)?.atMs ?? 0) <= bot.nowMs);
  }
});

test('a post of totals ends the mode, a post of the status alone does not', () => {
  const bot = createBot();
  bot.post(2, ofAll(2, 4));
  bot.post(3, [{ id: 0 }]);
  bot.send({ kind: 'stats', target, atMs: bot.nowMs, status: 'dnd' });
  assert.equal([bot.state.servers, bot.state.status], ['8', 'dnd']);
  bot.post(2, [{ id: 0 }]);
  assert.is(bot.state.status, 'online');
  const ended = bot.send({ kind: 'stats', target, atMs: bot.nowMs, users: '3' });

  assert.equal(showTotals(bot), ['8', '3', '2', '4,4', 'online']);
  assert.equal(ended, { kind: 'applied', switched: 'totals' });
  assert.is(bot.state.parts, undefined);
  assert.not('parts' in bot.state);
  assert.is(bot.tables.size, 0);
});

test('a part without its id is part 0 beside others of its shard count, else the totals', () => {
  const bot = createBot();
  const post = (shardCount: number, servers: number, lostAt?: { generation: number; version: number }) =>
    bot.send({
      ...{ kind: 'parts', target, atMs: bot.nowMs, shardCount, parts: [{ id: 0, servers }], orTotals: true },
      ...(lostAt && { lostAt }),
    });
  assert.equal(post(3, 30), { kind: 'applied' });
  assert.equal([showTotals(bot).slice(0, 3), bot.tables.size], [['30', '9', '3'], 0]);
  bot.post(3, [{ id: 1, servers: 20 }]);
  assert.equal(post(3, 31), { kind: 'applied' });
  assert.is(bot.state.servers, '30', 'the table is still building');
  bot.post(3, [{ id: 2, servers: 4 }]);
  bot.nowMs += parts.staleMs + 1;
  bot.judge();
  post(3, 32);

  assert.equal(showTotals(bot).slice(0, 4), ['56', '9', '3', '32,20,4'], 'stale parts are others, too');
  assert.equal(post(2, 7), { kind: 'applied', switched: 'totals' });
  assert.equal([showTotals(bot).slice(0, 3), bot.tables.size], [['7', '9', '2'], 0]);
  bot.nowMs -= 1;
  post(2, 8, { generation: 1, version: 1 });
  assert.is(bot.state.servers, '7', 'a lost one does not undo a newer post');
});

test('a lost post counts again once, and does not begin a table after a newer post of totals', () => {
  const bot = createBot();
  bot.post(1, ofAll(1, 4));
  const lostAt = { generation: 1, version: 1 };
  const again = { kind: 'parts', target, shardCount: 1, parts: ofAll(1, 4), lostAt } as const;
  bot.nowMs += 2 * minuteMs;
  bot.send({ ...again, atMs: startMs + minuteMs });
  assert.is(bot.tables.get(1)?.get(0)?.atMs, startMs + minuteMs, 'it keeps its time');
  bot.send({ kind: 'stats', target, atMs: bot.nowMs, servers: '77' });
  bot.send({ ...again, atMs: startMs + minuteMs });

  assert.is(bot.state.parts, undefined);
  assert.is(bot.state.servers, '77');
});

test('uptime is counted with the status from before the change', () => {
  const bot = createBot();
  bot.post(1, ofAll(1, 4));
  bot.nowMs += 5 * minuteMs;
  bot.post(1, [{ id: 0, status: 'offline' }]);
  bot.nowMs += 5 * minuteMs;
  bot.judge();
  bot.post(1, [{ id: 0, status: 'online' }]);

  assert.equal([bot.state.uptime, bot.state.totalUptime], [1, 2]);
});

test.run();
