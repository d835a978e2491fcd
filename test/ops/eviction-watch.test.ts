/**
 * A Redis that may evict counters: refused at start, and noted when it is changed under way. Real servers,
 * one of them a Cluster; users who may not ask for settings; and a whole node at the end.
 * Time limit: 180 s.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../ops/config.ts';
import { createEvictionWatch } from '../../ops/eviction-watch.ts';
import { start } from '../../ops/rollcall.ts';
import { openRedisStore } from '../../storage/hot/redis/store.ts';
import { until } from '../faults/stack.ts';
import { startNode } from '../support/node-process.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedis } from '../support/redis-server.ts';

const test = suite('eviction watch');

interface Seen {
  readonly measured: number[];
  readonly lines: string[];
}

/** A watch over the servers at these addresses. */
const onStore = async (
  urls: readonly string[],
  task: (watch: ReturnType<typeof createEvictionWatch>, seen: Seen) => Promise<void>,
): Promise<void> => {
  const store = await openRedisStore({ urls });
  const seen: Seen = { measured: [], lines: [] };
  const line = (level: string) => (words: string) => void seen.lines.push(`${level}: ${words}`);
  try {
    await task(
      createEvictionWatch({
        memorySettings: store.memorySettings,
        onMeasured: (servers) => seen.measured.push(servers),
        log: { error: line('error'), warn: line('warn'), info: line('info') },
      }),
      seen,
    );
  } finally {
    await store.close();
  }
};

const rejected = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => '',
    (error: Error) => error.message,
  );

const evicting = ['maxmemory 100mb', 'maxmemory-policy allkeys-lru'];

test('a node refuses to start on it, and names the setting and the cure', async () => {
  const postgres = await startPostgres();
  const redis = await startRedis({ settings: evicting });
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-eviction-'));
  try {
    const databaseUrl = await postgres.database('eviction');
    const words = await rejected(
      start(
        readConfig({
          REDIS_URL: redis.url,
          DATABASE_URL: databaseUrl,
          DATA_DIR: folder,
          PORT: '0',
          ADMIN_PORT: '0',
          LOG_LEVEL: 'silent',
        }),
      ).then((running) => running.stop()),
    );
    assert.match(
      words,
      /^REDIS_URL: Redis at \S+ may evict counters: maxmemory-policy is allkeys-lru and max/,
    );
    assert.match(words, /set maxmemory-policy noeviction there .*, then start again\.$/);
  } finally {
    await redis.dispose();
    await postgres.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a policy that evicts only keys that expire is refused as well: last votes are such keys', async () => {
  const redis = await startRedis({ settings: ['maxmemory 100mb', 'maxmemory-policy volatile-ttl'] });
  try {
    await onStore([redis.url], async (watch) => {
      assert.match(await rejected(watch.assertNoEviction()), /maxmemory-policy is volatile-ttl/);
    });
  } finally {
    await redis.dispose();
  }
});

test('without a limit of memory such a policy is a note and a line of the log', async () => {
  const redis = await startRedis({ settings: ['maxmemory-policy allkeys-lru'] });
  try {
    await onStore([redis.url], async (watch, seen) => {
      await watch.assertNoEviction();
      await watch.check();
      assert.match(watch.listNotes().join(), /would evict counters if it had a memory limit: .*noeviction/);
      assert.is(seen.lines.length, 1);
      assert.match(seen.lines[0] ?? '', /^warn: /);
      assert.equal(seen.measured, [0, 0]);
    });
  } finally {
    await redis.dispose();
  }
});

test('changed under way it is a note, one line of the log and a gauge, until changed back', async () => {
  const redis = await startRedis({ settings: ['maxmemory 100mb'] });
  const operator = new Redis(redis.url);
  try {
    await onStore([redis.url], async (watch, seen) => {
      await watch.assertNoEviction();
      assert.equal([watch.listNotes(), seen.lines], [[], []]);

      await operator.config('SET', 'maxmemory-policy', 'allkeys-lfu');
      await watch.check();
      await watch.check();
      assert.match(watch.listNotes().join(), /may evict counters: maxmemory-policy is allkeys-lfu/);
      assert.is(seen.lines.length, 1);
      assert.match(seen.lines[0] ?? '', /^error: .*allkeys-lfu/);

      await operator.config('SET', 'maxmemory-policy', 'noeviction');
      await watch.check();
      assert.equal(watch.listNotes(), []);
      assert.match(seen.lines[1] ?? '', /^info: /);
      assert.equal(seen.measured, [0, 1, 1, 0]);
    });
  } finally {
    operator.disconnect();
    await redis.dispose();
  }
});

test('where CONFIG is refused INFO tells, and the other way round; where both are, a note does', async () => {
  const redis = await startRedis({ settings: evicting });
  const operator = new Redis(redis.url);
  try {
    for (const [name, ...refused] of [
      ['plain', '-config'],
      ['settings', '-info'],
      ['neither', '-config', '-info'],
    ]) {
      await operator.call('ACL', 'SETUSER', name ?? '', 'on', '>secret', '~*', '&*', '+@all', ...refused);
    }
    const as = (name: string): string => redis.url.replace('redis://', `redis://${name}:secret@`);
    for (const name of ['plain', 'settings']) {
      await onStore([as(name)], async (watch) => {
        assert.match(await rejected(watch.assertNoEviction()), /maxmemory-policy is allkeys-lru/, name);
      });
    }
    await onStore([as('neither')], async (watch) => {
      await watch.assertNoEviction();
      assert.match(watch.listNotes().join(), /does not tell its maxmemory-policy/);
    });
  } finally {
    operator.disconnect();
    await redis.dispose();
  }
});

test('of a Cluster every primary is asked, and the one that may evict is named', async () => {
  const cluster = await startRedisCluster();
  const third = cluster.servers[2];
  const operator = new Redis(third?.url ?? '');
  try {
    await operator.config('SET', 'maxmemory', '100mb');
    await operator.config('SET', 'maxmemory-policy', 'allkeys-random');
    await onStore(cluster.urls, async (watch) => {
      const words = await rejected(watch.assertNoEviction());
      assert.match(words, `Redis at 127.0.0.1:${third?.port} may evict counters`);
    });
  } finally {
    operator.disconnect();
    await cluster.dispose();
  }
});

test('a node whose Redis is changed under way says so within a minute, and goes on', async () => {
  const postgres = await startPostgres();
  const redis = await startRedis();
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-eviction-'));
  const operator = new Redis(redis.url);
  try {
    const node = await startNode({
      dataDir: folder,
      settings: { REDIS_URL: redis.url, DATABASE_URL: await postgres.database('changed') },
    });
    try {
      const ask = async (path: string): Promise<string> => (await fetch(node.adminUrl + path)).text();
      assert.match(await ask('/metrics'), /^rollcall_redis_evicting_servers 0$/m);
      await operator.config('SET', 'maxmemory', '100mb');
      await operator.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await until('the note', async () => /may evict counters/.test(await ask('/readyz')));
      assert.is((await fetch(`${node.adminUrl}/readyz`)).status, 200);
      assert.match(await ask('/metrics'), /^rollcall_redis_evicting_servers 1$/m);
      assert.match(node.output(), /"level":50.*may evict counters/);
    } finally {
      await node.kill();
    }
  } finally {
    operator.disconnect();
    await redis.dispose();
    await postgres.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test.run();
