/**
 * The circuit breaker: refuses at once while the server is unavailable, probes until it answers, and abandons
 * hanging work. Needs no server: the tests supply the probes.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createNotAppliedError, StorageError } from '../../../engine/errors.ts';
import { type CircuitBreaker, createCircuitBreaker } from '../../../storage/sql/circuit-breaker.ts';
import { guardSql, type Sql } from '../../../storage/sql/client.ts';

const test = suite('breaker');

interface World {
  readonly breaker: CircuitBreaker;
  away: boolean;
  probes: number;
}

const open: CircuitBreaker[] = [];
// The breaker's own timers keep no process alive.
const alive = setInterval(() => {}, 1_000);
test.after(() => clearInterval(alive));
test.after.each(() => {
  for (const one of open.splice(0)) one.close();
});

const createWorld = (times: { retryMs: number; suspectMs: number }): World => {
  const world = { away: false, probes: 0 } as World & { breaker: CircuitBreaker };
  world.breaker = createCircuitBreaker({
    ...times,
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

/** A breaker whose probes are answered. */
const createAnswered = (onStuck: () => void) => {
  const probe = async (): Promise<undefined> => undefined;
  const breaker = createCircuitBreaker({ probe, retryMs: 10_000, suspectMs: 20, stuckMs: 60, onStuck });
  open.push(breaker);
  return breaker;
};

test('work without an answer on dead connections is given up once, though the server answers', async () => {
  let renewals = 0;
  const breaker = createAnswered(() => {
    renewals += 1;
  });
  const hang = (): Promise<string> => endOf(breaker.run(() => new Promise(() => {})));
  assert.equal(await Promise.all([hang(), hang()]), ['unreachable unknown', 'unreachable unknown']);
  assert.is(renewals, 1);
  assert.is(breaker.getLastError(), null, 'the server is not away');

  let ended = 0;
  for (const one of [hang(), hang()]) one.then(() => ended++);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal([renewals, ended], [1, 0], 'new connections did not help: no more are made');
  assert.is(await breaker.run(async () => 7), 7);
  await until(() => ended === 2);
  assert.is(renewals, 2);
});

test('work on dead connections is given up although further work is refused before it is sent', async () => {
  let renewals = 0;
  const breaker = createAnswered(() => {
    renewals += 1;
  });
  for (let count = 0; count < 2; count++) void endOf(breaker.run(() => new Promise(() => {})));
  const refusal = createNotAppliedError('sql', 'full', 'too many statements are waiting');
  for (let count = 0; count < 30 && renewals === 0; count++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.is(await endOf(breaker.run(() => Promise.reject(refusal))), 'full not_applied');
  }
  assert.is(renewals, 1);
});

test('work that hangs alone, or beside work that ends, is left alone', async () => {
  const breaker = createAnswered(() => assert.unreachable());
  const finish: (() => void)[] = [];
  const slow = (): Promise<void> => breaker.run(() => new Promise<void>((resolve) => finish.push(resolve)));
  const first = slow();
  await new Promise((resolve) => setTimeout(resolve, 150));
  const second = slow();
  for (let count = 0; count < 15; count++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    await breaker.run(async () => 7);
  }
  for (const end of finish) end();
  await Promise.all([first, second]);
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
