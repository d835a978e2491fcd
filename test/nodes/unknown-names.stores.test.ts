/**
 * A name that one node did not find and another node creates: it is found at once at the node that created
 * it, and soon at the other. test/faults/unknown-names.fault.ts checks the limit of 1 s for clients, and
 * test/storage/catalogue/unknown.test.ts checks it on a simulated clock.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { measureVisibility } from '../faults/cases/http-unknown-names.ts';
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
    // Until the pub/sub connections of both nodes are trusted.
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
