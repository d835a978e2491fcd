/**
 * The clock watch: its notes and measurements. The test controls the clocks of the node and of
 * the store; the last test uses a real Redis.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Clock } from '../../engine/ports.ts';
import { createClockWatch } from '../../ops/watch/clock-watch.ts';
import { openRedisStore } from '../../storage/hot/redis/store.ts';
import { assertNoNote, assertNote } from '../support/notes.ts';
import { startRedis } from '../support/redis-server.ts';

const test = suite('clock watch');

const startMs = 1_800_000_000_000;

interface Times {
  /** How far the node's clock is ahead. */
  aheadMs: number;
  /** The duration of a request to the store. */
  requestMs: number;
  /** How far Postgres' clock is ahead. */
  sqlMs?: number;
}

const open = (times: Times, away = () => false) => {
  const reports = { measured: [] as number[] };
  const sqlReports: number[] = [];
  let passedMs = 0;
  const clock: Clock = {
    nowMs: () => startMs + passedMs + times.aheadMs,
    monotonicMs: () => passedMs,
    after: () => () => {},
    endOfTick: () => {},
  };
  const watch = createClockWatch({
    sqlClock: async () => {
      if (away()) throw new Error('away');
      return [startMs + passedMs + (times.sqlMs ?? times.aheadMs)];
    },
    findAhead: async (nowMs) => (nowMs < startMs ? 'votes.created_at 2036' : ''),
    onSqlMeasured: (ms) => sqlReports.push(ms),
    storeClocks: async () => {
      if (away()) throw new Error('away');
      const stores = [startMs + passedMs];
      passedMs += times.requestMs;
      return stores;
    },
    clock,
    onMeasured: (ms) => reports.measured.push(ms),
  });
  return { reports, sqlReports, watch };
};

test('a clock that is right, or off by less than the limit, has no note', async () => {
  for (const aheadMs of [0, 2_000, -5_000]) {
    const { reports, watch } = open({ aheadMs, requestMs: 0 });

    await watch.check();

    assert.equal(watch.listNotes(), []);
    assert.equal(reports, { measured: [aheadMs] });
  }
});

test('the note about a wrong clock has the offset, its direction and the consequence', async () => {
  const ahead = open({ aheadMs: 2_001, requestMs: 0 });
  const behind = open({ aheadMs: -5_001, requestMs: 0 });
  await ahead.watch.check();
  await behind.watch.check();

  assert.match(
    ahead.watch.listNotes()[0] ?? '',
    /votes are refused.* 2001 ms ahead of .*\(2000 ms are allowed\)/,
  );
  assert.match(
    behind.watch.listNotes()[0] ?? '',
    /votes are refused.* 5001 ms behind .*\(5000 ms are allowed\)/,
  );
});

test('the note goes when the clocks agree again', async () => {
  const times = { aheadMs: 60_000, requestMs: 0 };
  const { watch } = open(times);

  await watch.check();
  assertNote('clock_wrong', watch.listNotes());

  times.aheadMs = 0;
  await watch.check();
  assertNoNote('clock_wrong', watch.listNotes());
});

test('a slow request to the store does not count as a wrong clock', async () => {
  const { reports, watch } = open({ aheadMs: -6_000, requestMs: 6_500 });

  await watch.check();

  assert.equal(watch.listNotes(), []);
  assert.equal(reports.measured, [0]);
});

test('while the store does not answer, the note stays as it was', async () => {
  let away = false;
  const { watch } = open({ aheadMs: 60_000, requestMs: 0 }, () => away);
  await watch.check();
  away = true;

  await watch.check();

  assert.is(watch.listNotes().length, 1);
});

test('embedded stores use the clock of this machine: nothing is measured', async () => {
  const measured: number[] = [];
  const watch = createClockWatch({
    storeClocks: null,
    sqlClock: null,
    findAhead: async () => '',
    onSqlMeasured: (ms) => measured.push(ms),
    clock: { nowMs: () => 0, monotonicMs: () => 0, after: () => () => {}, endOfTick: () => {} },
    onMeasured: (ms) => measured.push(ms),
  });

  await watch.check();

  assert.equal([watch.listNotes(), measured], [[], []]);
});

test('a clock that differs from that of Postgres has a note of its own, until both agree', async () => {
  const times = { aheadMs: 0, requestMs: 0, sqlMs: -3_600_000 };
  const { sqlReports, watch } = open(times);

  await watch.check();
  assertNote('clock_apart', watch.listNotes());
  assert.match(watch.listNotes()[0] ?? '', /3600000 ms ahead of that of Postgres/);
  assertNoNote('clock_wrong', watch.listNotes());

  times.sqlMs = 0;
  await watch.check();
  assertNoNote('clock_apart', watch.listNotes());
  assert.equal(sqlReports, [3_600_000, 0]);
});

test('a clock that is set back below what the stores say has a note, until it is right again', async () => {
  const times = { aheadMs: 0, requestMs: 0 };
  const { watch } = open(times);
  await watch.check();

  times.aheadMs = -10 * 86_400_000;
  await watch.check();
  assertNote('clock_set_back', watch.listNotes());
  assert.match(watch.listNotes().join(), /clock_set_back: .*votes\.created_at 2036.*--accept-clock/);

  times.aheadMs = 0;
  await watch.check();
  assertNoNote('clock_set_back', watch.listNotes());
});

test('a suspended machine finds its clock ahead: no note, nor when it is set back from there', async () => {
  const times = { aheadMs: 0, requestMs: 0 };
  const { watch } = open(times);
  await watch.check();
  for (const aheadMs of [5 * 86_400_000, 0]) {
    times.aheadMs = aheadMs;
    await watch.check();
    assertNoNote('clock_set_back', watch.listNotes());
  }
});

test('the store reads the time of Redis', async () => {
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
