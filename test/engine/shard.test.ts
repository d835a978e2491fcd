/**
 * Turns, batches and numbers of one shard's line.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  answerTurn,
  createLine,
  expireTurn,
  failTurn,
  putBack,
  restartLine,
  seal,
} from '../../engine/shard.ts';
import { botRef, clickOn, recordedTurn } from './kit.ts';

const test = suite('shard');

const ref = botRef('one');
const lineWith = (turns: number) => {
  const line = createLine(ref.shard, 'node-1');
  const all = Array.from({ length: turns }, (_, index) => recordedTurn(clickOn(ref, String(index))));
  line.open.push(...all);
  return { line, turns: all };
};

test('the first batch of a line has number 1 and the items in order', () => {
  const { line, turns } = lineWith(3);

  const sealed = seal(line, 10);

  assert.equal(sealed?.batch, {
    shard: ref.shard,
    producer: 'node-1',
    sequence: 1,
    items: turns.map((t) => t.item),
  });
  assert.equal(line.open, []);
  assert.ok(turns.every((turn) => turn.place === 'sealed'));
});

test('a batch takes at most its maximum, and the rest waits in order', () => {
  const { line, turns } = lineWith(5);

  const sealed = seal(line, 2);

  assert.equal(sealed?.turns, turns.slice(0, 2));
  assert.equal(line.open, turns.slice(2));
});

test('turns that were taken back are not sealed', () => {
  const { line, turns } = lineWith(2);
  expireTurn(turns[0] as (typeof turns)[0]);

  const sealed = seal(line, 10);

  assert.equal(sealed?.turns, [turns[1]]);
  expireTurn(turns[1] as (typeof turns)[0]);
  assert.is(seal(line, 10), null);
});

test('a line without open turns seals nothing and uses no number', () => {
  const { line } = lineWith(0);

  assert.is(seal(line, 10), null);
  assert.is(line.sequence, 0);
});

test('a number is used again until it is known to be applied', () => {
  const { line } = lineWith(2);
  const first = seal(line, 1);
  line.sealed = false;
  const second = seal(line, 1);
  assert.is(first?.batch.sequence, second?.batch.sequence);

  line.sealed = false;
  line.sequence = 1;
  line.open.push(recordedTurn(clickOn(ref)));

  assert.is(seal(line, 1)?.batch.sequence, 2);
});

test('a line has at most one sealed batch', () => {
  const { line } = lineWith(2);
  seal(line, 1);

  assert.throws(() => seal(line, 1), /at most one sealed batch/);
});

test('a line that starts again numbers from 1 under a name never used before', () => {
  const { line } = lineWith(1);
  line.sequence = 7;

  restartLine(line);
  const names = [line.producer];
  restartLine(line);
  names.push(line.producer);

  assert.equal(names, ['node-1~1', 'node-1~2']);
  assert.is(seal(line, 1)?.batch.sequence, 1);
  assert.ok(line.broken);
});

test('turns put back stand before those that came later', () => {
  const { line, turns } = lineWith(2);
  const sealed = seal(line, 10);
  const later = recordedTurn(clickOn(ref, 'later'));
  line.open.push(later);

  putBack(line, sealed as NonNullable<typeof sealed>);

  assert.equal(line.open, [...turns, later]);
  assert.ok(turns.every((turn) => turn.place === 'open'));
});

test('an open turn whose deadline passed was certainly not counted', () => {
  const turn = recordedTurn(clickOn(ref));

  assert.ok(expireTurn(turn));

  assert.equal(turn.failure, { outcome: 'not_applied', code: 'deadline_passed' });
  assert.is(turn.closedTimes, 1);
});

test('a sealed turn whose deadline passed may have been counted, and stays', () => {
  const { line, turns } = lineWith(1);
  const turn = turns[0] as (typeof turns)[0];
  seal(line, 1);

  assert.not(expireTurn(turn));
  assert.not(expireTurn(turn));

  assert.equal(turn.failure, { outcome: 'unknown', code: 'deadline_passed' });
  assert.is(turn.place, 'sealed');
  assert.is(turn.closedTimes, 0);
});

test('a turn that expired is closed by the decision and not answered again', () => {
  const { line, turns } = lineWith(1);
  const turn = turns[0] as (typeof turns)[0];
  seal(line, 1);
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
