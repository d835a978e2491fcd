/**
 * Applying one item to one entity: each kind of item, each decision, by example. Plain data in and out; the
 * conformance suite shows that stores do the same.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { applyItem, type Lookups, type Slot } from '../../../engine/entity/apply.ts';
import type { AdjustItem, BatchNumber, InitItem, Item, VoteItem } from '../../../engine/entity/items.ts';
import { emptyFacts, emptyTotals, type HotState } from '../../../engine/entity/state.ts';
import type { LastVote } from '../../../engine/entity/votes.ts';
import { toIncarnation } from '../../../engine/ids.ts';
import { limits } from '../../../engine/limits.ts';
import { pluck } from '../../support/pluck.ts';
import { refOf } from '../../support/refs.ts';
import { usualRules } from '../../support/rules.ts';

const test = suite('apply');

const nowMs = Date.parse('2026-11-18T12:00:00Z');
const hourMs = 3_600_000;
const rules = { ...usualRules, visitorsMax: 3 };
const hasBatch = ({ sequence }: BatchNumber): boolean => sequence <= 4;
const context = { nowMs, generation: 2, shardVersion: 10, version: 11, rules, hasBatch };
const target = refOf('bot', '123456789012345678', 5);
const facts = { ...emptyFacts, revision: 4, listed: true, listedSinceMs: nowMs - 3 * hourMs };

const living = (change: Partial<HotState> = {}): Slot & { state: HotState } => ({
  incarnation: toIncarnation(5),
  state: { ...emptyTotals, uptimeCheckedMs: nowMs, flushedVotes: 0, version: 7, facts, ...change },
});
const createTombstone = (incarnation: number): Slot => ({
  incarnation: toIncarnation(incarnation),
  state: null,
});
const known = (votes: readonly LastVote[] = [], visitors: readonly string[] = []): Lookups => ({
  votes: (_user, fromMs, toMs) => votes.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs),
  visited: (visitor) => visitors.includes(visitor),
  part: () => null,
  parts: () => new Map(),
});
const run = (item: Item, slot: Slot | null, lookups = known()) =>
  applyItem(item, slot, { ...context, ...lookups });

const init = (row = { generation: 2, version: 10 }): InitItem => ({
  kind: 'init',
  target,
  facts,
  totals: emptyTotals,
  row,
});
const vote: VoteItem = { kind: 'vote', target, user: 'u', upvote: true, atMs: nowMs, itags: ['a', 'b'] };
const adjust = (change: Partial<AdjustItem>): AdjustItem => ({
  kind: 'adjust',
  target,
  sequence: 1,
  upvotes: 0,
  downvotes: 0,
  releaseBeforeMs: 0,
  release: [],
  pinned: [],
  ...change,
});
const others: readonly Item[] = [
  { kind: 'stats', target, atMs: nowMs },
  { kind: 'click', target, visitor: '1' },
  { kind: 'invite', target },
  vote,
  adjust({}),
  { kind: 'facts', target, facts, atMs: nowMs },
];

test('only init and forget change an entity that the store does not have', () => {
  for (const item of others) {
    for (const slot of [null, { ...living(), incarnation: toIncarnation(4) }, createTombstone(4)]) {
      const outcome = run(item, slot);
      assert.equal(outcome.decision, { kind: 'absent' }, item.kind);
      assert.is(outcome.slot, slot);
    }
  }
});

test('no item changes a listing that is deleted or replaced by a later one', () => {
  for (const item of [...others, init()]) {
    for (const slot of [
      createTombstone(5),
      createTombstone(6),
      { ...living(), incarnation: toIncarnation(6) },
    ]) {
      const outcome = run(item, slot);
      assert.equal(outcome.decision, { kind: 'forgotten' }, item.kind);
      assert.is(outcome.slot, slot);
    }
  }
});

test('forget leaves a tombstone; for a deleted or older listing it does nothing', () => {
  const forget: Item = { kind: 'forget', target };

  assert.equal(run(forget, null), { decision: { kind: 'applied' }, slot: createTombstone(5), effects: [] });
  assert.equal(run(forget, living()).slot, createTombstone(5));
  assert.equal(run(forget, living()).effects, [{ kind: 'bury', incarnation: 5 }]);
  for (const slot of [
    createTombstone(5),
    createTombstone(6),
    { ...living(), incarnation: toIncarnation(6) },
  ]) {
    assert.is(run(forget, slot).slot, slot);
    assert.equal(run(forget, slot).decision, { kind: 'applied' });
  }
});

test('init inserts the totals of the SQL row once, and its votes count as flushed', () => {
  const totals = { ...emptyTotals, upvotes: 9, downvotes: 2 };
  const born = run({ ...init(), totals }, null);

  assert.equal(born.decision, { kind: 'applied' });
  assert.equal(born.slot?.state, { ...totals, facts, flushedVotes: 7, version: 11 });
  const again = run(init(), born.slot);
  assert.is(again.slot, born.slot);
});

test('init of a later listing replaces the earlier one', () => {
  const outcome = run(init(), { ...living(), incarnation: toIncarnation(4) });

  assert.is(outcome.slot?.incarnation, 5);
  assert.equal(outcome.effects, [{ kind: 'bury', incarnation: 4 }]);
});

test('init is refused as behind exactly when SQL has a newer generation or version', () => {
  const decide = (generation: number, version: number) =>
    run(init({ generation, version }), null).decision.kind;

  assert.is(decide(2, 10), 'applied');
  assert.is(decide(2, 11), 'behind');
  assert.is(decide(1, 999), 'applied');
  assert.is(decide(3, 0), 'behind');
});

test('init with impossible totals throws as a bug', () => {
  assert.throws(() => run({ ...init(), totals: { ...emptyTotals, clicks: -1 } }, null));
});

test('stats fold the past under the old status before the new one is merged', () => {
  const slot = living({ status: 'offline', uptimeCheckedMs: nowMs - hourMs, lastStatsPostMs: nowMs - 1 });

  const after = run({ kind: 'stats', target, atMs: nowMs, status: 'online' }, slot).slot?.state;

  assert.equal([after?.uptime, after?.totalUptime, after?.status, after?.version], [0, 12, 'online', 11]);
});

test('a producer whose clock is ahead causes no early checks and no post in the future', () => {
  const slot = living({ uptimeCheckedMs: nowMs - hourMs });

  const after = run({ kind: 'stats', target, atMs: nowMs + 24 * hourMs }, slot).slot?.state;

  assert.equal([after?.totalUptime, after?.lastStatsPostMs], [12, nowMs]);
});

test('only bots have uptime', () => {
  const team = refOf('team', 't', 5);
  const slot = living({ uptimeCheckedMs: nowMs - hourMs });

  assert.is(run({ kind: 'stats', target: team, atMs: nowMs }, slot).slot?.state?.totalUptime, 0);
});

test('facts fold the past under the old facts, and never go back', () => {
  const slot = living({ uptimeCheckedMs: nowMs - hourMs });
  const unlisted = { ...emptyFacts, revision: 5 };

  const after = run({ kind: 'facts', target, facts: unlisted, atMs: nowMs }, slot);

  assert.equal([after.slot?.state?.totalUptime, after.slot?.state?.facts], [12, unlisted]);
  for (const revision of [3, 4]) {
    const stale = run({ kind: 'facts', target, facts: { ...unlisted, revision }, atMs: nowMs }, slot);
    assert.is(stale.slot, slot);
    assert.equal(stale.decision, { kind: 'applied' });
  }
});

test('a visitor counts as unique once, and not at all above the cap', () => {
  const click: Item = { kind: 'click', target, visitor: '-7' };

  assert.equal(run(click, living()).effects, [{ kind: 'visitor', visitor: '-7' }]);
  assert.is(run(click, living()).slot?.state?.uniqueClicks, 1);
  assert.is(run(click, living(), known([], ['-7'])).slot?.state?.uniqueClicks, 0);
  const full = run(click, living({ clicks: 3, uniqueClicks: 3 }));
  assert.equal([full.slot?.state?.clicks, full.slot?.state?.uniqueClicks, full.effects], [4, 3, []]);
});

test('a counter that would pass 2^53 − 1 refuses and changes nothing', () => {
  const top = limits.counterMax;
  const cases: [Item, Partial<HotState>][] = [
    [{ kind: 'click', target, visitor: '1' }, { clicks: top }],
    [{ kind: 'invite', target }, { inviteClicks: top }],
    [vote, { upvotes: top }],
    [{ ...vote, upvote: false }, { downvotes: top }],
  ];
  for (const [item, state] of cases) {
    const slot = living(state);
    const outcome = run(item, slot);
    assert.equal([outcome.decision.kind, outcome.effects], ['overflow', []], item.kind);
    assert.is(outcome.slot, slot);
  }
});

test('an adjustment that would pass 2^53 − 1 or 0 ends there, so that later ones apply', () => {
  const top = limits.counterMax;
  const item = adjust({ upvotes: 2, downvotes: -2 });
  const { decision, slot } = run(item, living({ upvotes: top - 1, downvotes: 1, adjustment: 0 }));

  assert.equal(decision, { kind: 'applied' });
  assert.equal([slot?.state?.upvotes, slot?.state?.downvotes, slot?.state?.adjustment], [top, 0, 1]);
});

test('an accepted vote adds its count, records its voter, and enters the outbox', () => {
  const saturdayMs = Date.parse('2026-11-21T12:00:00Z');
  const cast = { ...vote, upvote: false, atMs: saturdayMs };
  const outcome = applyItem(cast, living(), { ...context, ...known(), nowMs: saturdayMs });

  assert.equal(outcome.decision, { kind: 'voted', count: 2 });
  assert.equal([outcome.slot?.state?.upvotes, outcome.slot?.state?.downvotes], [0, 2]);
  assert.equal(outcome.effects, [
    { kind: 'mark', user: 'u', atMs: saturdayMs, flag: 'cast' },
    { kind: 'outbox', vote: cast, count: 2 },
  ]);
});

test('a vote without enough itags is a bug', () => {
  assert.throws(() => run({ ...vote, itags: [] }, living()));
});

test('a refused vote leaves no trace', () => {
  const slot = living();
  const outcome = run(vote, slot, known([{ atMs: nowMs - hourMs, flag: 'cast' }]));

  assert.equal(outcome.decision, { kind: 'refused', reason: 'wait', retryAtMs: nowMs + 11 * hourMs });
  assert.equal([outcome.slot === slot, outcome.effects], [true, []]);
});

test('a vote that arrives late is still checked against newer votes', () => {
  const late = { ...vote, atMs: nowMs - 10 * 24 * hourMs };

  assert.is(run(late, living(), known([{ atMs: nowMs - hourMs, flag: 'cast' }])).decision.kind, 'refused');
});

test('adjustments apply in order, each once', () => {
  const slot = living({ adjustment: 3, upvotes: 10, downvotes: 1 });

  assert.is(run(adjust({ sequence: 3, upvotes: -1 }), slot).slot, slot);
  assert.equal(run(adjust({ sequence: 5 }), slot).decision, { kind: 'gap' });
  const after = run(adjust({ sequence: 4, upvotes: -4, downvotes: -5, releaseBeforeMs: 77 }), slot).slot
    ?.state;
  assert.equal([after?.upvotes, after?.downvotes, after?.adjustment, after?.releasedBeforeMs], [6, 0, 4, 77]);
});

test('the time before which votes are released never decreases', () => {
  const slot = living({ releasedBeforeMs: 100 });

  assert.is(run(adjust({ releaseBeforeMs: 50 }), slot).slot?.state?.releasedBeforeMs, 100);
  assert.is(run(adjust({ releaseBeforeMs: 150 }), slot).slot?.state?.releasedBeforeMs, 150);
});

test('release and hold change the vote records that the store still has', () => {
  const lookups = known([{ atMs: nowMs, flag: 'cast' }]);
  const item = adjust({ release: [{ user: 'u', atMs: nowMs }], pinned: [{ user: 'u', atMs: nowMs - 1 }] });

  assert.equal(run(item, living(), lookups).effects, [
    { kind: 'mark', user: 'u', atMs: nowMs, flag: 'released' },
  ]);
});

const lostAt = { generation: 2, version: 8 };
const fromRow = (version: number, change: Partial<HotState> = {}): Slot => ({
  ...living(change),
  base: { generation: 2, version },
});

test('a lost item counts again, unless the SQL row of the listing already includes it', () => {
  const click = { kind: 'click', target, visitor: '1', lostAt } as const;
  const clicks = (slot: Slot): number | undefined => run(click, slot).slot?.state?.clicks;

  assert.is(clicks(living()), 1);
  assert.is(clicks(fromRow(7)), 1);
  assert.is(clicks(fromRow(8)), 0);
  assert.is(clicks({ ...living(), base: { generation: 1, version: 99 } }), 1);
  assert.is(clicks({ ...living(), base: { generation: 3, version: 1 } }), 0);
  assert.is(run(init({ generation: 2, version: 9 }), null).slot?.base?.version, 9);
  assert.is(run({ kind: 'invite', target }, fromRow(8)).slot?.base?.version, 8);
});

test('an item that was lost twice is judged by where it counted in the generation of the row', () => {
  const recounted = [
    { generation: 4, version: 3 },
    { generation: 6, version: 5 },
  ];
  const isCountedOn = (generation: number, version: number): boolean => {
    const slot = { ...living(), base: { generation, version } };
    return run({ kind: 'invite', target, lostAt: { ...lostAt, recounted } }, slot).slot !== slot;
  };

  assert.equal([isCountedOn(2, 7), isCountedOn(2, 8), isCountedOn(3, 1)], [true, false, false]);
  assert.equal([isCountedOn(4, 2), isCountedOn(4, 3), isCountedOn(5, 1)], [true, false, false]);
  assert.equal([isCountedOn(6, 4), isCountedOn(6, 5), isCountedOn(7, 1)], [true, false, false]);
});

test('the visitor of a lost click that the SQL row includes is stored again, and not counted', () => {
  const click = { kind: 'click', target, visitor: '1', lostAt } as const;
  const { slot, effects } = run(click, fromRow(8, { clicks: 1, uniqueClicks: 1 }));

  assert.equal([slot?.state?.clicks, slot?.state?.uniqueClicks], [1, 1]);
  assert.equal(effects, [{ kind: 'visitor', visitor: '1' }]);
});

test('a lost vote that the SQL row includes gets its records back and is not added', () => {
  const { decision, slot, effects } = run({ ...vote, lostAt }, fromRow(8, { upvotes: 3 }));

  assert.equal(decision, { kind: 'voted', count: 1, contained: true });
  assert.is(slot?.state?.upvotes, 3);
  assert.equal(pluck(effects, 'kind'), ['mark', 'outbox']);
  assert.is(run({ ...vote, lostAt }, fromRow(7, { upvotes: 3 })).slot?.state?.upvotes, 4);
});

test('a lost vote counts although voting has ended since', () => {
  const ended = living({ facts: { ...facts, voteBanned: true, listed: false } });

  assert.is(run({ ...vote, lostAt }, ended).slot?.state?.upvotes, 1);
  assert.is(run({ ...vote, lostAt, atMs: nowMs + 3 * hourMs }, living()).slot?.state?.upvotes, 1);
  assert.equal(run(vote, ended).decision, { kind: 'refused', reason: 'vote_banned', retryAtMs: 0 });
});

test('a lost item does not count again in a store that has one of its batches after all', () => {
  const inBatches = (...sequences: number[]) => ({
    lostAt: { ...lostAt, copies: sequences.map((sequence) => ({ producer: 'p', sequence })) },
  });
  const items: readonly Item[] = [
    { kind: 'click', target, visitor: '1' },
    { kind: 'stats', target, atMs: nowMs, servers: '7' },
    { kind: 'parts', target, atMs: nowMs, shardCount: 1, parts: [{ id: 0 }], orTotals: true },
    vote,
  ];
  for (const item of items) {
    const slot = living();
    assert.is(run({ ...item, ...inBatches(4, 9) }, slot).slot, slot, item.kind);
    assert.equal(run({ ...item, ...inBatches(4, 9) }, slot).decision, { kind: 'applied', contained: true });
    assert.is.not(run({ ...item, ...inBatches(5, 9) }, slot).slot, slot, item.kind);
  }
});

test('a lost post does not replace a newer one', () => {
  const post = { kind: 'stats', target, atMs: nowMs - 5, servers: '7', lostAt } as const;

  assert.is(run(post, living({ lastStatsPostMs: nowMs - 4 })).slot?.state?.servers, '0');
  assert.is(run(post, living({ lastStatsPostMs: nowMs - 5 })).slot?.state?.servers, '7');
  assert.is(run(post, fromRow(8, { lastStatsPostMs: nowMs - 4 })).slot?.state?.servers, '0');
});

test.run();
