/**
 * Followers of the feed on two nodes that are killed or restarted under load: they come back at another node,
 * and each gets every vote once or inside a gap, and in the end the totals that every reader sees. Time
 * limit: 900 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { countOf, faultCase, type Share } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { onServers } from '../harness/on-servers.ts';
import type { Life, Stack } from '../harness/stack.ts';
import { acknowledged, underLoad } from '../harness/waits.ts';
import { type FollowerFigures, withFollowers } from './feed-followers.ts';

const test = suite('feed through nodes that end');

/** In the fault group, and in `npm test`. */
const followers = { many: 1_000, few: 24 };

const endNodes = async (stack: Stack, rounds: number, end: 'kill' | 'stop'): Promise<void> => {
  const { log, random } = stack;
  for (let round = 0; round < rounds; round++) {
    await acknowledged(log, 100 + random.below(100));
    const life = random.pick(stack.alive()) as Life;
    if (end === 'kill') await stack.kill(life);
    else {
      life.alive = false;
      assert.is((await life.node.stop()).code, 0);
    }
    await acknowledged(log, 50);
    await stack.open();
  }
  await acknowledged(log, 100);
};

const run = ({ seed, count: rounds }: Share, end: 'kill' | 'stop'): Promise<Figures & FollowerFigures> =>
  onServers({ seed }, async ({ stack }) => {
    const count = countOf({ quick: followers.few, faults: followers.many });
    const figures = await withFollowers(stack, { count }, () =>
      underLoad(stack, 8, () => endNodes(stack, rounds, end)),
    );
    assert.ok(figures.connections > count, 'some came back');
    return { ...(await stack.judge({ rounds })), ...figures };
  });

faultCase(test, {
  title: 'nodes killed under load: every follower gets each vote once or in a gap, and the last totals',
  name: 'kill -9 of nodes with followers of the feed',
  counts: { quick: 1, faults: 5 },
  run: (share) => run(share, 'kill'),
});

faultCase(test, {
  title: 'nodes restarted under load: the same, and each says bye',
  name: 'restart of nodes with followers of the feed',
  counts: { quick: 1, faults: 4 },
  run: (share) => run(share, 'stop'),
});

test.run();
