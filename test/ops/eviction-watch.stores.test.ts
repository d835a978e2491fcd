/**
 * A Redis that may evict counters: refused at start, and reported when its settings change later. Uses real
 * servers, one of them a Cluster, users without the right to read settings, and a whole node at the end.
 * Time limit: 180 s.
 */
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readConfig } from '../../ops/config/config.ts';
import { start } from '../../ops/rollcall.ts';
import { createEvictionWatch } from '../../ops/watch/eviction-watch.ts';
import { openRedisStore } from '../../storage/hot/redis/store.ts';
import { openCutProxy } from '../support/cut-proxy.ts';
import { makeFolder } from '../support/folder.ts';
import { startNode } from '../support/node-process.ts';
import { untilNoNote, untilNote } from '../support/notes.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedis } from '../support/redis-server.ts';

const test = suite('eviction watch');

interface Reports {
  readonly measured: number[];
}

/** Runs `task` with a watch of the servers at these addresses. */
const withWatch = async (
  urls: readonly string[],
  task: (watch: ReturnType<typeof createEvictionWatch>, reports: Reports) => Promise<void>,
): Promise<void> => {
  const store = await openRedisStore({ urls });
  const reports: Reports = { measured: [] };
  try {
    await task(
      createEvictionWatch({
        memorySettings: store.memorySettings,
        onMeasured: (servers) => reports.measured.push(servers),
      }),
      reports,
    );
  } finally {
    await store.close();
  }
};

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => '',
    (error: Error) => error.message,
  );

const evicting = ['maxmemory 100mb', 'maxmemory-policy allkeys-lru'];

test('a node refuses to start on it, and names the setting and the remedy', async () => {
  const postgres = await startPostgres();
  const redis = await startRedis({ settings: evicting });
  const folder = makeFolder('rollcall-eviction-');
  try {
    const databaseUrl = await postgres.database('eviction');
    const message = await messageOf(
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
      message,
      /^REDIS_URL: Redis at \S+ may evict counters: maxmemory-policy is allkeys-lru and max/,
    );
    assert.match(message, /set maxmemory-policy noeviction there .*, then start again\.$/);
  } finally {
    await redis.dispose();
    await postgres.close();
  }
});

test('a policy that evicts only keys that expire is refused as well: last votes are such keys', async () => {
  const redis = await startRedis({ settings: ['maxmemory 100mb', 'maxmemory-policy volatile-ttl'] });
  try {
    await withWatch([redis.url], async (watch) => {
      assert.match(await messageOf(watch.assertNoEviction()), /maxmemory-policy is volatile-ttl/);
    });
  } finally {
    await redis.dispose();
  }
});

test('without a memory limit such a policy gives a note', async () => {
  const redis = await startRedis({ settings: ['maxmemory-policy allkeys-lru'] });
  try {
    await withWatch([redis.url], async (watch, reports) => {
      await watch.assertNoEviction();
      await watch.check();
      assert.match(watch.listNotes().join(), /would evict counters if it had a memory limit: .*noeviction/);
      assert.equal(reports.measured, [0, 0]);
    });
  } finally {
    await redis.dispose();
  }
});

test('a connection that breaks before the first check does not end the start', async () => {
  const redis = await startRedis({ settings: evicting });
  const proxy = await openCutProxy(redis.port);
  try {
    await withWatch([`redis://127.0.0.1:${proxy.port}`], async (watch) => {
      proxy.cut();
      assert.match(await messageOf(watch.assertNoEviction()), /maxmemory-policy is allkeys-lru/);
    });
  } finally {
    await proxy.close();
    await redis.dispose();
  }
});

test('after a change it gives a note and a gauge, until it is changed back', async () => {
  const redis = await startRedis({ settings: ['maxmemory 100mb'] });
  const operator = new Redis(redis.url);
  try {
    await withWatch([redis.url], async (watch, reports) => {
      await watch.assertNoEviction();
      assert.equal(watch.listNotes(), []);

      await operator.config('SET', 'maxmemory-policy', 'allkeys-lfu');
      await watch.check();
      await watch.check();
      assert.match(watch.listNotes().join(), /may evict counters: maxmemory-policy is allkeys-lfu/);

      await operator.config('SET', 'maxmemory-policy', 'noeviction');
      await watch.check();
      assert.equal(watch.listNotes(), []);
      assert.equal(reports.measured, [0, 1, 1, 0]);
    });
  } finally {
    operator.disconnect();
    await redis.dispose();
  }
});

test('without CONFIG it reads INFO and the other way round; without both it gives a note', async () => {
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
    const urlFor = (name: string): string => redis.url.replace('redis://', `redis://${name}:secret@`);
    for (const name of ['plain', 'settings']) {
      await withWatch([urlFor(name)], async (watch) => {
        assert.match(await messageOf(watch.assertNoEviction()), /maxmemory-policy is allkeys-lru/, name);
      });
    }
    await withWatch([urlFor('neither')], async (watch) => {
      await watch.assertNoEviction();
      assert.match(watch.listNotes().join(), /does not tell its maxmemory-policy/);
    });
  } finally {
    operator.disconnect();
    await redis.dispose();
  }
});

test('on a Cluster it reads every primary, and names the one that may evict', async () => {
  const cluster = await startRedisCluster();
  const third = cluster.servers[2];
  const operator = new Redis(third?.url ?? '');
  try {
    await operator.config('SET', 'maxmemory', '100mb');
    await operator.config('SET', 'maxmemory-policy', 'allkeys-random');
    await withWatch(cluster.urls, async (watch) => {
      const message = await messageOf(watch.assertNoEviction());
      assert.match(message, `Redis at 127.0.0.1:${third?.port} may evict counters`);
    });
  } finally {
    operator.disconnect();
    await cluster.dispose();
  }
});

test('a node whose Redis changes later reports it within a minute, and keeps running', async () => {
  const postgres = await startPostgres();
  const redis = await startRedis();
  const folder = makeFolder('rollcall-eviction-');
  const operator = new Redis(redis.url);
  try {
    const node = await startNode({
      dataDir: folder,
      settings: {
        REDIS_URL: redis.url,
        DATABASE_URL: await postgres.database('changed'),
        LOG_LEVEL: 'warn',
      },
    });
    try {
      const ask = async (path: string): Promise<string> => (await fetch(node.adminUrl + path)).text();
      assert.match(await ask('/metrics'), /^rollcall_redis_evicting_servers 0$/m);
      await operator.config('SET', 'maxmemory', '100mb');
      await operator.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await untilNote('redis_may_evict', node);
      assert.is((await fetch(`${node.adminUrl}/readyz`)).status, 200);
      assert.match(await ask('/metrics'), /^rollcall_redis_evicting_servers 1$/m);
      assert.match(node.output(), / error .*may evict counters/);
      await operator.config('SET', 'maxmemory', '0');
      await untilNote('redis_policy', node);
      await operator.config('SET', 'maxmemory-policy', 'noeviction');
      await untilNoNote('redis_may_evict', node);
      await untilNoNote('redis_policy', node);

      assert.match(await ask('/metrics'), /^rollcall_redis_weak_servers 0$/m);
      await operator.config('SET', 'appendfsync', 'no');
      await untilNote('redis_weak', node);
      assert.match(await ask('/metrics'), /^rollcall_redis_weak_servers 1$/m);
      assert.match(node.output(), / warn .*a confirmed write is written/);
      await operator.config('SET', 'appendfsync', 'always');
      await untilNoNote('redis_weak', node);
    } finally {
      await node.kill();
    }
  } finally {
    operator.disconnect();
    await redis.dispose();
    await postgres.close();
  }
});

test.run();
