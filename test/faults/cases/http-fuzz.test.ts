/**
 * Generated requests, valid and mutated (test/http/fuzz), in rounds with a fresh directory each: the
 * published document knows every reply. `SEED=n` repeats a run. Time limit: 1800 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openWorld } from '../../http/api/world.ts';
import { fuzz } from '../../http/fuzz/run.ts';
import { faultCase } from '../harness/fault-case.ts';

const test = suite('fuzz');
const perRound = 25_000;

faultCase(test, {
  title: 'no undocumented reply to any generated request',
  name: 'fuzz',
  counts: { quick: 20_000, faults: 100_000 },
  run: async ({ seed, count }) => {
    let requests = 0;
    for (let round = 0; requests < count; round += 1) {
      const world = await openWorld();
      try {
        const wanted = Math.min(perRound, count - requests);
        const report = await fuzz(world, { requests: wanted, seed: seed + round });
        const { 200: done = 0, 400: refused = 0 } = report.statuses;
        assert.equal(report.faults, [], `SEED=${seed + round} ${JSON.stringify(report.statuses)}`);
        assert.ok(wanted < 20_000 || (refused > 1_000 && done > 1_000), JSON.stringify(report.statuses));
        requests += report.requests;
      } finally {
        await world.close();
      }
    }
    return { requests, undocumented: 0 };
  },
});

test.run();
