/**
 * Sessions and signals on a Redis Cluster, where only messages invalidate caches.
 * Time limit: 240 s.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createHeartbeats } from '../../../storage/nodes/heartbeats.ts';
import { beatMs, openPubsub } from '../../../storage/nodes/pubsub.ts';
import { createRates } from '../../../storage/nodes/rates.ts';
import { startRedisCluster } from '../../support/redis-cluster.ts';
import { until } from '../../support/until.ts';
import { mintKnown, openNode, openSessionSql } from './world.ts';

const test = suite('signals on a Cluster');

const directory = await openSessionSql();
const cluster = await startRedisCluster();
const ports = cluster.servers.map(({ port }) => port);
const one = await openNode(ports, directory);
const other = await openNode(ports, directory);
test.after(async () => {
  await one.close();
  await other.close();
  await cluster.dispose();
  await directory.close();
});

const known = () => mintKnown({ one, other });

test('sessions are mirrored on all primaries, and revokes reach the other node', async () => {
  for (let round = 0; round < 10; round++) {
    const minted = await known();
    const countLookUps = other.countLookUps();
    await other.find(minted);
    assert.is(other.countLookUps(), countLookUps);

    await one.revoke(minted);

    await until('it is dead', async () => (await other.find(minted)) === null);
  }
});

test('heartbeats and rate limits work on a Cluster', async () => {
  const facts = { library: 'v1', adminUrl: '', version: '1', figures: {}, reachesSql: true };
  const beats = createHeartbeats({ commands: one.signals.commands, name: 'n1', readFacts: () => facts });

  assert.equal(await beats.sendHeartbeat(), [{ ...facts, name: 'n1' }]);

  const rates = createRates(other.signals.commands, String);
  const policy = { name: 'login', burst: 1, intervalMs: 60_000 };
  assert.ok((await rates.take(policy, 'c')).allowed);
  assert.not((await createRates(one.signals.commands, String).take(policy, 'c')).allowed);
});

test('a rest drops what depends on messages, which a Cluster may have lost meanwhile', async () => {
  const urls = cluster.servers.map(({ url }) => url);
  const resting = openPubsub({ urls, onError: () => {}, restAfterMs: 500 });
  let drops = 0;
  await until('it hears itself', () => resting.isConnected());
  resting.subscribe({ onDisconnect: () => void drops++ });

  await pause(500 + beatMs * 2);

  assert.is(drops, 1);
  resting.close();
});

test('a node recovers after a primary was replaced', async () => {
  const minted = await known();
  await cluster.failOver(0);
  await until(
    'both are trusted again and revoke',
    async () => {
      try {
        return one.signals.isConnected() && other.signals.isConnected() && (await one.revoke(minted));
      } catch {
        // Not yet: the node still uses the killed primary.
        return false;
      }
    },
    30_000,
  );

  await until('it is dead', async () => (await other.find(minted)) === null);
  const admin = new Redis(cluster.servers[1]?.url ?? '');
  assert.match(await admin.cluster('INFO'), /cluster_state:ok/);
  admin.disconnect();
});

test.run();
