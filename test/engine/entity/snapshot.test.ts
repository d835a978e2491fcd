/**
 * The checks of a state that was read or is about to be written: what they accept and what they reject.
 * Pure functions, by table.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkFacts, checkState, checkTotals } from '../../../engine/entity/snapshot.ts';
import { emptyFacts, emptyTotals, type Totals } from '../../../engine/entity/state.ts';

const test = suite('snapshot');

const state = { ...emptyTotals, facts: emptyFacts, flushedVotes: -3, version: 1 };

test('a valid state passes', () => {
  checkState(state);
  checkState({ ...state, clicks: Number.MAX_SAFE_INTEGER, servers: '18446744073709552000', status: 'dnd' });
});

for (const wrong of [
  { clicks: -1 },
  { clicks: 0.5 },
  { upvotes: Number.NaN },
  { downvotes: 2 ** 53 },
  { servers: '-1' },
  { users: '1e3' },
  { shards: '' },
  { uptime: 2, totalUptime: 1 },
  { status: 'asleep' },
  { shardList: 7 },
]) {
  test(`${JSON.stringify(wrong)} stops the call`, () => {
    assert.throws(() => checkTotals({ ...emptyTotals, ...wrong } as Totals));
    assert.throws(() => checkState({ ...state, ...wrong } as typeof state));
  });
}

test('facts and versions are checked too', () => {
  assert.throws(() => checkFacts({ ...emptyFacts, revision: -1 }));
  assert.throws(() => checkState({ ...state, version: -1 }));
  assert.throws(() => checkState({ ...state, flushedVotes: 0.5 }));
});

test.run();
