/**
 * The rules of voting: windows at their edges, which votes make their voter wait, the order of refusals.
 * By table and by property; a failing property prints its seed.
 */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyFacts, emptyTotals, type Facts } from '../../../engine/entity/state.ts';
import {
  computeLongestWaitMs,
  computeVotesMax,
  computeWaitEndMs,
  decideVote,
  findHoldingSinceMs,
  isWeekend,
  type LastVote,
  selectWindow,
} from '../../../engine/entity/votes.ts';
import { limits } from '../../../engine/limits.ts';

const test = suite('votes');

const hourMs = 3_600_000;
const windows = {
  standard: { waitMs: 12 * hourMs, perUser: 1 },
  premium: { waitMs: 4 * hourMs, perUser: 1 },
  weekend: { waitMs: 6 * hourMs, perUser: 2 },
};
const listed: Facts = { ...emptyFacts, listed: true, listedSinceMs: 1 };
const wednesdayMs = Date.parse('2026-11-18T12:00:00Z');
const fridayMs = Date.parse('2026-11-20T00:00:00Z');
const mondayMs = Date.parse('2026-11-23T00:00:00Z');

const ask = (change: {
  facts?: Partial<Facts>;
  votes?: LastVote[];
  atMs?: number;
  nowMs?: number;
  releasedBeforeMs?: number;
  lost?: boolean;
}) => {
  const atMs = change.atMs ?? wednesdayMs;
  const facts = { ...listed, ...change.facts };
  const state = { ...emptyTotals, releasedBeforeMs: change.releasedBeforeMs ?? 0, facts };
  const { votes = [], nowMs = atMs, lost } = change;
  return decideVote({ state, votes, atMs, nowMs, lost, windows });
};
const wait = (retryAtMs: number) => ({ kind: 'refused', reason: 'wait', retryAtMs });

test('the weekend runs from Friday 00:00 to Sunday 24:00 UTC, to the millisecond', () => {
  assert.is(isWeekend(fridayMs - 1), false);
  assert.is(isWeekend(fridayMs), true);
  assert.is(isWeekend(mondayMs - 1), true);
  assert.is(isWeekend(mondayMs), false);
});

test('the weekend agrees with the calendar at any time', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4e12 }),
      (atMs) => [5, 6, 0].includes(new Date(atMs).getUTCDay()) === isWeekend(atMs),
    ),
  );
});

test('premium takes precedence over the weekend until the instant it ends', () => {
  const facts = { ...listed, premiumUntilMs: fridayMs + hourMs };

  assert.equal(selectWindow(facts, fridayMs + hourMs - 1, windows), windows.premium);
  assert.equal(selectWindow(facts, fridayMs + hourMs, windows), windows.weekend);
  assert.equal(selectWindow(listed, wednesdayMs, windows), windows.standard);
  assert.is(computeLongestWaitMs(windows), 12 * hourMs);
});

test('no listing counts more votes for a request than its time allows, and some count as many', () => {
  for (const atMs of [wednesdayMs, fridayMs - 1, fridayMs, mondayMs - 1, mondayMs]) {
    for (const rules of [windows, { ...windows, premium: { waitMs: hourMs, perUser: 3 } }]) {
      const premium = { ...listed, premiumUntilMs: atMs + 1 };
      const counts = [listed, premium].map((facts) => selectWindow(facts, atMs, rules).perUser);
      assert.is(computeVotesMax(atMs, rules), Math.max(...counts));
    }
  }
});

for (const [name, facts, atMs, waitMs, count] of [
  ['standard', {}, wednesdayMs, 12 * hourMs, 1],
  ['weekend', {}, fridayMs + 20 * hourMs, 6 * hourMs, 2],
  ['premium', { premiumUntilMs: mondayMs * 2 }, wednesdayMs, 4 * hourMs, 1],
] as const) {
  test(`a ${name} vote is refused until 1 ms before the end of the wait, accepted at it`, () => {
    const votedMs = atMs - waitMs;
    const votes: LastVote[] = [{ atMs: votedMs, flag: 'cast' }];

    assert.equal(ask({ facts, votes, atMs: atMs - 1 }), wait(votedMs + waitMs));
    assert.equal(ask({ facts, votes, atMs }), { kind: 'accepted', count });
    assert.equal(ask({ facts, votes, atMs: atMs + 1 }), { kind: 'accepted', count });
  });
}

test('the window in force now counts, also for an older vote', () => {
  const votes: LastVote[] = [{ atMs: mondayMs - 7 * hourMs, flag: 'cast' }];

  assert.is(ask({ votes, atMs: mondayMs - 1 }).kind, 'accepted');
  assert.equal(ask({ votes, atMs: mondayMs }), wait(mondayMs + 5 * hourMs));
});

test('a vote with a future timestamp also makes its voter wait', () => {
  const votes: LastVote[] = [{ atMs: wednesdayMs + 1_500, flag: 'cast' }];

  assert.equal(ask({ votes }), wait(wednesdayMs + 1_500 + 12 * hourMs));
});

test('refusals come in the documented order', () => {
  const votes: LastVote[] = [{ atMs: wednesdayMs, flag: 'cast' }];
  const ahead = { atMs: wednesdayMs + 9_000, nowMs: wednesdayMs };
  const reason = (verdict: ReturnType<typeof ask>) =>
    verdict.kind === 'refused' ? verdict.reason : verdict.kind;

  assert.is(reason(ask({ facts: { voteBanned: true, listed: false }, votes, ...ahead })), 'vote_banned');
  assert.is(reason(ask({ facts: { listed: false }, votes, ...ahead })), 'not_listed');
  assert.is(reason(ask({ votes, ...ahead })), 'clock_ahead');
  assert.is(reason(ask({ votes })), 'wait');
});

test('a vote may be ahead of the clock of the store by two seconds, not by 1 ms more', () => {
  const nowMs = wednesdayMs;

  assert.is(ask({ nowMs, atMs: nowMs + limits.clockAheadMaxMs }).kind, 'accepted');
  assert.is(ask({ nowMs, atMs: nowMs + limits.clockAheadMaxMs + 1 }).kind, 'refused');
});

test('a vote may be behind that clock by five seconds, not by 1 ms more, unless it was lost', () => {
  const nowMs = wednesdayMs;
  const late = { nowMs, atMs: nowMs - limits.clockBehindMaxMs - 1 };

  assert.is(ask({ nowMs, atMs: nowMs - limits.clockBehindMaxMs }).kind, 'accepted');
  assert.equal(ask(late), { kind: 'refused', reason: 'clock_behind', retryAtMs: 0 });
  assert.is(ask({ ...late, lost: true }).kind, 'accepted');
});

test('the window is the same over a leap day, the ends of 32 bits and summer time', () => {
  const instants = [
    '2028-02-29T12:00Z',
    '2038-01-19T03:14:07.999Z',
    '2106-02-07T06:28:16Z',
    '2027-03-28T01:00Z',
  ];
  for (const at of instants) {
    const votedMs = Date.parse(at);
    const window = selectWindow(listed, votedMs + 12 * hourMs, windows);
    const votes: LastVote[] = [{ atMs: votedMs, flag: 'cast' }];

    assert.is(ask({ votes, atMs: votedMs + window.waitMs - 1 }).kind, 'refused', at);
    assert.is(ask({ votes, atMs: votedMs + window.waitMs }).kind, 'accepted', at);
  }
});

test('a released vote causes no wait; a pinned one does, whatever was released before', () => {
  const cases: [LastVote[], number, number][] = [
    [[{ atMs: 50, flag: 'cast' }], 0, 50],
    [[{ atMs: 50, flag: 'cast' }], 50, 50],
    [[{ atMs: 50, flag: 'cast' }], 51, 0],
    [[{ atMs: 50, flag: 'released' }], 0, 0],
    [[{ atMs: 50, flag: 'pinned' }], 51, 50],
    [
      [
        { atMs: 40, flag: 'cast' },
        { atMs: 50, flag: 'released' },
      ],
      0,
      40,
    ],
    [
      [
        { atMs: 60, flag: 'cast' },
        { atMs: 50, flag: 'pinned' },
      ],
      0,
      60,
    ],
    [[], 0, 0],
  ];
  for (const [votes, releasedBeforeMs, expected] of cases) {
    assert.is(findHoldingSinceMs(votes, releasedBeforeMs), expected);
  }
});

test('for any history, a vote is accepted exactly when the newest counting one is a whole wait away', () => {
  const vote = fc.record({
    atMs: fc.integer({ min: wednesdayMs - 30 * hourMs, max: wednesdayMs }),
    flag: fc.constantFrom<LastVote['flag']>('cast', 'released', 'pinned'),
  });
  fc.assert(
    fc.property(fc.array(vote, { maxLength: 8 }), fc.integer({ min: 0, max: 30 }), (votes, agoHours) => {
      const releasedBeforeMs = wednesdayMs - agoHours * hourMs;
      const holding = votes.filter(
        (one) => one.flag === 'pinned' || (one.flag === 'cast' && one.atMs >= releasedBeforeMs),
      );
      const free = holding.every((one) => wednesdayMs - one.atMs >= 12 * hourMs);
      assert.is(ask({ votes, releasedBeforeMs }).kind, free ? 'accepted' : 'refused');
    }),
  );
});

test('a wait ends when a shorter window begins before it, and goes on when a longer one does', () => {
  const endOf = (votedAtMs: number, premiumUntilMs = 0, fromMs = votedAtMs): number =>
    computeWaitEndMs({ facts: { ...listed, premiumUntilMs }, votedAtMs }, fromMs, windows);
  for (const [votedAtMs, endMs] of [
    [wednesdayMs, wednesdayMs + 12 * hourMs],
    [fridayMs - 4 * hourMs, fridayMs + 2 * hourMs],
    [fridayMs - 8 * hourMs, fridayMs],
    [fridayMs - 12 * hourMs, fridayMs],
    [fridayMs, fridayMs + 6 * hourMs],
    [mondayMs - 6 * hourMs - 1, mondayMs - 1],
    [mondayMs - 6 * hourMs, mondayMs + 6 * hourMs],
  ] as const) {
    assert.is(endOf(votedAtMs), endMs, new Date(votedAtMs).toISOString());
  }
  assert.is(endOf(wednesdayMs, wednesdayMs + 5 * hourMs), wednesdayMs + 4 * hourMs);
  assert.is(endOf(wednesdayMs, wednesdayMs + 4 * hourMs), wednesdayMs + 12 * hourMs);
  assert.is(endOf(wednesdayMs, 0, wednesdayMs + 20 * hourMs), wednesdayMs + 20 * hourMs);
});

test('property: a vote is refused until its wait ends, and accepted then', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 14 * 24 * 60 }),
      fc.integer({ min: 0, max: 14 * 24 * 60 }),
      fc.integer({ min: 0, max: 12 * 60 }),
      (votedMinute, premiumMinute, sinceMinutes) => {
        const votedAtMs = wednesdayMs + votedMinute * 60_000;
        const facts = { ...listed, premiumUntilMs: wednesdayMs + premiumMinute * 60_000 };
        const accepted = (atMs: number): boolean =>
          ask({ facts, votes: [{ atMs: votedAtMs, flag: 'cast' }], atMs }).kind === 'accepted';
        const fromMs = votedAtMs + sinceMinutes * 60_000;

        const endMs = computeWaitEndMs({ facts, votedAtMs }, fromMs, windows);

        assert.ok(accepted(endMs));
        for (let atMs = fromMs; atMs < endMs; atMs += 60_000) assert.not.ok(accepted(atMs));
        if (endMs > fromMs) assert.not.ok(accepted(endMs - 1));
      },
    ),
  );
});

test.run();
