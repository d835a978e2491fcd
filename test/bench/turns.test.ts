/**
 * The comparison of two commits that were measured by turns.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runTurns } from '../../bench/commands/turns.ts';
import { findCommit } from '../../bench/turns/checkout.ts';
import { buildTurnsTable, compareTurns, listDearer, type TurnRow } from '../../bench/turns/report.ts';

const test = suite('turns');

const row = (
  side: TurnRow['side'],
  round: number,
  totalUs: number,
  more: Partial<TurnRow> = {},
): TurnRow => ({
  ...{ side, round, totalUs, stores: 'redis', scenario: 'stats', load: '50/s', failed: 0 },
  ...{ serverUs: 10, p50Ms: 2, diskBytes: 0, memoryBytes: 100 },
  ...more,
});
const rounds = (ratios: readonly number[], more: Partial<TurnRow> = {}): TurnRow[] =>
  ratios.flatMap((ratio, index) => [
    row('OLD', index + 1, 100 * (index + 1), more),
    row('NEW', index + 1, 100 * (index + 1) * ratio, more),
  ]);

test('ratios are taken within rounds, in whichever order they were measured', () => {
  const [found] = compareTurns(rounds([1.1, 0.9, 1.05]).reverse());

  assert.is(found?.name, 'redis stats 50/s');
  const { median, min, max } = found?.ratios['total CPU'] ?? { median: 0, min: 0, max: 0 };
  assert.equal(
    [min, median, max].map((one) => Math.round(one * 100)),
    [90, 105, 110],
  );
  assert.is(found?.ratios['disk bytes'], null, 'nothing was written');
});

test('what is dearer by more than 2 % in the median is named, with its rounds', () => {
  const dearer = (ratios: readonly number[]): string => listDearer(compareTurns(rounds(ratios))).join();

  assert.is(dearer([1.02, 1.01, 1.5]), '');
  assert.is(dearer([1.03, 1.04, 1.05]), 'redis stats 50/s: dearer by 4.0 % (in every round)');
  assert.is(dearer([0.9, 1.04, 1.05]), 'redis stats 50/s: dearer by 4.0 % (rounds differ: 0.90 1.04 1.05)');
});

test('a round with a failure gives no ratio, and a scenario without ratios is named', () => {
  const rows = rounds([5, 1]);
  const failing = rows.map((one) => (one.side === 'NEW' && one.round === 1 ? { ...one, failed: 3 } : one));
  const all = rounds([1], { scenario: 'vote', failed: 1 });
  const comparisons = compareTurns([...failing, ...all]);

  assert.is(comparisons[0]?.ratios['total CPU']?.max, 1);
  assert.equal(listDearer(comparisons), ['redis vote 50/s: not compared, no round is without a failure']);
  assert.equal(buildTurnsTable(comparisons).rows[1], ['redis vote 50/s', '–', '–', '–', '–', '–', '2']);
});

test('each kind of stores, scenario and load is compared by itself', () => {
  const rows = [
    ...rounds([1]),
    ...rounds([2], { load: 'saturation' }),
    ...rounds([3], { stores: 'embedded' }),
  ];

  assert.equal(
    compareTurns(rows).map(({ ratios }) => ratios['total CPU']?.median),
    [1, 2, 3],
  );
});

test('a commit that is not there, or is missing, is refused', async () => {
  assert.match(findCommit('HEAD'), /^[0-9a-f]{40}$/);
  assert.throws(() => findCommit('--all'), /There is no commit "--all" here/);
  for (const operands of [[], ['HEAD'], ['HEAD', 'HEAD', 'HEAD']])
    assert.match(await runTurns(operands).then(String, String), 'turns needs two commits');
  assert.match(await runTurns(['HEAD', 'no-such']).then(String, String), 'There is no commit "no-such"');
  assert.match(await runTurns(['HEAD', 'HEAD', '--rates', 'fast']).then(String, String), '--rates is "fast"');
});

test.run();
