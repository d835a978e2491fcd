/**
 * The output gate: every mode of a commit queue, every bound, against the model store.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { limits } from '../../../engine/limits.ts';
import { clickOn, initOf, inviteOn, recordedTurn, refusal, silence, stateIn } from '../kit.ts';
import { createWorld, failCommits, ref, withBot } from './output-gate-kit.ts';

const test = suite('output gate');

let world: Awaited<ReturnType<typeof withBot>>;
test.before.each(async () => {
  world = await withBot();
});

test('turns of one tick go out in one batch, and each gets its own decision', async () => {
  const world = await createWorld();

  const turns = [initOf(ref), clickOn(ref), inviteOn(ref)].map((item) => world.submit(recordedTurn(item)));
  await world.pass(1);

  assert.is(world.sent.length, 1);
  assert.equal(
    turns.map((turn) => turn.decided?.decision.kind),
    ['applied', 'applied', 'applied'],
  );
  assert.is(turns[1]?.decided?.state?.read().clicks, 1);
  assert.is(world.gate.countPending(), 0);
});

test('nothing is answered before the store has confirmed', async () => {
  world.hot.hooks.beforeCommit = () => world.driver.pause(100);

  const turn = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(99);
  assert.not(turn.answered);
  assert.is(world.gate.countPending(), 1);
  await world.pass(5);

  assert.ok(turn.answered);
});

const post = () => world.submit(recordedTurn(clickOn(ref)));
const countItems = () => world.sent.map((batch) => batch.items.length);

/** Two calls of two items each, far apart: enough that the next ones count as crowded. */
const crowd = async (): Promise<void> => {
  for (let call = 0; call < 2; call++) {
    post();
    post();
    await world.pass(limits.gatherAverageMs * 2);
  }
  world.sent.length = 0;
};

/** Every call takes so long from now on. */
const takeTime = (outMs: number): void => {
  world.hot.hooks.beforeCommit = async (batches) => {
    world.sent.push(...batches);
    if (outMs > 0) await world.driver.pause(outMs);
  };
};

test('a lone write leaves at the end of its tick, also while calls are crowded', async () => {
  await crowd();

  for (let count = 1; count <= 3; count++) {
    post();
    await world.pass(1);
    assert.is(world.sent.length, count);
  }
});

const crowding: readonly (readonly [name: string, betweenMs: number])[] = [
  ['calls of several items', 0],
  ['work that comes while a call is out', 1],
];
for (const [name, betweenMs] of crowding) {
  test(`after ${name}, what came during a call leaves two call times after it`, async () => {
    takeTime(2);
    for (let call = 0; call < 5 * limits.gatherCallsAverage; call++) {
      post();
      await world.pass(betweenMs);
      post();
      await world.pass(limits.gatherAverageMs * 2);
    }
    world.sent.length = 0;

    post();
    await world.pass(1);
    post();
    await world.pass(2);
    post();
    assert.equal(countItems(), [1], 'gathering');
    await world.pass(2);
    assert.equal(countItems(), [1, 2]);
  });
}

test('clients that send one after another do not wait for each other, however fast they are', async () => {
  for (let count = 1; count <= 50; count++) {
    post();
    await world.pass(1);
    assert.is(world.sent.length, count);
  }
});

test('under load a call gathers for at least a millisecond, at a high rate for exactly one', async () => {
  for (const { items, outMs, calls } of [
    { items: 20, outMs: 10, calls: 3 * limits.gatherCallsAverage },
    { items: 2 * limits.gatherAverageMs * limits.gatherItemsPerMsHigh, outMs: 0, calls: 1 },
  ]) {
    await crowd();
    takeTime(outMs);
    for (let call = 0; call < calls; call++) {
      for (let index = 0; index < items; index++) post();
      await world.pass(outMs + 2);
    }
    assert.is(world.gate.countPending(), 0);

    post();
    await world.pass(0);
    assert.is(world.sent.length, calls, 'gathering');
    await world.pass(limits.gatherLoadMs + 1);
    assert.is(world.sent.length, calls + 1);
    await world.pass(outMs);
  }
});

test('a reply is adopted before its turns are answered', async () => {
  let adoptedAtAnswer = 0;
  const turn = recordedTurn(clickOn(ref));
  turn.onAnswer = () => {
    adoptedAtAnswer = world.adopted.length;
  };

  world.submit(turn);
  await world.pass(1);

  assert.is(adoptedAtAnswer, 1);
});

test('turns that come while a call is out make the next batch, with the next number', async () => {
  world.hot.hooks.beforeCommit = async (batches) => {
    world.sent.push(...batches);
    await world.driver.pause(10);
  };

  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(1);
  world.submit(recordedTurn(clickOn(ref)));
  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(50);

  assert.equal(
    world.sent.map((batch) => [batch.sequence, batch.items.length]),
    [
      [2, 1],
      [3, 2],
    ],
  );
});

test('more turns than fit in a batch are sent in several batches, in order', async () => {
  for (let turn = 0; turn < limits.batchItemsMax + 1; turn++) world.submit(recordedTurn(clickOn(ref)));
  await world.pass(5);

  assert.equal(
    world.sent.map((batch) => batch.items.length),
    [limits.batchItemsMax, 1],
  );
  assert.is(stateIn(world.hot, ref)?.clicks, limits.batchItemsMax + 1);
});

test('a batch of unknown outcome is resent with the same number, and counts once', async () => {
  failCommits(world, [silence(), silence()], true);

  const turn = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(200);

  assert.equal(
    world.sent.map((batch) => batch.sequence),
    [2, 2, 2],
  );
  assert.is(world.sent[0], world.sent[2]);
  assert.is(turn.decided?.decision.kind, 'applied');
  assert.is(stateIn(world.hot, ref)?.clicks, 1);
  assert.is(world.metered.get('unknown'), 2);
});

test('new turns wait behind a batch of unknown outcome', async () => {
  failCommits(world, [silence(), silence()]);

  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(5);
  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(200);

  assert.equal(
    world.sent.map((batch) => [batch.sequence, batch.items.length]),
    [
      [2, 1],
      [2, 1],
      [2, 1],
      [3, 1],
    ],
  );
});

test('the pause before resending doubles, and is bounded', async () => {
  const times: number[] = [];
  world.hot.hooks.beforeCommit = () => {
    times.push(world.driver.nowMs());
    throw silence();
  };

  world.submit(recordedTurn(clickOn(ref)));
  await world.pass(5_000);

  const pauses = times.slice(1).map((time, index) => time - (times[index] as number));
  assert.equal(pauses.slice(0, 5), [20, 40, 80, 160, 320]);
  assert.is(Math.max(...pauses), limits.resendPauseMaxMs);
});

test('a definite refusal is reported as not applied, and frees the number', async () => {
  failCommits(world, [refusal()]);

  const refused = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(5);
  const next = world.submit(recordedTurn(inviteOn(ref)));
  await world.pass(5);

  assert.equal(refused.failure, { outcome: 'not_applied', code: 'store_unavailable' });
  assert.equal(
    world.sent.map((batch) => batch.sequence),
    [2, 2],
  );
  assert.is(next.decided?.decision.kind, 'applied');
  assert.is(stateIn(world.hot, ref)?.clicks, 0);
});

test('a refusal after an unknown outcome frees nothing: an earlier copy may still take effect', async () => {
  let calls = 0;
  world.hot.hooks.beforeCommit = (batches) => {
    world.sent.push(...batches);
    calls += 1;
    if (calls === 2) throw refusal();
  };
  world.hot.hooks.afterCommit = () => {
    if (calls === 1) throw silence();
  };

  const turn = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(200);

  assert.equal(
    world.sent.map((batch) => batch.sequence),
    [2, 2, 2],
  );
  assert.is(turn.failure, null);
  assert.is(turn.decided?.decision.kind, 'applied');
  assert.is(stateIn(world.hot, ref)?.clicks, 1);
});

test('above the pending limit turns are refused at once', async () => {
  world.hot.hooks.beforeCommit = () => {
    throw silence();
  };
  for (let turn = 0; turn < limits.pendingItemsMax; turn++) world.submit(recordedTurn(clickOn(ref)));

  const turn = world.submit(recordedTurn(clickOn(ref)));

  assert.equal(turn.failure, { outcome: 'not_applied', code: 'overloaded' });
  assert.is(world.gate.countPending(), limits.pendingItemsMax);
});

test('an open turn whose deadline passes is never sent', async () => {
  let away = true;
  world.hot.hooks.beforeCommit = () => {
    if (away) throw silence();
  };
  world.submit(recordedTurn(inviteOn(ref)));
  await world.pass(1);

  const late = world.submit(recordedTurn(clickOn(ref), world.clock.monotonicMs() + 100));
  await world.pass(200);
  assert.equal(late.failure, { outcome: 'not_applied', code: 'deadline_passed' });
  assert.is(world.gate.countPending(), 1);
  away = false;
  await world.pass(1_000);

  assert.is(stateIn(world.hot, ref)?.clicks, 0);
  assert.is(stateIn(world.hot, ref)?.inviteClicks, 1);
  assert.is(world.gate.countPending(), 0);
});

test('a sealed turn whose deadline passes fails as unknown, and its effect is adopted later', async () => {
  let away = true;
  world.hot.hooks.beforeCommit = () => {
    if (away) throw silence();
  };

  const turn = world.submit(recordedTurn(clickOn(ref), world.clock.monotonicMs() + 100));
  await world.pass(200);
  assert.equal(turn.failure, { outcome: 'unknown', code: 'deadline_passed' });
  assert.is(turn.closedTimes, 0);
  away = false;
  await world.pass(1_000);

  assert.is(world.adopted.length, 1);
  assert.is(stateIn(world.hot, ref)?.clicks, 1);
  assert.equal([turn.decided, turn.closedTimes], [null, 1]);
});

test('deadlines are kept within one sweep while the store hangs', async () => {
  world.hot.hooks.beforeCommit = () => new Promise(() => {});
  const deadlineMs = world.clock.monotonicMs() + limits.requestDeadlineMs;

  const turn = world.submit(recordedTurn(clickOn(ref), deadlineMs));
  await world.pass(limits.requestDeadlineMs + limits.deadlineSweepMs + 1);

  assert.is(turn.failure?.outcome, 'unknown');
});

test('a gate that refuses takes nothing new and finishes what it has', async () => {
  const before = world.submit(recordedTurn(clickOn(ref)));
  world.gate.refuseNewTurns();

  const after = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(5);

  assert.equal(after.failure, { outcome: 'not_applied', code: 'draining' });
  assert.is(before.decided?.decision.kind, 'applied');
});

test('a stopped gate fails open turns, and stops resending', async () => {
  world.hot.hooks.beforeCommit = (batches) => {
    world.sent.push(...batches);
    throw silence();
  };
  const sealed = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(1);
  const open = world.submit(recordedTurn(clickOn(ref)));

  world.gate.stop();
  assert.equal(open.failure, { outcome: 'not_applied', code: 'draining' });
  assert.is(sealed.failure?.outcome, 'unknown');
  const calls = world.sent.length;
  await world.pass(2_000);

  assert.is(world.sent.length, calls);
  assert.is(world.gate.countPending(), 0);
});

test('a call that is out when the gate stops is still answered', async () => {
  world.hot.hooks.beforeCommit = () => world.driver.pause(50);
  const turn = world.submit(recordedTurn(clickOn(ref)));
  await world.pass(10);

  world.gate.stop();
  await world.pass(100);

  assert.is(turn.decided?.decision.kind, 'applied');
});

test.run();
