/**
 * Login states: created by one node, accepted by every node with the same secret and by no other.
 */
import { hash, randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLoginStates, loginStateMs } from '../../../http/auth/login-state.ts';

const test = suite('login state');
const secret = randomBytes(32);
const states = createLoginStates(secret);
const nowMs = 1_800_000_000_000;

test('another node with the same secret derives the verifier of the challenge', () => {
  const { state, challenge } = states.create(nowMs);
  const verifier = createLoginStates(secret).findVerifier(state, nowMs) ?? '';

  assert.match(verifier, /^[A-Za-z0-9_-]{43}$/);
  assert.is(hash('sha256', verifier, 'base64url'), challenge);
});

test('a state expires at its time', () => {
  const { state } = states.create(nowMs);

  assert.ok(states.findVerifier(state, nowMs + loginStateMs - 1));
  assert.is(states.findVerifier(state, nowMs + loginStateMs), null);
});

test('every state is unique, and none reveals its verifier', () => {
  const made = Array.from({ length: 100 }, () => states.create(nowMs));

  assert.is(new Set(made.map(({ state }) => state)).size, 100);
  assert.is(new Set(made.map(({ challenge }) => challenge)).size, 100);
  for (const { state } of made)
    assert.not.match(state, new RegExp(states.findVerifier(state, nowMs) ?? '', 'u'));
});

test('a state with any character changed is rejected', () => {
  const { state } = states.create(nowMs);
  for (let index = 0; index < state.length; index++) {
    for (const other of ['A', 'B', '0', '.', '-']) {
      if (state[index] === other) continue;
      const changed = state.slice(0, index) + other + state.slice(index + 1);
      assert.is(states.findVerifier(changed, nowMs), null, changed);
    }
  }
  for (const wrong of ['', '.', `${state}A`, ` ${state}`, `${state}\n`]) {
    assert.is(states.findVerifier(wrong, nowMs), null, wrong);
  }
});

test('a state of another secret is rejected, and so is a short secret', () => {
  assert.is(states.findVerifier(createLoginStates(randomBytes(32)).create(nowMs).state, nowMs), null);
  assert.throws(() => createLoginStates(randomBytes(31)), /32 bytes/);
});

test.run();
