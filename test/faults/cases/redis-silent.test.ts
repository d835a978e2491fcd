/**
 * Redis silent under an idle node, one server and a Cluster: `/readyz` notices and says which. In the fault
 * lane for more than 10 s, with limits: 503 within 3 s, and 200 within 1 s of Redis answering again.
 * Time limit: 300 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { faultCase } from '../harness/fault-case.ts';
import { runSilences, type SilenceFigures } from './redis-silent.ts';

const test = suite('redis silent');
const awayMs = { quick: 4_500, faults: 10_000 };

const assertInTime = (count: number, { noticedSecondsMax, backSecondsMax }: SilenceFigures): void => {
  if (count !== awayMs.faults) return;
  assert.ok(noticedSecondsMax <= 3, `503 after ${noticedSecondsMax} s`);
  assert.ok(backSecondsMax <= 1, `200 after ${backSecondsMax} s`);
};

for (const cluster of [false, true]) {
  const what = cluster ? 'one primary of a Cluster, which is named,' : 'Redis';
  faultCase(test, {
    title: `an idle node is not ready while ${what} hangs or is gone, says so, and is ready after`,
    name: cluster ? 'a primary hung, and killed, no traffic' : 'Redis hung, and killed, no traffic',
    counts: awayMs,
    once: true,
    run: async ({ count }) => {
      const figures = await runSilences({ awayMs: count, cluster });
      assertInTime(count, figures);
      return figures;
    },
  });
}

test.run();
