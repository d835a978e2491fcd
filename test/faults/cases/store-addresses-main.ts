/**
 * The program that far-receivers.fault.ts runs in a network of its own: a node whose stores have names with
 * an address of IPv6 alone, and with a first address that never answers. Prints its figures as JSON.
 */
import { execFileSync } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import * as assert from 'uvu/assert';

import { connectSql } from '../../../storage/sql/client.ts';
import { directoryOf, fillDirectory, tokenOf } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { raiseIsland } from '../../support/island.ts';
import { startNode } from '../../support/node-process.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';

const island = await raiseIsland();
process.once('exit', island.dispose);
// Nobody has the neighbour's address, so packets to it get no answer.
execFileSync('ip', ['address', 'add', '2001:db8:78::1/64', 'dev', 'cable', 'nodad']);
const addresses = (name: string) => lookup(name, { all: true, order: 'verbatim' });
assert.equal((await addresses('half.example.org'))[0]?.address, '2001:db8:78::3', 'the dead one is first');
assert.equal(await addresses('six.example.org'), [{ address: '::1', family: 6 }]);

const sizes = { users: 2, bots: 1, servers: 0, teams: 0, packs: 0 };
const [bot = ''] = directoryOf(sizes).bots;
const figures: Record<string, number> = {};
for (const [name, host] of [
  ['six', '::1'],
  ['half', '127.0.0.1'],
] as const) {
  const postgres = await startPostgres({ settings: { listen_addresses: '127.0.0.1,::1' } });
  const redis = await startRedis({ host });
  const own = await postgres.database(name);
  const sql = connectSql(own, { connectionsMax: 1 });
  await fillDirectory(sql, sizes);
  await sql.end();
  const at = `${name}.example.org`;
  const settings = {
    REDIS_URL: `redis://${at}:${redis.port}`,
    DATABASE_URL: own.replace('127.0.0.1', at),
  };
  const startedMs = performance.now();
  const node = await startNode({ dataDir: makeFolder('rollcall-addresses-'), settings });
  figures[`${name}StartMs`] = Math.round(performance.now() - startedMs);
  const post = async (): Promise<number> => {
    const headers = { 'Bot-Auth': tokenOf('bot', bot), 'Content-Type': 'application/json' };
    return (await fetch(`${node.url}/bots/stats`, { method: 'POST', headers, body: '{"servers":3}' })).status;
  };
  assert.is(await post(), 200);
  await redis.kill();
  await postgres.stop('fast');
  await Promise.all([redis.start(), postgres.start()]);
  const backMs = performance.now();
  await until('both stores are found again', async () => {
    const ready = await fetch(`${node.adminUrl}/readyz`);
    return ready.status === 200 && (await post()) === 200;
  });
  figures[`${name}BackMs`] = Math.round(performance.now() - backMs);
  assert.is((await node.stop()).code, 0, node.output());
  await redis.dispose();
  await postgres.close();
}
console.log(JSON.stringify(figures));
process.exit();
