/**
 * The checker of histories on histories whose answer is known: a register with reads and writes.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLog, type VoteOp } from '../../../bench/prove/client-log.ts';
import { firstWindowFaults } from '../../../bench/prove/first-window.ts';
import { isLinearizable, type Model, type Operation } from '../../../bench/prove/linearizability.ts';

const test = suite('linearizability');

type Event = { readonly write: number } | { readonly read: number };
const register: Model<number, Event> = {
  initial: 0,
  apply: (state, event) => ('write' in event ? event.write : event.read === state ? state : null),
  keyOf: String,
};
const at = (callMs: number, returnMs: number, event: Event): Operation<Event> => ({
  event,
  callMs,
  returnMs,
});
const unknown = Number.POSITIVE_INFINITY;

test('one after the other: the last write is read', () => {
  assert.ok(isLinearizable(register, [at(0, 1, { write: 1 }), at(2, 3, { read: 1 })]));
});

test('a stale read is found', () => {
  assert.not(isLinearizable(register, [at(0, 1, { write: 1 }), at(2, 3, { read: 0 })]));
});

test('while a write is under way both values may be read, but not the old one after the new one', () => {
  const write = at(0, 10, { write: 1 });
  assert.ok(isLinearizable(register, [write, at(1, 2, { read: 0 }), at(3, 4, { read: 1 })]));
  assert.not(isLinearizable(register, [write, at(1, 2, { read: 1 }), at(3, 4, { read: 0 })]));
});

test('an unknown write may take effect late, or never, but not before its request', () => {
  const write = at(5, unknown, { write: 1 });
  assert.ok(isLinearizable(register, [write, at(20, 21, { read: 0 }), at(30, 31, { read: 1 })]));
  assert.ok(isLinearizable(register, [write, at(20, 21, { read: 0 })]));
  assert.not(isLinearizable(register, [write, at(0, 1, { read: 1 })]));
  assert.not(isLinearizable(register, [write, at(20, 21, { read: 1 }), at(30, 31, { read: 0 })]));
});

test('an order of many overlapping operations is found', () => {
  const writes = Array.from({ length: 12 }, (_, index) => at(index, index + 6, { write: index }));
  assert.ok(isLinearizable(register, [...writes, at(30, 31, { read: 9 })]));
  assert.not(isLinearizable(register, [...writes, at(30, 31, { read: 2 })]));
});

const voteAt = (callMs: number, outcome: VoteOp['outcome'], refused = false): VoteOp => {
  const target = 'bot/1';
  const returnMs = callMs + 1;
  return {
    op: 'vote',
    id: 1,
    life: 0,
    callMs,
    returnMs,
    outcome,
    status: 0,
    target,
    user: '1',
    upvote: true,
    refused,
  };
};
const faultsOf = (...votes: VoteOp[]): number => {
  const log = createLog();
  log.votes.push(...votes);
  return firstWindowFaults(log, 1_000).length;
};

test('of a first window one vote is accepted, and refusals follow it', () => {
  assert.is(faultsOf(voteAt(0, 'ok'), voteAt(10, 'fail', true)), 0);
  assert.is(faultsOf(voteAt(0, 'unknown'), voteAt(10, 'fail', true), voteAt(2_000, 'ok')), 0);
  assert.is(faultsOf(voteAt(0, 'fail', true), voteAt(10, 'ok')), 1);
  assert.is(faultsOf(voteAt(0, 'ok'), voteAt(10, 'ok')), 1);
});

test.run();
