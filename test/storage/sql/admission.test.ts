/**
 * Admission: what runs concurrently, what waits, and what is refused.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { StorageError } from '../../../engine/errors.ts';
import {
  type AdmissionLimits,
  createAdmission,
  type Kind,
  type Line,
} from '../../../storage/sql/admission.ts';

const test = suite('admission');

/** Work that records its start and ends when the test says so. */
const makeWorld = (limits: Partial<AdmissionLimits> = {}) => {
  const usual = { connections: 2, pipelineMax: 3, waitingMax: 10, requestWaitMsMax: 60_000 };
  const admission = createAdmission({ ...usual, ...limits });
  const begun: string[] = [];
  const ends = new Map<string, { finish(): void; fail(error: unknown): void }>();
  const start = (name: string, kind: Kind, line: Line = 'own'): Promise<string> => {
    const work = (): Promise<string> =>
      new Promise((resolve, reject) => {
        begun.push(name);
        ends.set(name, { finish: () => resolve(name), fail: reject });
      });
    const done = admission.admit(line, kind, work);
    done.catch(() => {
      // A test that expects a failure awaits `done` itself.
    });
    return done;
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.finish();
    await new Promise(setImmediate);
  };
  return { begun, start, end, fail: (name: string, error: unknown) => ends.get(name)?.fail(error) };
};

const wordsOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => (error instanceof StorageError ? `${error.reason} ${error.outcome}` : String(error)),
  );

test('a transaction starts on an idle connection, which then takes no statements', async () => {
  const { begun, start, end } = makeWorld();
  for (const name of ['s1', 's2']) void start(name, 'statement');
  void start('t1', 'transaction');
  assert.equal(begun, ['s1', 's2'], 'two statements may be on two connections');

  await end('s1');
  for (const name of ['s3', 's4', 's5']) void start(name, 'statement');
  assert.equal(begun, ['s1', 's2', 't1', 's3', 's4'], 'three statements are left to one connection');
  await end('t1');
  assert.equal(begun, ['s1', 's2', 't1', 's3', 's4', 's5']);
});

test('nothing overtakes a waiting transaction', async () => {
  const { begun, start, end } = makeWorld({ connections: 1 });
  void start('s1', 'statement');
  void start('t1', 'transaction');
  void start('s2', 'statement');
  void start('s3', 'statement', 'request');
  assert.equal(begun, ['s1']);

  await end('s1');
  assert.equal(begun, ['s1', 't1']);
  await end('t1');
  assert.equal(begun, ['s1', 't1', 's3', 's2']);
});

test('a long queue of requests delays background work by one task', async () => {
  const { begun, start, end } = makeWorld({ connections: 1, pipelineMax: 1 });
  for (let number = 0; number < 8; number++) void start(`r${number}`, 'statement', 'request');
  for (let number = 0; number < 2; number++) void start(`o${number}`, 'transaction');

  for (const name of ['r0', 'o0', 'r1', 'o1', 'r2']) await end(name);
  assert.equal(begun, ['r0', 'o0', 'r1', 'o1', 'r2', 'r3']);
});

test('a full queue refuses new work, the other queue stays open', async () => {
  const { start, end } = makeWorld({ connections: 1, pipelineMax: 1, waitingMax: 2 });
  const first = start('r0', 'statement', 'request');
  const waiting = [start('r1', 'statement', 'request'), start('r2', 'transaction', 'request')];
  const refused = start('r3', 'statement', 'request');
  const own = start('o1', 'statement');

  assert.is(await wordsOf(refused), 'full not_applied');
  for (const name of ['r0', 'o1', 'r1', 'r2']) await end(name);
  assert.equal(await Promise.all([first, ...waiting, own]), ['r0', 'r1', 'r2', 'o1']);
});

test('a request whose time is over is refused, the newer one and own work have their turn', async () => {
  const { begun, start, end } = makeWorld({ connections: 1, pipelineMax: 1, requestWaitMsMax: 20 });
  void start('r0', 'statement', 'request');
  const late = [start('r1', 'statement', 'request'), start('r2', 'transaction', 'request')];
  void start('o1', 'statement');
  await sleep(25);
  void start('r3', 'statement', 'request');
  for (const name of ['r0', 'o1']) await end(name);

  assert.equal(begun, ['r0', 'o1', 'r3']);
  assert.equal(await Promise.all(late.map(wordsOf)), ['full not_applied', 'full not_applied']);
});

test('after a failure the next one begins, after a broken connection a moment later', async () => {
  const { begun, start, fail } = makeWorld({ connections: 1, pipelineMax: 1 });
  const works = [start('s1', 'statement'), start('s2', 'statement'), start('s3', 'statement')];
  fail('s1', new Error('no such table'));
  assert.is(await wordsOf(works[0] as Promise<string>), 'Error: no such table');
  assert.equal(begun, ['s1', 's2']);

  const broken = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
  fail('s2', broken);
  assert.is(await wordsOf(works[1] as Promise<string>), 'Error: reset');
  await new Promise(setImmediate);
  assert.equal(begun, ['s1', 's2'], 'the driver may still use it');
  while (begun.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
});

test('limits that exceed what the driver supports per connection are refused', () => {
  assert.throws(() => makeWorld({ connections: 25, pipelineMax: 4 }), /must be below 100/);
});

test.run();
