/**
 * Followers of the feed on two nodes that are killed or restarted under load: they come back at another node,
 * and each gets every vote once or inside a gap, and in the end the totals that every reader sees. Time
 * limit: 900 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { until } from '../../support/until.ts';
import { faultCase } from '../harness/fault-case.ts';
import type { Figures } from '../harness/figures.ts';
import { onServers } from '../harness/on-servers.ts';
import type { Life, Stack } from '../harness/stack.ts';
import { acknowledged, underLoad } from '../harness/waits.ts';
import { type Follower, follow } from './feed-followers.ts';

const test = suite('feed through nodes that end');

const followersCount = 24;
const targetsEach = 3;

const startFollowers = (stack: Stack): Follower[] =>
  Array.from({ length: followersCount }, (_, index) => {
    const { bots } = stack.directory;
    const targets = Array.from(
      { length: targetsEach },
      (_, offset) => `bot/${bots[(index + offset) % bots.length]}`,
    );
    const pickUrl = (): string | null => {
      const living = stack.alive();
      return living.length === 0 ? null : (stack.random.pick(living) as Life).node.url;
    };
    return follow({ kind: index % 2 === 0 ? 'sse' : 'websocket', targets, pickUrl });
  });

/** Numbers of the votes in SQL, once all is flushed there. */
const readHeads = async ({ stores }: Stack): Promise<ReadonlyMap<string, number>> => {
  const rows = await stores.sql<{ id: string; number: number }[]>`
    select entity_id as id, votes_logged as number from totals where kind = 'bot'`;
  return new Map(rows.map(({ id, number }) => [`bot/${id}`, number]));
};

/** What followers lack, one line each. */
const listBehind = async (stack: Stack, followers: readonly Follower[]): Promise<readonly string[]> => {
  const heads = await readHeads(stack);
  const [life] = stack.alive() as [Life];
  const keys = [...new Set(followers.flatMap(({ numbers }) => [...numbers.keys()]))];
  const shown = new Map(
    await Promise.all(
      keys.map(async (key) => {
        const reply = await fetch(`${life.node.url}/bots/${key.slice('bot/'.length)}`);
        return [key, JSON.parse(await reply.text())] as const;
      }),
    ),
  );
  return followers.flatMap(({ kind, numbers, totals, lives }, index) =>
    [...numbers].flatMap(([key, number]) => {
      const { servers, votes } = shown.get(key);
      const expected = JSON.stringify([heads.get(key), servers, votes]);
      const got = JSON.stringify([number, totals.get(key)?.servers, totals.get(key)?.votes]);
      return got === expected
        ? []
        : [`${index} ${kind} ${key}: ${got}, not ${expected}, ${lives.length} connections`];
    }),
  );
};

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

interface FeedFigures extends Figures {
  readonly connections: number;
  readonly votesReceived: number;
  readonly gaps: number;
}

const run = (seed: number, rounds: number, end: 'kill' | 'stop'): Promise<FeedFigures> =>
  onServers({ seed, settings: { FEED_CONNECTIONS_PER_ADDRESS_MAX: '100' } }, async ({ stack }) => {
    const followers = startFollowers(stack);
    try {
      await underLoad(stack, 8, () => endNodes(stack, rounds, end));
      await until(
        'every follower has it all',
        async () => {
          const behind = await listBehind(stack, followers);
          if (behind.length > 0) throw new Error(behind.slice(0, 8).join('\n'));
          return true;
        },
        30_000,
      );
    } finally {
      await Promise.all(followers.map(({ stop }) => stop()));
    }
    assert.equal(
      followers.flatMap(({ faults }) => faults),
      [],
    );
    const sum = (count: (follower: Follower) => number): number =>
      followers.reduce((total, follower) => total + count(follower), 0);
    const figures = {
      connections: sum(({ lives }) => lives.length),
      votesReceived: sum(({ votes }) => votes),
      gaps: sum(({ gaps }) => gaps),
    };
    assert.ok(figures.connections > followersCount, 'some came back');
    assert.ok(figures.votesReceived > 0);
    return { ...(await stack.judge({ rounds })), ...figures };
  });

faultCase(test, {
  title: 'nodes killed under load: every follower gets each vote once or in a gap, and the last totals',
  name: 'kill -9 of nodes with followers of the feed',
  counts: { quick: 1, faults: 5 },
  run: ({ seed, count }) => run(seed, count, 'kill'),
});

faultCase(test, {
  title: 'nodes restarted under load: the same, and each says bye',
  name: 'restart of nodes with followers of the feed',
  counts: { quick: 1, faults: 4 },
  run: ({ seed, count }) => run(seed, count, 'stop'),
});

test.run();
