/**
 * The file that Redis writes every change to, damaged while Redis is down: its end cut off at every byte of
 * the newest commit, and single bits turned anywhere.
 *
 * A digest of all data tells which state Redis came back with. Time limit: 900 s.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRandom } from '../../../bench/shared/random.ts';
import type { Batch, Item } from '../../../engine/entity/items.ts';
import { openRedisStore } from '../../../storage/hot/redis/store.ts';
import { assertIncludes } from '../../support/assert-includes.ts';
import { botsIn, initOf, publishAll, rules } from '../../support/redis-load.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { faultCase } from '../harness/fault-case.ts';

const test = suite('the file of Redis');

interface TruncatedFigures {
  readonly offsets: number;
  /** Came back with the whole newest commit, and without any of it. */
  readonly whole: number;
  readonly none: number;
}
interface FlippedFigures {
  readonly flips: number;
  /** Redis does not start on it. */
  readonly refused: number;
  readonly harmless: number;
  /** The newest commits are gone: the file was cut where it made no sense. */
  readonly cut: number;
  /** Other data, and nothing says so. */
  readonly silent: number;
}

interface World {
  readonly server: RedisServer;
  readonly path: string;
  /** The file after every commit but the last, and after the last. */
  readonly lengths: readonly number[];
  readonly digests: readonly string[];
  readonly bytes: Buffer;
}

const bots = botsIn(3);
const commits = 12;

/** What one tick of a busy node commits: three shards, every kind of change. */
const batchesOf = (round: number): readonly Batch[] =>
  bots.map((target, index) => {
    const atMs = Date.now();
    const itags = [0, 1].map((place) => `itag-${round}-${index}-${place}`);
    const items: Item[] = [
      { kind: 'stats', target, atMs, servers: String(round), shards: '2', users: '18446744073709552000' },
      { kind: 'click', target, visitor: `${round}` },
      { kind: 'invite', target },
      { kind: 'vote', target, user: `${round}`, upvote: true, atMs, itags },
    ];
    return { shard: target.shard, producer: 'p', sequence: round, items };
  });

const withFile = async <Result>(use: (world: World) => Promise<Result>): Promise<Result> => {
  const server = await startRedis({ settings: ['enable-debug-command local'] });
  try {
    const folder = join(server.folder, 'appendonlydir');
    const store = await openRedisStore({ urls: [server.url] });
    await publishAll(store);
    const inits = bots.map((target) => ({
      shard: target.shard,
      producer: 'p',
      sequence: 1,
      items: [initOf(target)],
    }));
    await store.commit(inits, rules);
    const name = readdirSync(folder).find((one) => one.endsWith('.incr.aof')) as string;
    const path = join(folder, name);
    const lengths: number[] = [];
    const digests: string[] = [];
    for (let round = 2; round < commits + 2; round++) {
      lengths.push(readFileSync(path).length);
      digests.push(await digestOf(server));
      const replies = await store.commit(batchesOf(round), rules);
      assert.equal(
        replies.filter(({ outcome }) => outcome !== 'applied'),
        [],
      );
    }
    const bytes = readFileSync(path);
    lengths.push(bytes.length);
    digests.push(await digestOf(server));
    await store.close();
    await server.kill();
    return await use({ server, path, lengths, digests, bytes });
  } finally {
    await server.dispose();
  }
};

const digestOf = async ({ url }: RedisServer): Promise<string> => {
  const redis = new Redis(url);
  try {
    return (await redis.call('DEBUG', 'DIGEST')) as string;
  } finally {
    redis.disconnect();
  }
};

/** The state Redis comes back with from these bytes; `null` when it refuses to. */
const stateFrom = async ({ server, path }: World, bytes: Buffer): Promise<string | null> => {
  writeFileSync(path, bytes);
  try {
    await server.start();
  } catch (error) {
    if (!(error as Error).message.includes('did not start')) throw error;
    await server.kill();
    return null;
  }
  const digest = await digestOf(server);
  await server.kill();
  return digest;
};

/** Cuts the end off at every `step`th byte of the newest commit. */
const runTruncated = (step: number): Promise<TruncatedFigures> =>
  withFile(async (world) => {
    const { bytes, lengths, digests } = world;
    const [before, after] = digests.slice(-2);
    let [whole, none] = [0, 0];
    for (let length = lengths.at(-2) as number; length <= bytes.length; length += step) {
      const found = await stateFrom(world, bytes.subarray(0, length));
      assertIncludes([before, after], found, `half a commit at byte ${length} of ${bytes.length}`);
      if (found === after) whole += 1;
      else none += 1;
    }
    return { offsets: whole + none, whole, none };
  });

/** Turns one bit at a time, at random places of the commits. */
const runFlippedBits = (flips: number, seed: number): Promise<FlippedFigures> =>
  withFile(async (world) => {
    const { bytes, lengths, digests } = world;
    const random = createRandom(seed);
    const from = lengths[0] as number;
    const counts = { refused: 0, harmless: 0, cut: 0, silent: 0 };
    for (let flip = 0; flip < flips; flip++) {
      const flipped = Buffer.from(bytes);
      const at = from + random.below(bytes.length - from);
      flipped[at] = (flipped[at] as number) ^ (1 << random.below(8));
      const found = await stateFrom(world, flipped);
      if (found === null) counts.refused += 1;
      else if (found === digests.at(-1)) counts.harmless += 1;
      else if (digests.includes(found)) counts.cut += 1;
      else counts.silent += 1;
    }
    return { flips, ...counts };
  });

faultCase(test, {
  title: 'cut at any byte of the newest commit it brings back all of it or nothing',
  name: 'append-only file cut',
  // Bytes from one cut to the next.
  counts: { quick: 211, faults: 1 },
  once: true,
  run: async ({ count }) => {
    const figures = await runTruncated(count);
    const { offsets, none, whole } = figures;
    const enough = count === 1 ? none > 100 && whole > 0 : offsets >= 3 && none >= 2;
    assert.ok(enough, JSON.stringify(figures));
    return figures;
  },
});

faultCase(test, {
  // What is promised is little: the figure says how little.
  title: 'with one bit flipped it may bring back other data without a message',
  name: 'one bit flipped',
  counts: { faults: 34 },
  run: ({ seed, count }) => runFlippedBits(count, seed),
});

test.run();
