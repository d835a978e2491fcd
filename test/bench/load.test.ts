/**
 * The load generators, against a real server: what they count, and that they end with what they started.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type LoadName, openLoad } from '../../bench/load/load.ts';
import { type Load, type LoadResult, type Order, unwatched, type Watch } from '../../bench/load/order.ts';
import { isWrkInstalled } from '../../bench/load/wrk.ts';
import { createDirectory } from '../../bench/scenarios/directory.ts';
import { startBare } from '../../bench/servers/rollcall.ts';

const test = suite('bench load');
const directory = createDirectory({ bots: 20, users: 16 });

const server = await startBare();
test.after(async () => {
  await server.stop();
});

const orderOf = (changes: Partial<Order> = {}): Order => ({
  scenario: 'stats',
  url: server.url,
  round: 1,
  usedSeconds: 0,
  connections: 8,
  warmupSeconds: 0.05,
  measureSeconds: 0.3,
  rate: 0,
  placement: null,
  ...changes,
});
const using = async <Value>(name: LoadName, rate: number, task: (load: Load) => Promise<Value>) => {
  const load = openLoad(name, rate, directory);
  try {
    return await task(load);
  } finally {
    await load.close();
  }
};

/** A machine that stands still for a moment may have a round without an answer: then there is another. */
const answered = async (load: Load, order: Order, watching: Watch = unwatched): Promise<LoadResult> => {
  let result = await load.measure(order, watching);
  for (let attempt = 0; attempt < 5 && result.requests === 0; attempt++)
    result = await load.measure(order, watching);
  return result;
};

test('wrk is taken where it is installed, autocannon for a rate and elsewhere', async () => {
  assert.is(await using('auto', 0, async ({ name }) => name), isWrkInstalled() ? 'wrk' : 'autocannon');
  assert.is(await using('auto', 100, async ({ name }) => name), 'autocannon');
});

for (const name of ['auto', 'autocannon'] as const) {
  test(`${name}: only the measured time counts, slice by slice`, async () => {
    const marks: string[] = [];
    const marking = { begun: () => void marks.push('begun'), ended: () => void marks.push('ended') };

    const result = await using(name, 0, (load) => answered(load, orderOf(), marking));

    assert.equal(marks.slice(-2), ['begun', 'ended']);
    assert.ok(result.requests > 0);
    assert.is(
      result.perSlice.reduce((sum, count) => sum + count, 0),
      result.requests,
    );
    assert.equal(result.failures, {});
    assert.ok(result.bytes > result.requests * 100);
    assert.ok((result.latencyMs[0] ?? 0) > 0);
  });
}

test('each request opens a new connection where a scenario says so', async () => {
  const { requests, failures } = await using('auto', 0, (load) =>
    load.measure(orderOf({ scenario: 'churn' }), unwatched),
  );

  assert.ok(requests > 0);
  assert.equal(failures, {});
});

test('a rate is kept, where a closed loop would send thousands', async () => {
  const { requests } = await using('auto', 100, (load) =>
    load.measure(orderOf({ scenario: 'read', rate: 100, measureSeconds: 1 }), unwatched),
  );

  assert.ok(requests <= 500, `${requests} requests`);
});

test('a server that is away fails the round in words', async () => {
  const url = 'http://127.0.0.1:1';

  const failure = await using('auto', 0, (load) =>
    load.measure(orderOf({ url }), unwatched).then(({ requests }) => `${requests} requests`, String),
  );

  assert.match(failure, /wrk ended early|0 requests/);
});

test.run();
