/**
 * The day of `npm run bench -- day` in a minute, on each kind of stores: nothing is lost or counted twice
 * over a restart, an upgrade and month's end, and every job runs. Time limit: 600 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runDay } from '../../bench/commands/day.ts';
import { createLive } from '../../bench/report/live.ts';

const test = suite('a day');
const stop = new AbortController().signal;

for (const stores of ['embedded', 'redis'] as const) {
  test(`a day on ${stores === 'redis' ? 'Redis and Postgres' : stores}`, async () => {
    const live = createLive(process.stderr);

    const options = { stores, nodes: 2, minutes: 1, days: 1, rate: 150, seed: 1, live, stop };
    const { proof, jobs, memory } = await runDay(options);

    assert.equal(proof.lies, []);
    for (const what of ['posts', 'clicks', 'votes'] as const)
      assert.ok((proof.figures[what]?.acknowledged ?? 0) > 100, what);
    for (const { most, bytes, samples } of memory)
      assert.ok(samples.length > 5 && bytes < most, `${samples.length} looks: ${bytes} of ${most}`);
    assert.ok(jobs.declared.has('monthly_reset'));
    assert.equal(
      [...jobs.declared].filter((job) => !jobs.succeeded.has(job)),
      [],
    );
  });
}

test.run();
