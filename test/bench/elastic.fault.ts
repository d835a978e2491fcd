/**
 * A Redis Cluster that grows and shrinks, and nodes that come and go, under load: `elastic` run small.
 * Nothing is lost or counted twice, and no shard is silent for long while its slot moves. Time limit: 600 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { runElastic } from '../../bench/commands/elastic.ts';
import { createLive } from '../../bench/report/live.ts';
import { seed } from '../faults/harness/fault-case.ts';
import { printFigures, round } from '../faults/harness/figures.ts';

const test = suite('elastic');

test('primaries 3 to 4 to 3 and nodes 1 to 3 to 1: nothing is lost, nothing counts twice', async () => {
  const live = createLive(process.stderr);
  const stop = new AbortController().signal;
  const given = { rate: 300, nodes: 3, listings: 500, seconds: 1, seed };

  const { proof, stages, silences } = await runElastic(given, { live, stop });

  assert.equal(proof.lies, [], `seed ${seed}`);
  assert.is(stages.length, 4);
  assert.is(silences.length, 8, 'a quarter of 16 shards moves, and moves back');
  const silenceSecondsMax = round(Math.max(...silences.map(({ silenceMs }) => silenceMs)) / 1_000);
  assert.ok(silenceSecondsMax < 1, `a shard was silent for ${silenceSecondsMax} s`);
  const acked = Object.values(proof.figures).reduce((sum, kind) => sum + (kind?.acknowledged ?? 0), 0);
  printFigures('elastic', { acked, lost: 0, doubled: 0, rounds: 1, silenceSecondsMax });
});

test.run();
