/**
 * The URL of a listener, as seen from the same machine, and the stores of the start message.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findPortFault } from '../../http/server/listen-fault.ts';
import { describeStores, formatAddress } from '../../ops/config/addresses.ts';

const test = suite('addresses of listeners');

for (const [listenHost, address] of [
  ['127.0.0.1', 'http://127.0.0.1:8080'],
  ['0.0.0.0', 'http://127.0.0.1:8080'],
  ['::', 'http://[::1]:8080'],
  ['::1', 'http://[::1]:8080'],
  ['10.0.0.7', 'http://10.0.0.7:8080'],
  ['localhost', 'http://localhost:8080'],
] as const) {
  test(`a listener on ${listenHost} is reachable at ${address}`, () => {
    assert.is(formatAddress(listenHost, 8_080), address);
  });
}

test('embedded stores are described by their folder', () => {
  const config = { redisUrl: [], databaseUrl: '', dataDir: './data' };

  assert.equal(describeStores(config, []), [['Data', './data']]);
});

test('shared stores are described by their addresses, without secrets, and by the other live nodes', () => {
  const config = {
    redisUrl: ['redis://user:secret@a:6379', 'rediss://b:6380/?password=sec@ret'],
    databaseUrl: 'postgres://rollcall:secret@db:5432/rollcall?password=secret',
    dataDir: './data',
  };

  assert.equal(describeStores(config, ['node2.8080', 'node3.8080']), [
    ['Redis', 'redis://a:6379, rediss://b:6380'],
    ['Postgres', 'postgres://db:5432/rollcall'],
    ['Other nodes', 'node2.8080, node3.8080'],
  ]);
  const unusual = { ...config, databaseUrl: 'postgres://a:b@c/s?e@d:5432,e:5432/rollcall' };
  assert.equal(describeStores(unusual, []).slice(1), [
    ['Postgres', 'postgres://d:5432,e:5432/rollcall'],
    ['Other nodes', 'none'],
  ]);
});

test('an address of another machine is named with its setting', async () => {
  const fault = await findPortFault({ host: '192.0.2.1', port: 0, setting: 'ADMIN_PORT' });

  assert.match(fault?.message ?? '', /^ADMIN_HOST is 192\.0\.2\.1, which is not an address of this machine/);
});

test.run();
