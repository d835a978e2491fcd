/**
 * Turns, batches and numbers of one shard queue.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  answerTurn,
  createShardQueue,
  expireTurn,
  failTurn,
  putBack,
  restartNumbering,
  seal,
} from '../../../engine/commit/shard-queue.ts';
import { botRef, clickOn, recordedTurn } from '../kit.ts';

const test = suite('shard queue');

const ref = botRef('one');
const createQueueWith = (turns: number) => {
  const shardQueue = createShardQueue(ref.shard, 'node-1', false);
  const all = Array.from({ length: turns }, (_, index) => recordedTurn(clickOn(ref, String(index))));
  shardQueue.open.push(...all);
  return { shardQueue, turns: all };
};

test('the first batch of a shard queue has number 1 and the items in order', () => {
  const { shardQueue, turns } = createQueueWith(3);

  const sealed = seal(shardQueue, 10);

  assert.equal(sealed?.batch, {
    shard: ref.shard,
    producer: 'node-1',
    sequence: 1,
    items: turns.map((t) => t.item),
  });
  assert.equal(shardQueue.open, []);
  assert.equal(
    turns.filter((turn) => turn.stage !== 'sealed'),
    [],
  );
});

test('a batch takes at most its maximum, and the rest waits in order', () => {
  const { shardQueue, turns } = createQueueWith(5);

  const sealed = seal(shardQueue, 2);

  assert.equal(sealed?.turns, turns.slice(0, 2));
  assert.equal(shardQueue.open, turns.slice(2));
});

test('turns that were taken back are not sealed', () => {
  const { shardQueue, turns } = createQueueWith(2);
  expireTurn(turns[0] as (typeof turns)[0]);

  const sealed = seal(shardQueue, 10);

  assert.equal(sealed?.turns, [turns[1]]);
  expireTurn(turns[1] as (typeof turns)[0]);
  assert.is(seal(shardQueue, 10), null);
});

test('a shard queue without open turns seals nothing and uses no number', () => {
  const { shardQueue } = createQueueWith(0);

  assert.is(seal(shardQueue, 10), null);
  assert.is(shardQueue.sequence, 0);
});

test('a number is used again until it is known to be applied', () => {
  const { shardQueue } = createQueueWith(2);
  const first = seal(shardQueue, 1);
  shardQueue.sealed = false;
  const second = seal(shardQueue, 1);
  assert.is(first?.batch.sequence, second?.batch.sequence);

  shardQueue.sealed = false;
  shardQueue.sequence = 1;
  shardQueue.open.push(recordedTurn(clickOn(ref)));

  assert.is(seal(shardQueue, 1)?.batch.sequence, 2);
});

test('a shard queue has at most one sealed batch', () => {
  const { shardQueue } = createQueueWith(2);
  seal(shardQueue, 1);

  assert.throws(() => seal(shardQueue, 1), /at most one sealed batch/);
});

test('restarted numbering begins with 1 under a new producer name', () => {
  const { shardQueue } = createQueueWith(1);
  shardQueue.sequence = 7;

  restartNumbering(shardQueue);
  const names = [shardQueue.producer];
  restartNumbering(shardQueue);
  names.push(shardQueue.producer);

  assert.equal(names, ['node-1~1', 'node-1~2']);
  assert.is(seal(shardQueue, 1)?.batch.sequence, 1);
  assert.ok(shardQueue.broken);
});

test('turns that are put back come before later ones', () => {
  const { shardQueue, turns } = createQueueWith(2);
  const sealed = seal(shardQueue, 10);
  const later = recordedTurn(clickOn(ref, 'later'));
  shardQueue.open.push(later);

  putBack(sealed as NonNullable<typeof sealed>);

  assert.equal(shardQueue.open, [...turns, later]);
  assert.equal(
    turns.filter((turn) => turn.stage !== 'open'),
    [],
  );
});

test('an open turn whose deadline passed was certainly not counted', () => {
  const turn = recordedTurn(clickOn(ref));

  assert.ok(expireTurn(turn));

  assert.equal(turn.failure, { outcome: 'not_applied', code: 'deadline_passed' });
  assert.is(turn.closedTimes, 1);
});

test('a sealed turn whose deadline passed may have been counted, and stays', () => {
  const { shardQueue, turns } = createQueueWith(1);
  const turn = turns[0] as (typeof turns)[0];
  seal(shardQueue, 1);

  assert.not(expireTurn(turn));
  assert.not(expireTurn(turn));

  assert.equal(turn.failure, { outcome: 'unknown', code: 'deadline_passed' });
  assert.is(turn.stage, 'sealed');
  assert.is(turn.closedTimes, 0);
});

test('a turn that expired is closed by the decision and not answered again', () => {
  const { shardQueue, turns } = createQueueWith(1);
  const turn = turns[0] as (typeof turns)[0];
  seal(shardQueue, 1);
  expireTurn(turn);

  answerTurn(turn, { decision: { kind: 'applied' }, state: null, generation: 1 });

  assert.is(turn.decided, null);
  assert.is(turn.closedTimes, 1);
});

test('a turn is closed once', () => {
  const turn = recordedTurn(clickOn(ref));
  failTurn(turn, { outcome: 'not_applied', code: 'overloaded' });

  assert.throws(() => failTurn(turn, { outcome: 'not_applied', code: 'overloaded' }), /closed once/);
  assert.throws(() => answerTurn(turn, { decision: { kind: 'applied' }, state: null, generation: 1 }));
});

test.run();
