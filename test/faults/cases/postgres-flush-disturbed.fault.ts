/**
 * A flusher paused across new generations, rows that SQL refuses, a full outbox. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { faultCase } from '../harness/fault-case.ts';
import { heldFlusher, outboxFull, poisonedRows, runFlushFault } from './postgres-flush-disturbed.ts';

const test = suite('flushes of several nodes');

faultCase(test, {
  title: 'paused and late over new generations: no total falls in SQL, votes have their rows once',
  name: 'flusher of one of three nodes held',
  run: ({ seed }) =>
    runFlushFault(
      { nodes: 3, seed, rounds: 4 },
      heldFlusher([
        { how: 'stop', ms: 2_400 },
        { how: 'delay', ms: 2_400 },
        { how: 'stop', ms: 10_000 },
        { how: 'delay', ms: 10_000 },
      ]),
    ),
});

faultCase(test, {
  title: 'rows that SQL can never take become dead letters, everything else is flushed',
  name: 'poisoned rows',
  run: ({ seed }) => runFlushFault({ nodes: 2, seed }, poisonedRows),
});

faultCase(test, {
  title: 'a million votes waiting: votes are refused, all else is counted, votes go on after',
  name: 'outbox full',
  once: true,
  run: ({ seed }) => runFlushFault({ nodes: 2, seed }, outboxFull),
});

test.run();
