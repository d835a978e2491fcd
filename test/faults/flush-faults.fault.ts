/**
 * A flusher paused across new generations, rows that SQL refuses, a full outbox. Time limit: 900 s.
 */
import { suite } from 'uvu';
import { printFigures } from './figures.ts';
import { type Hold, heldFlusher, outboxFull, poisonedRows, runFlushFault } from './flush-faults.ts';
import { seed } from './plans.ts';

const test = suite('flushes of several nodes');

test('paused and late over new generations: no total falls in SQL, votes have their rows once', async () => {
  const holds = Array.from(
    { length: 10 },
    (_, index): Hold => ({ how: index % 2 === 0 ? 'stop' : 'delay', ms: index % 5 === 4 ? 10_000 : 2_400 }),
  );
  const figures = await runFlushFault({ nodes: 3, seed, rounds: holds.length }, heldFlusher(holds));
  printFigures(`flusher of one of three nodes held (seed ${seed})`, figures);
});

test('rows that SQL can never take become dead letters, everything else is flushed', async () => {
  printFigures(`poisoned rows (seed ${seed})`, await runFlushFault({ nodes: 2, seed }, poisonedRows));
});

test('a million votes waiting: votes are refused, all else is counted, votes go on after', async () => {
  printFigures(`outbox full (seed ${seed})`, await runFlushFault({ nodes: 2, seed }, outboxFull));
});

test.run();
