/**
 * The watch over a node's clock: what it says, and when. The node's clock and the store's answers are in the
 * hands of the test; once they are real, with a Redis.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Clock } from '../../engine/ports.ts';
import { createClockWatch } from '../../ops/clock-watch.ts';
import { openRedisStore } from '../../storage/hot/redis/store.ts';
import { startRedis } from '../support/redis-server.ts';

const test = suite('clock watch');

const startMs = 1_800_000_000_000;

interface Times {
  /** How far the node's clock is ahead. */
  aheadMs: number;
  /** What passes while the store is asked. */
  wayMs: number;
}

const open = (times: Times, away = () => false) => {
  const told = { measured: [] as number[], warned: [] as string[], agreed: 0 };
  let passedMs = 0;
  const clock: Clock = {
    nowMs: () => startMs + passedMs + times.aheadMs,
    monotonicMs: () => passedMs,
    after: () => () => {},
    endOfTick: () => {},
  };
  const watch = createClockWatch({
    storeClocks: async () => {
      if (away()) throw new Error('away');
      const stores = [startMs + passedMs];
      passedMs += times.wayMs;
      return stores;
    },
    clock,
    onMeasured: (ms) => told.measured.push(ms),
    log: {
      warn: (words) => told.warned.push(words),
      info: () => {
        told.agreed += 1;
      },
    },
  });
  return { told, watch };
};

test('a clock that is right, or off by less than votes allow, has no note', async () => {
  for (const aheadMs of [0, 2_000, -5_000]) {
    const { told, watch } = open({ aheadMs, wayMs: 0 });

    await watch.measure();

    assert.equal(watch.listNotes(), []);
    assert.equal(told, { measured: [aheadMs], warned: [], agreed: 0 });
  }
});

test('a clock that is off is noted with how far, which way and what comes of it', async () => {
  const ahead = open({ aheadMs: 2_001, wayMs: 0 });
  const behind = open({ aheadMs: -5_001, wayMs: 0 });
  await ahead.watch.measure();
  await behind.watch.measure();

  assert.match(
    ahead.watch.listNotes()[0] ?? '',
    /votes are refused.* 2001 ms ahead of .*\(2000 ms are allowed\)/,
  );
  assert.match(
    behind.watch.listNotes()[0] ?? '',
    /votes are refused.* 5001 ms behind .*\(5000 ms are allowed\)/,
  );
});

test('the log has it once, and once that it is over', async () => {
  const times = { aheadMs: 60_000, wayMs: 0 };
  const { told, watch } = open(times);

  for (let looks = 0; looks < 3; looks++) await watch.measure();
  assert.is(told.warned.length, 1);
  assert.is(told.agreed, 0);

  times.aheadMs = 0;
  for (let looks = 0; looks < 3; looks++) await watch.measure();
  assert.equal(watch.listNotes(), []);
  assert.is(told.warned.length, 1);
  assert.is(told.agreed, 1);
});

test('a slow way to the store is not taken for a wrong clock', async () => {
  const { told, watch } = open({ aheadMs: -6_000, wayMs: 6_500 });

  await watch.measure();

  assert.equal(watch.listNotes(), []);
  assert.equal(told.measured, [0]);
});

test('while the store does not answer, the note stays as it was', async () => {
  let away = false;
  const { watch } = open({ aheadMs: 60_000, wayMs: 0 }, () => away);
  await watch.measure();
  away = true;

  await watch.measure();

  assert.is(watch.listNotes().length, 1);
});

test("embedded stores have this machine's clock: nothing is looked at", async () => {
  const measured: number[] = [];
  const watch = createClockWatch({
    storeClocks: null,
    clock: { nowMs: () => 0, monotonicMs: () => 0, after: () => () => {}, endOfTick: () => {} },
    onMeasured: (ms) => measured.push(ms),
    log: { warn: () => {}, info: () => {} },
  });

  await watch.measure();

  assert.equal([watch.listNotes(), measured], [[], []]);
});

test('Redis tells its own time', async () => {
  const redis = await startRedis();
  const store = await openRedisStore({ urls: [redis.url] });
  try {
    const beforeMs = Date.now();
    const [storeMs = 0] = await store.readClocks();

    // One machine, one clock.
    assert.ok(storeMs >= beforeMs - 1 && storeMs <= Date.now() + 1, `${storeMs - beforeMs} ms off`);
  } finally {
    await store.close();
    await redis.dispose();
  }
});

test.run();
