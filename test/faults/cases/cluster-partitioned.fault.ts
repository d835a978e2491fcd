/**
 * One node together with one primary of a Redis Cluster, cut off from all others and joined again, in
 * networks of the test's own (needs root). Time limit: 1800 s.
 */
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import { canPartition, runApart } from '../../support/island.ts';
import { faultCase, skip } from '../harness/fault-case.ts';
import type { ClusterFigures } from './on-cluster.ts';

const test = suite('partitions of a cluster');
const program = fileURLToPath(new URL('./cluster-partitioned-main.ts', import.meta.url));

const plans = [
  { title: 'a cut both ways', fault: 'both ways', rounds: 2 },
  { title: 'nothing gets in', fault: 'into the island', rounds: 1 },
  { title: 'nothing gets out', fault: 'out of the island', rounds: 1 },
  { title: 'cut and joined every fifth of a second', fault: 'flapping', rounds: 1 },
] as const;

for (const { title, fault, rounds } of plans) {
  const name = `partition ${fault}`;
  faultCase<ClusterFigures>(test, {
    title: `${title}: nothing acknowledged is lost, nothing counts twice`,
    name,
    counts: { faults: rounds },
    run: async ({ seed, count }) => {
      if (!canPartition()) return skip(name, 'this system lets us make no network');
      return JSON.parse(await runApart(program, [fault, String(count), String(seed)])) as ClusterFigures;
    },
  });
}

test.run();
