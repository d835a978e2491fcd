/**
 * The comparison of two commits that were measured by turns.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { turns } from '../../bench/commands/turns.ts';
import type { Row } from '../../bench/report/rows.ts';
import { findCommit } from '../../bench/turns/checkout.ts';
import { buildTurnsTable, compareTurns, listDearer } from '../../bench/turns/report.ts';
import { rowOf } from './samples.ts';

const test = suite('turns');

const row = (more: Partial<Row>): Row => ({
  ...rowOf({ redisUs: 0, postgresUs: 0 }),
  ...{ scenario: 'redis stats', load: '50/s' },
  ...more,
});
const rounds = (ratios: readonly number[], more: Partial<Row> = {}): Row[] =>
  ratios.flatMap((ratio, index) => [
    row({ server: 'OLD', round: index + 1, serverUs: 100 * (index + 1), ...more }),
    row({ server: 'NEW', round: index + 1, serverUs: 100 * (index + 1) * ratio, ...more }),
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
  const failing = rows.map((one) =>
    one.server === 'NEW' && one.round === 1 ? { ...one, failures: { 503: 3 } } : one,
  );
  const all = rounds([1], { scenario: 'redis vote', failures: { 503: 1 } });
  const comparisons = compareTurns([...failing, ...all]);

  assert.is(comparisons[0]?.ratios['total CPU']?.max, 1);
  assert.equal(listDearer(comparisons), ['redis vote 50/s: not compared, no round is without a failure']);
  assert.equal(buildTurnsTable(comparisons).rows[1], ['redis vote 50/s', '–', '–', '–', '–', '–', '2']);
});

test('each kind of stores, scenario and load is compared by itself', () => {
  const rows = [
    ...rounds([1]),
    ...rounds([2], { load: 'saturation' }),
    ...rounds([3], { scenario: 'embedded stats' }),
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
    assert.match(await turns.run(operands).then(String, String), 'turns needs two commits');
  assert.match(await turns.run(['HEAD', 'no-such']).then(String, String), 'There is no commit "no-such"');
  assert.match(
    await turns.run(['HEAD', 'HEAD', '--rates', 'fast']).then(String, String),
    '--rates is "fast"',
  );
});

test.run();
