/**
 * One node together with one primary of a Redis Cluster, cut off from all others and joined again, in
 * networks of the test's own (needs root; left out, and said so, without). Time limit: 1800 s.
 */
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import { canPartition, runApart } from '../support/island.ts';
import { seed } from './plans.ts';

const test = suite('partitions of a cluster');
const program = fileURLToPath(new URL('./partition-main.ts', import.meta.url));

const plans = [
  { title: 'a cut both ways', name: 'both ways', rounds: 5 },
  { title: 'nothing gets in', name: 'into the island', rounds: 3 },
  { title: 'nothing gets out', name: 'out of the island', rounds: 3 },
  { title: 'cut and joined every fifth of a second', name: 'flapping', rounds: 3 },
] as const;

for (const { title, name, rounds } of plans) {
  test(`${title}: nothing acknowledged is lost, nothing counts twice`, async () => {
    if (canPartition()) console.log(await runApart(program, [name, String(rounds), String(seed)]));
    else console.log(`\nfigures: partition ${name} | left out: this system lets us make no network`);
  });
}

test.run();
