/**
 * Guards of the history, each with its patch: what a sample may write, and what a point may show.
 *
 * What a mutant is: mutant.ts.
 */
import type { Mutant } from './mutant.ts';

const embeddedTest = 'test/storage/history/history.test.ts';
const postgresTest = 'test/storage/history/history.stores.test.ts';
const routeTest = 'test/http/api/history.test.ts';

export const historyMutants: readonly Mutant[] = [
  {
    name: 'a cut-off sample begins again',
    file: 'storage/history/sample.ts',
    find: 'state.at === at && state.wholeAt < at ? state.position : null',
    replace: 'state.at === at && state.wholeAt < at ? 0 : null',
    killers: [embeddedTest],
    why: 'changes since its first part would be counted as seen, and never become rows (H1)',
  },
  {
    name: 'a replaced node goes on sampling',
    file: 'storage/history/sample.ts',
    find: `where history_state.at = \${at} and position = \${after}::bigint and whole_at < \${at}`,
    replace: 'where true',
    killers: [postgresTest],
    why: 'a stalled node would write values of a later time under an earlier one (H1)',
  },
  {
    name: 'a sample does not see that only the servers changed',
    file: 'storage/history/levels.ts',
    find: 'columns.map((name) => `sampled.',
    replace: 'columns.slice(1).map((name) => `sampled.',
    killers: [embeddedTest],
    why: 'a point would have an old value (H1)',
  },
  {
    name: 'an hour without a sample at its end is not rolled up',
    file: 'ops/jobs/history.ts',
    find: '  await rollEnded(parts, { state: before, at: at - 1 }, options);\n',
    replace: '',
    killers: [embeddedTest],
    why: 'its last values would be lost with the next sample (H2)',
  },
  {
    name: 'a hole is filled with the value before it',
    file: 'http/api/history/history-points.ts',
    find: 'return known.has(time) ? last : null;',
    replace: 'return last;',
    killers: [embeddedTest, routeTest],
    why: 'a chart would show values for a time when nothing was sampled',
  },
  {
    name: 'a month is final with its first archive',
    file: 'storage/history/vote-months.ts',
    find: 'nowMs >= end.getTime() + lateMsMax',
    replace: 'true',
    killers: [embeddedTest],
    why: 'votes that were flushed late would be missing for ever (H3)',
  },
  {
    name: 'the months of a deleted listing stay',
    file: 'storage/history/partitions.ts',
    find: `  await transaction\`delete from vote_months where incarnation = \${incarnation}\`;\n`,
    replace: '',
    killers: [embeddedTest],
    why: 'the history would outlive its listing',
  },
  {
    name: 'an export of the history continues within a listing',
    file: 'storage/export/history.ts',
    find: `where (incarnation, at) > (\${incarnation}::bigint, \${at}::integer)`,
    replace: `where incarnation > \${incarnation}::bigint and \${at}::integer >= 0`,
    killers: ['test/storage/export/history.test.ts'],
    why: 'rows at the end of a page would be missing',
  },
];
