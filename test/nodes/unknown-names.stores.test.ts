/**
 * A name that one node did not find and another node creates: it is found at once at the node that created
 * it, and soon at the other. test/faults/unknown-names.fault.ts checks the limit of 1 s for clients, and
 * test/storage/catalogue/unknown.test.ts checks it on a simulated clock.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { measureVisibility } from '../faults/cases/http-unknown-names.ts';
import { printFigures } from '../faults/harness/figures.ts';
import { onServers } from '../faults/harness/on-servers.ts';

const test = suite('unknown names of several nodes');

test('a name that is unknown at B and created at A is found at A at once, and soon at B', () =>
  onServers({ seed: 1 }, async ({ stack }) => {
    // Until the pub/sub connections of both nodes are trusted.
    await sleep(500);
    const [here, there] = stack.alive().map(({ node }) => node.url) as [string, string];
    const slowestMsMax = await measureVisibility({ here, there, directory: stack.directory });

    printFigures('unknown at B, created at A', { slowestMsMax });
    assert.ok(slowestMsMax < 10_000);
  }));

test.run();
