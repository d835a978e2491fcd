/**
 * Postgres stopped as by a crash, away, locked, slow and without room, under the load of two nodes.
 * Time limit: 1500 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { faultCase } from '../harness/fault-case.ts';
import {
  awayFor,
  type Fault,
  locked,
  runPostgresDiskFull,
  runPostgresFaults,
  slow,
  stopped,
} from './postgres-away.ts';
import { awayWithoutSignals } from './postgres-away-signals-lost.ts';

const test = suite('postgres away');

const times = (count: number, ...faults: Fault[]): readonly Fault[] =>
  Array.from({ length: count }, () => faults).flat();

faultCase(test, {
  title: 'stopped immediate, locked and slow: counting goes on, all is flushed after, nothing is lost',
  name: 'Postgres stopped immediate, locked and slow',
  counts: { quick: 1, faults: 7 },
  run: async ({ seed, count }) => {
    const disturbances = times(Math.ceil(count / 3), awayFor(500), locked, slow);
    const figures = await runPostgresFaults({ seed }, [...times(count, stopped), ...disturbances]);
    assert.ok(figures.acked > 300, `${figures.acked} acknowledged`);
    return figures;
  },
});

faultCase(test, {
  title: 'away for 100 s, longer than tokens are cached: counting goes on, all is flushed after',
  name: 'Postgres away for 100 s',
  once: true,
  run: ({ seed }) => runPostgresFaults({ seed }, [awayFor(100_000)]),
});

faultCase(test, {
  title: 'away for 70 s, without signals for 2 s: tokens in use go on, a revoked one does not',
  name: 'Postgres away for 70 s, no signals for 2 s',
  once: true,
  run: ({ seed }) => runPostgresFaults({ seed }, [awayWithoutSignals(70_000)]),
});

faultCase(test, {
  title: 'without room: counting goes on, all is flushed once there is some',
  name: 'Postgres without room',
  run: ({ seed }) => runPostgresDiskFull(seed),
});

test.run();
