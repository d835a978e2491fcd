/**
 * The connections between nodes, when one of them is forgotten by a firewall, or cannot subscribe at first.
 * Time limit: 240 s.
 */
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import { openPubsub } from '../../../storage/nodes/pubsub.ts';
import { openCutProxy } from '../../support/cut-proxy.ts';
import { startRedisCluster } from '../../support/redis-cluster.ts';
import { startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

const test = suite('connections between nodes');
const redis = await startRedis();
const cluster = await startRedisCluster();
test.after(async () => {
  await redis.dispose();
  await cluster.dispose();
});

test('connections that a firewall forgot are replaced within seconds', async () => {
  const proxy = await openCutProxy(redis.port);
  const pubsub = openPubsub({ urls: [`redis://127.0.0.1:${proxy.port}`], onError: () => {} });
  await until('it hears itself', () => pubsub.isConnected());

  proxy.forget();
  await until('it noticed', () => !pubsub.isConnected());
  await until('it hears itself again', () => pubsub.isConnected());

  pubsub.close();
  await proxy.close();
});

for (const [name, servers] of [
  ['one server', [redis]],
  ['a Cluster', cluster.servers],
] as const) {
  test(`a node that may not subscribe at first does once it may: ${name}`, async () => {
    const admins = servers.map(({ url }) => new Redis(url));
    const setChannels = (rule: string) =>
      Promise.all(admins.map((admin) => admin.call('ACL', 'SETUSER', 'default', rule)));
    let refusals = 0;
    await setChannels('resetchannels');
    const pubsub = openPubsub({
      urls: servers.map(({ url }) => url),
      onError: ({ message }) => {
        if (message.startsWith('NOPERM')) refusals += 1;
      },
    });
    await until('it is refused', () => refusals > 0);

    await setChannels('allchannels');
    await until('it hears itself', () => pubsub.isConnected());

    pubsub.close();
    for (const admin of admins) admin.disconnect();
  });
}

test.run();
