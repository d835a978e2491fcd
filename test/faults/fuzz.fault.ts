/**
 * The long run of the generated requests (test/http/fuzz): 500,000 of them, in rounds with a fresh directory
 * each, and not one undocumented reply. SEED repeats a run, REQUESTS shortens it.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fuzz } from '../http/fuzz/run.ts';
import { openWorld } from '../http/routes/world.ts';

const test = suite('fuzz, long');
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
const requests = Number(process.env.REQUESTS ?? 500_000);
const perRound = 25_000;

test(`no undocumented reply to ${requests} requests (SEED=${seed})`, async () => {
  let asked = 0;
  for (let round = 0; asked < requests; round += 1) {
    const world = await openWorld();
    try {
      const report = await fuzz(world, {
        requests: Math.min(perRound, requests - asked),
        seed: seed + round,
      });
      assert.equal(report.faults, [], `SEED=${seed + round}`);
      asked += report.requests;
    } finally {
      await world.close();
    }
  }
  console.log(`\nfigures: fuzz, requests ${asked}, undocumented replies 0, seed ${seed}`);
});

test.run();
