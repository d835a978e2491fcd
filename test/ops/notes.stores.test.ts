/**
 * Notes about rights that a node lacks, on a real node with a real Redis and Postgres: each comes, with its
 * metric and a line of the log, and goes when the right is given, without a restart.
 */
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createDriver } from '../../storage/sql/client.ts';
import { makeFolder } from '../support/folder.ts';
import { startNode } from '../support/node-process.ts';
import { untilNoNote, untilNote } from '../support/notes.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { until } from '../support/until.ts';

const test = suite('notes about rights');
/** The search is looked at once a minute. */
const searchMsMax = 120_000;

test('channels that a user of Redis may not use, and an extension that a role may not create', async () => {
  const [postgres, redis] = [await startPostgres(), await startRedis()];
  const operator = new Redis(redis.url);
  const address = await postgres.database('rights');
  const admin = createDriver(address, { max: 1 });
  await admin`create role plain login`;
  await admin`alter schema public owner to plain`;
  await operator.call('ACL', 'SETUSER', 'mute', 'on', '>secret', '~*', 'resetchannels', '+@all');
  const node = await startNode({
    dataDir: makeFolder('rollcall-rights-'),
    settings: {
      REDIS_URL: redis.url.replace('redis://', 'redis://mute:secret@'),
      DATABASE_URL: address.replace('//rollcall@', '//plain@'),
      LOG_LEVEL: 'info',
    },
  });
  try {
    await untilNote('pubsub_fails', node);
    assert.match(node.output(), / warn .*pubsub_fails: .*NOPERM.*ACL SETUSER/);
    await untilNote('search_off', node);
    assert.match(node.output(), / warn .*search_off: .*CREATE EXTENSION pg_trgm/);

    await operator.call('ACL', 'SETUSER', 'mute', '&*');
    await admin`create extension pg_trgm`;
    await untilNoNote('pubsub_fails', node);
    await untilNoNote('search_off', node, searchMsMax);
    await until('the last line', () => /search_off: over/.test(node.output()));
    assert.match(node.output(), / info .*pubsub_fails: over/);
  } finally {
    await node.kill();
    operator.disconnect();
    await admin.end();
    await redis.dispose();
    await postgres.close();
  }
});

test.run();
