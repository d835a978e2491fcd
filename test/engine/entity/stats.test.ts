/**
 * Merging a stats post: unposted fields stay, zero is a value, all digits are preserved. By table and by
 * property; a failing property prints its seed.
 */
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mergeStats } from '../../../engine/entity/apply.ts';
import { emptyTotals } from '../../../engine/entity/state.ts';

const test = suite('stats');

const fields = fc.record(
  {
    servers: fc.constantFrom('0', '7', '18446744073709552000'),
    shards: fc.constantFrom('0', '3'),
    users: fc.constantFrom('0', '9007199254740993'),
    shardList: fc.constantFrom('', '1,2,3'),
    status: fc.constantFrom('online' as const, 'offline' as const),
  },
  { requiredKeys: [] },
);

test('for any posts, each field is the last one posted', () => {
  fc.assert(
    fc.property(fc.array(fields), (posts) => {
      const merged = posts.reduce((state, post, index) => mergeStats(state, post, index + 1), emptyTotals);
      const expected = { ...emptyTotals, ...Object.assign({}, ...posts), lastStatsPostMs: posts.length };
      assert.equal(merged, expected);
    }),
  );
});

test('repeating a post changes nothing', () => {
  fc.assert(
    fc.property(fields, fc.nat(), (post, atMs) => {
      const once = mergeStats(emptyTotals, post, atMs);
      assert.equal(mergeStats(once, post, atMs), once);
    }),
  );
});

test('the time of the last post never goes back', () => {
  assert.is(mergeStats({ ...emptyTotals, lastStatsPostMs: 50 }, {}, 20).lastStatsPostMs, 50);
});

test.run();
