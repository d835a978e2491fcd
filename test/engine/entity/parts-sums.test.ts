/**
 * Parts of a bot, by property: after any posts, judgements and waits, everything agrees with a recomputation
 * from all posts. A failing property prints its seed.
 */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PostedPart } from '../../../engine/entity/items.ts';
import { type Part, type PartsTable, presenceStatuses } from '../../../engine/entity/state.ts';
import { limits } from '../../../engine/limits.ts';
import { type Bot, createBot, minuteMs, parts, showTotals, target } from './parts-kit.ts';

const test = suite('sums of parts');

type Step =
  | {
      readonly kind: 'post';
      readonly shardCount: number;
      readonly parts: readonly PostedPart[];
      lateMs: number;
    }
  | { readonly kind: 'totals'; readonly servers: string }
  | { readonly kind: 'judge' }
  | { readonly kind: 'wait'; readonly ms: number };

const part = fc.record(
  {
    id: fc.nat(4),
    servers: fc.constantFrom(0, 1, 70, limits.partNumberMax),
    users: fc.nat(9),
    status: fc.constantFrom(...presenceStatuses),
  },
  { requiredKeys: ['id'] },
);
const post = fc
  .record({
    shardCount: fc.constantFrom(1, 2, 3, 5),
    parts: fc.uniqueArray(part, { minLength: 1, maxLength: 5, selector: ({ id }) => id }),
    lateMs: fc.constantFrom(0, 0, 0, 3_000, 60_000),
  })
  .map(({ shardCount, parts: all, lateMs }): Step => {
    const known = all.filter(({ id }) => id < shardCount).sort((one, other) => one.id - other.id);
    return { kind: 'post', shardCount, parts: known.length === 0 ? [{ id: 0 }] : known, lateMs };
  });
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: post, weight: 8 },
  { arbitrary: fc.constant<Step>({ kind: 'judge' }), weight: 3 },
  { arbitrary: fc.constant<Step>({ kind: 'totals', servers: '3' }), weight: 1 },
  {
    arbitrary: fc
      .constantFrom(1, minuteMs, parts.switchMs, parts.staleMs, parts.staleMs + 1, parts.goneMs)
      .map((ms): Step => ({ kind: 'wait', ms })),
    weight: 4,
  },
);

/** The sums of a table, from its parts alone. */
const sumUp = (table: ReadonlyMap<number, Part>): Omit<PartsTable, 'shardCount' | 'sinceMs'> => {
  const all = [...table.values()];
  const sum = (read: (one: Part) => number) => all.reduce((total, one) => total + read(one), 0);
  return {
    seen: all.length,
    servers: sum(({ servers }) => servers),
    users: sum(({ users }) => users),
    live: presenceStatuses.map((status) => sum((one) => Number(one.live && one.status === status))),
  };
};

const recordPost = ({ newest, nowMs }: Bot, { shardCount, parts: all, lateMs }: Step & { kind: 'post' }) => {
  const atMs = nowMs - Math.min(lateMs, limits.clockBehindMaxMs);
  const table = newest.get(shardCount) ?? new Map<number, { atMs: number; servers: number }>();
  newest.set(shardCount, table);
  for (const { id, servers } of all) {
    const known = table.get(id);
    if (known === undefined || atMs >= known.atMs)
      table.set(id, { atMs, servers: servers ?? known?.servers ?? 0 });
  }
};

const perform = (bot: Bot, one: Step): void => {
  if (one.kind === 'wait') bot.nowMs += one.ms;
  else if (one.kind === 'judge') bot.judge();
  else if (one.kind === 'totals') bot.send({ kind: 'stats', target, atMs: bot.nowMs, servers: one.servers });
  else if (bot.post(one.shardCount, one.parts, bot.nowMs - one.lateMs).kind === 'applied')
    recordPost(bot, one);
};

const checkTables = ({ state, tables, newest }: Bot): void => {
  for (const table of [state.parts?.current, state.parts?.building]) {
    if (!table) continue;
    const { shardCount, sinceMs: _since, ...sums } = table;
    const stored = tables.get(shardCount) ?? new Map<number, Part>();
    assert.equal(sums, sumUp(stored), 'S1: the sums are those of the parts');
    const shown = [...stored].map(([id, { atMs, servers }]) => [id, { atMs, servers }]);
    assert.equal(shown.sort(), [...(newest.get(shardCount) ?? [])].sort(), 'S2: parts are as posted last');
  }
  const filled = [...tables.values()].filter(({ size }) => size > 0).length;
  assert.ok(filled <= 2, 'at most two tables are kept');
};

const checkTotals = (bot: Bot): void => {
  const { state, tables, nowMs } = bot;
  const { current = null, dueMs = 0 } = state.parts ?? {};
  if (current === null) return;
  const listed = state.shardList.split(',').map(Number);
  // A sum that no post has named leaves the total as it was.
  if (current.servers > 0) assert.is(state.servers, String(current.servers));
  if (current.users > 0) assert.is(state.users, String(current.users));
  assert.is(listed.length, current.shardCount);
  assert.is(
    listed.reduce((sum, servers) => sum + servers, 0),
    current.servers,
  );
  if (dueMs <= nowMs) return;
  for (const { live, atMs } of tables.get(current.shardCount)?.values() ?? []) {
    assert.ok(!live || nowMs - atMs <= parts.staleMs, 'S5: what is due is judged');
    assert.ok(nowMs - atMs <= parts.goneMs);
  }
};

test('for any posts, judgements and waits, sums are those of the newest posts of each part', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const bot = createBot();
      for (const one of steps) {
        const { parts: before } = bot.state;
        const shown = showTotals(bot);
        perform(bot, one);
        checkTables(bot);
        checkTotals(bot);
        const { parts: after } = bot.state;
        const isQuiet = (before?.dueMs ?? limits.counterMax) > bot.nowMs;
        if (isQuiet && one.kind === 'post' && after?.building?.shardCount === one.shardCount)
          assert.equal(showTotals(bot), shown, 'S3: a building table changes no total');
      }
    }),
    { numRuns: 300 },
  );
});

test.run();
