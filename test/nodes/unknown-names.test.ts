/**
 * What one node did not find and another creates: it is there at once where it was created, and soon at the
 * other. The limit of 1 s is held by test/faults/unknown-names.fault.ts, as clients see it, and by
 * test/storage/catalogue/unknown.test.ts, on a clock of its own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { measureVisibility } from '../faults/unknown-names.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { openFleet, printLine } from './fleet.ts';

const test = suite('unknown names of several nodes');
const postgres = await startPostgres();
const redis = await startRedis();
test.after(async () => {
  await redis.dispose();
  await postgres.close();
});

test('a name that is unknown at B and created at A is found at A at once, and soon at B', async () => {
  const fleet = await openFleet({ redis, postgres, name: 'unknown_names', nodes: 2, seed: 1 });
  try {
    // Until both believe what they hear of each other.
    await sleep(500);
    const [a, b] = fleet.nodes.map(({ url }) => url) as [string, string];
    const { directory } = fleet;
    const slowestMs = await measureVisibility({ here: a, there: b, directory });

    printLine(`unknown at B, created at A | slowest at B ${Math.round(slowestMs)} ms`);
    assert.ok(slowestMs < 10_000);
  } finally {
    await fleet.close();
  }
});

test.run();
