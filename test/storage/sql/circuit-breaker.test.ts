/**
 * The circuit breaker: refuses at once while the server is unavailable, probes until it answers, and abandons
 * hanging work. Needs no server: the tests supply the probes.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import { type CircuitBreaker, createCircuitBreaker } from '../../../storage/sql/circuit-breaker.ts';
import { guardSql, type Sql } from '../../../storage/sql/client.ts';

const test = suite('breaker');

interface World {
  readonly breaker: CircuitBreaker;
  away: boolean;
  probes: number;
  readonly events: string[];
}

const open: CircuitBreaker[] = [];
// The breaker's own timers keep no process alive.
const alive = setInterval(() => {}, 1_000);
test.after(() => clearInterval(alive));
test.after.each(() => {
  for (const one of open.splice(0)) one.close();
});

const createWorld = (times: { retryMs: number; suspectMs: number }): World => {
  const world = { away: false, probes: 0, events: [] as string[] } as World & { breaker: CircuitBreaker };
  world.breaker = createCircuitBreaker({
    ...times,
    onOpened: () => world.events.push('opened'),
    onClosed: () => world.events.push('closed'),
    probe: async () => {
      world.probes += 1;
      if (world.away) throw new Error('connection refused');
    },
  });
  open.push(world.breaker);
  return world;
};

const refused = (): Promise<never> =>
  Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
const endOf = async (task: Promise<unknown>): Promise<string> =>
  task.then(
    () => 'resolved',
    (error) =>
      error instanceof StorageError ? `${error.reason} ${error.outcome}` : `${error.code ?? error.message}`,
  );
const until = async (claim: () => boolean): Promise<void> => {
  for (let step = 0; step < 500 && !claim(); step++) await new Promise((resolve) => setTimeout(resolve, 2));
  assert.ok(claim());
};

test('work that finds the server away opens it: later work is refused unsent, in under 5 ms', async () => {
  const world = createWorld({ retryMs: 10_000, suspectMs: 10_000 });
  world.away = true;
  assert.is(await endOf(world.breaker.run(refused)), 'ECONNREFUSED');

  let sent = 0;
  const startedMs = performance.now();
  for (let count = 0; count < 100; count++) {
    const work = async () => {
      sent += 1;
    };
    assert.is(await endOf(world.breaker.run(work)), 'unreachable not_applied');
  }
  assert.is(sent, 0);
  assert.ok(performance.now() - startedMs < 500);
  assert.match(world.breaker.getLastError() ?? '', /^it has not answered for \d+ s \(connection refused\)$/);
});

test('it reports one opening and one closing per outage, for the log', async () => {
  const world = createWorld({ retryMs: 5, suspectMs: 10_000 });
  world.away = true;
  await endOf(world.breaker.run(refused));
  await endOf(world.breaker.run(refused));
  world.away = false;
  await until(() => world.breaker.getLastError() === null);

  assert.equal(world.events, ['opened', 'closed']);
});

test('probes go on until one is answered; then work passes again', async () => {
  const world = createWorld({ retryMs: 5, suspectMs: 10_000 });
  world.away = true;
  await endOf(world.breaker.run(refused));
  await until(() => world.probes >= 3);
  assert.ok(world.breaker.getLastError() !== null);

  world.away = false;
  await until(() => world.breaker.getLastError() === null);
  assert.is(await world.breaker.run(async () => 7), 7);
});

test('a broken connection to a reachable server costs one probe, not two', async () => {
  const world = createWorld({ retryMs: 60_000, suspectMs: 10_000 });
  await endOf(world.breaker.run(refused));
  await until(() => world.breaker.getLastError() === null);
  assert.is(world.probes, 1);
});

test('errors of a server that answers leave it closed', async () => {
  const world = createWorld({ retryMs: 10, suspectMs: 10_000 });
  for (const code of ['23505', '55P03', '57014', '40P01']) {
    await endOf(world.breaker.run(() => Promise.reject(Object.assign(new Error(code), { code }))));
  }
  assert.is(world.breaker.getLastError(), null);
  assert.is(world.probes, 0);
});

test('work that hangs without an answer is abandoned as unknown, and the breaker opens', async () => {
  const world = createWorld({ retryMs: 10_000, suspectMs: 40 });
  world.away = true;
  assert.is(await endOf(world.breaker.run(() => new Promise(() => {}))), 'unreachable unknown');
  assert.ok(world.breaker.getLastError() !== null);
});

test('slow work of a server that answers is left alone', async () => {
  const world = createWorld({ retryMs: 10_000, suspectMs: 20 });
  let finish = (_: string): void => {};
  const slow = world.breaker.run(() => new Promise<string>((resolve) => (finish = resolve)));
  await until(() => world.probes >= 2);
  finish('done');
  assert.is(await slow, 'done');
  assert.is(world.breaker.getLastError(), null);
});

test('a guarded statement is sent once when it is awaited, and not at all while open', async () => {
  const world = createWorld({ retryMs: 10_000, suspectMs: 10_000 });
  let sent = 0;
  class Lazy extends Promise<number> {
    static override get [Symbol.species]() {
      return Promise;
    }
    // biome-ignore lint/suspicious/noThenProperty: stands for a statement of the driver.
    override then<A, B>(...words: Parameters<Promise<number>['then']>): Promise<A | B> {
      sent += 1;
      return super.then(...words) as Promise<A | B>;
    }
  }
  const sql = guardSql((() => new Lazy((resolve) => resolve(1))) as unknown as Sql, world.breaker);
  const statement = sql`select 1`;
  assert.is(sent, 0);
  assert.is((await statement) as unknown, 1);
  assert.is((await statement) as unknown, 1);
  assert.is(sent, 1);

  world.away = true;
  await endOf(world.breaker.run(refused));
  assert.is(await endOf(sql`select 1`), 'unreachable not_applied');
  assert.is(await sql`select 1`.catch(() => 'caught'), 'caught');
  assert.is(sent, 1);
});

test.run();
