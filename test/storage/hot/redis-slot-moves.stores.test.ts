/**
 * A slot of a Cluster that was left half-moved, as by a resharding that was broken off: `/readyz` has a note
 * until the move has ended. Servers and node are the test's own.
 * Time limit: 120 s.
 */
import { Redis } from 'ioredis';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { tags } from '../../../storage/hot/redis/tags.ts';
import { makeFolder } from '../../support/folder.ts';
import { startNode } from '../../support/node-process.ts';
import { untilNoNote, untilNote } from '../../support/notes.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { startRedisCluster } from '../../support/redis-cluster.ts';
import { until } from '../../support/until.ts';

const test = suite('slots left half-moved');

const postgres = await startPostgres();
const cluster = await startRedisCluster();
const node = await startNode({
  dataDir: makeFolder('rollcall-slots-'),
  settings: {
    REDIS_URL: cluster.urls.join(),
    DATABASE_URL: await postgres.database('slots'),
    LOG_LEVEL: 'info',
  },
});
test.after(async () => {
  await node.kill();
  await cluster.dispose();
  await postgres.close();
});

const read = async (): Promise<{ status: number; notes: string }> => {
  const reply = await fetch(`${node.adminUrl}/readyz`);
  const { notes } = (await reply.json()) as { notes: readonly string[] };
  return { status: reply.status, notes: notes.join('\n') };
};
/** Half of it on a machine that is not busy. */
const noteMsMax = 30_000;
const nameOf = (index: number): string => `127.0.0.1:${cluster.servers[index]?.port}`;

test('a note names the slot, its two servers and the remedy, until the move has ended', async () => {
  const slot = await cluster.slotOf(`{s${tags[0]}}:e`);
  const from = await cluster.ownerOf(slot);
  const to = (from + 1) % 3;
  assert.not.match((await read()).notes, /slot/);

  const move = await cluster.startMove(slot, to);
  // Redis' own words, which another note may quote, are "Hash slot not served".
  await until('the note', async () => /slot \d/.test((await read()).notes), noteMsMax);

  const { status, notes } = await read();
  assert.is(status, 200, 'other slots are served');
  const moving = new RegExp(
    `^redis_slot_moving: slot ${slot} has been moving from ${nameOf(from)} to ${nameOf(to)} for \\d+ s: `,
  );
  assert.match(notes.split('\n').find((note) => note.startsWith('redis_slot')) ?? notes, moving);
  assert.match(notes, `redis-cli --cluster fix ${nameOf(from)}`);
  assert.is(notes.match(/slot \d/g)?.length, 1, 'once, though both servers report it');
  await untilNote('redis_slot_moving', node, noteMsMax);
  assert.match(node.output(), / error .*slot \d+ has been moving/);

  await move.moveKeys();
  await move.finish();
  await untilNoNote('redis_slot_moving', node, noteMsMax);
  await until('the last line', () => / info .*redis_slot_moving: over/.test(node.output()), noteMsMax);
});

test('a slot that only the new server reports as moving has a note, too', async () => {
  const admins = cluster.servers.map(({ url }) => new Redis(url));
  const slot = 5;
  await cluster.startMove(slot, 1);
  await admins[0]?.call('CLUSTER', 'SETSLOT', slot, 'STABLE');

  await until('the note', async () => /slot 5 has been moving/.test((await read()).notes), noteMsMax);

  await admins[1]?.call('CLUSTER', 'SETSLOT', slot, 'STABLE');
  await until('no note', async () => !/slot \d/.test((await read()).notes), noteMsMax);
  for (const admin of admins) admin.disconnect();
});

test.run();
