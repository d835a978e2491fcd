/**
 * Sends 20,000 generated requests, valid and mutated: the published document knows every reply.
 * The long run is test/faults/fuzz.fault.ts. Time limit: 400 s, for machines that are busy with other work.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fuzz } from './fuzz/run.ts';
import { openWorld } from './routes/world.ts';

const test = suite('fuzz');
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));

test(`no undocumented reply to 20,000 requests (SEED=${seed})`, async () => {
  const world = await openWorld();
  try {
    const report = await fuzz(world, { requests: 20_000, seed });

    assert.equal(report.faults, [], `SEED=${seed} ${JSON.stringify(report.statuses)}`);
    const refused = report.statuses[400] ?? 0;
    assert.ok(refused > 1_000 && (report.statuses[200] ?? 0) > 1_000, JSON.stringify(report.statuses));
  } finally {
    await world.close();
  }
});

test.run();
