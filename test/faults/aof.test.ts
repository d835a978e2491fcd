/**
 * The end of Redis' append-only file torn off at a few bytes; at every one in aof.fault.ts. Time limit: 60 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runTornTails } from './aof.ts';

const test = suite('the end of the file of Redis');

test('torn at some bytes of the newest commit, it brings back all of it or nothing', async () => {
  const { offsets, none } = await runTornTails(211);

  assert.ok(offsets >= 3 && none >= 2, `${none} of ${offsets}`);
});

test.run();
