/**
 * Slow clients, 48 in six kinds: others are served meanwhile, and in the end the server closes them all.
 * Those that read nothing are closed after a minute, by the clock of test/http/server/unsent.test.ts. Time
 * limit: 120 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ask, openWorld } from '../world.ts';
import { openSlowClients, slowKinds } from './slow-clients.ts';

const test = suite('slow clients');
const perKind = 8;
/** The server takes about 12 s; this is for machines that are busy with other work. */
const closedWithinMs = 60_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test('slow clients are closed, and no other client waits for them', async () => {
  const world = await openWorld();
  const kinds = slowKinds('/things/@stream?pieces=1000000', '/echo').filter(({ deaf }) => deaf !== true);
  const slow = openSlowClients(world.port, kinds, perKind);
  try {
    await slow.connected;
    const untilMs = performance.now() + closedWithinMs;
    let served = 0;
    while (slow.open() > 0 && performance.now() < untilMs) {
      assert.is((await ask(world, 'GET', '/things/a')).status, 200);
      served += 1;
      await pause(100);
    }

    assert.ok(served > 0);
    assert.is(slow.open(), 0);
  } finally {
    slow.close();
    await world.close();
  }
});

test.run();
