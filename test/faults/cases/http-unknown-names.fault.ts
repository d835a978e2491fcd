/**
 * Floods of unknown names on a node of either kind of store: it lives, and serves the other clients.
 * Each flood takes half a minute. Time limit: 600 s.
 */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { migrate } from '../../../storage/sql/migrate.ts';
import { openServerSql } from '../../../storage/sql/server.ts';
import { type Directory, fillDirectory } from '../../support/directory.ts';
import { makeFolder } from '../../support/folder.ts';
import { type StartedNode, startNode } from '../../support/node-process.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { startRedis } from '../../support/redis-server.ts';
import { settings } from '../harness/embedded-run.ts';
import { seed } from '../harness/fault-case.ts';
import { printFigures } from '../harness/figures.ts';
import { onServers } from '../harness/on-servers.ts';
import { makeFaultTemplate, planOn } from '../harness/plans.ts';
import { type FloodName, flood, measureVisibility } from './http-unknown-names.ts';

const test = suite('floods of unknown names');
const seconds = 30;
const names: readonly FloodName[] = ['one vanity code', 'distinct bots', 'distinct tokens'];
const sizes = { users: 30, bots: 12, servers: 3, teams: 3, packs: 3 };
const visibleMsMax = 1_000;

const floodAll = async (kind: string, node: StartedNode, directory: Directory): Promise<void> => {
  try {
    for (const name of names) {
      printFigures(`flood of ${name} on ${kind}`, await flood(name, { url: node.url, directory, seconds }));
    }
  } catch (error) {
    await node.kill();
    throw error;
  }
  const { code, signal } = await node.stop();
  assert.equal({ code, signal }, { code: 0, signal: null });
  assert.not.match(node.output(), /Z fatal /);
};

test('the embedded stores', async () => {
  const template = await makeFaultTemplate();
  const { dataDir, directory } = planOn(template, seed);
  await floodAll('the embedded stores', await startNode({ dataDir, settings }), directory);
  await template.remove();
});

test('Redis and Postgres, and a name made at one node is found at the other within a second', async () => {
  const [redis, postgres] = [await startRedis(), await startPostgres()];
  const dataDir = makeFolder('rollcall-floods-');
  const address = await postgres.database('floods');
  const { sql, close } = await openServerSql(address);
  await migrate(sql);
  const directory = await fillDirectory(sql, sizes);
  await close();
  const stores = { REDIS_URL: redis.url, DATABASE_URL: address };
  await floodAll('servers', await startNode({ dataDir, settings: { ...settings, ...stores } }), directory);
  await redis.dispose();
  await postgres.close();
  const slowestMs = await onServers({ seed: 1 }, ({ stack }) => {
    const [here, there] = stack.alive().map(({ node }) => node.url) as [string, string];
    return measureVisibility({ here, there, directory: stack.directory });
  });

  assert.ok(slowestMs < visibleMsMax, `${slowestMs} ms`);
});

test.run();
