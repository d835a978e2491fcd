/**
 * Redis on a full disk, with each way to sync. Needs the right to mount. Time limit: 900 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { faultCase } from '../harness/fault-case.ts';
import { runRedisFull } from './redis-disk-full.ts';

const test = suite('redis on a full disk');

faultCase(test, {
  title: 'always: it ends until there is room, nothing is lost or doubled, and all goes on',
  name: 'Redis on a full disk, always',
  counts: { faults: 2 },
  run: async ({ seed, count }) => {
    const figures = await runRedisFull(seed, count, 'always');
    assert.ok(figures === null || figures.ended >= count, 'it ended each time');
    return figures;
  },
});

faultCase(test, {
  title: 'everysec: it refuses until there is room, nothing is lost or doubled, and all goes on',
  name: 'Redis on a full disk, everysec',
  counts: { faults: 2 },
  run: ({ seed, count }) => runRedisFull(seed, count, 'everysec'),
});

test.run();
