/**
 * What the schema chooses for a new directory: its number of shards, and the beginning of its cursors. And
 * what is refused when the stores do not agree.
 */
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { newShardCount, oldShardCount, toShard } from '../../engine/ids.ts';
import { type EmbeddedSql, openEmbeddedSql } from '../../storage/embedded/pglite.ts';
import { type LmdbStore, openLmdbStore } from '../../storage/hot/lmdb/store.ts';
import { prepareStores, readShardCount, takeShardCount } from '../../storage/shards.ts';
import { makeFolder } from '../support/folder.ts';

const test = suite('number of shards');
const folder = makeFolder('rollcall-shards-');

let databases = 0;
const openSql = async (task: (opened: EmbeddedSql) => Promise<void>): Promise<void> => {
  const opened = await openEmbeddedSql({ directory: join(folder, `sql-${++databases}`) });
  try {
    await task(opened);
  } finally {
    await opened.close();
  }
};

const openHot = (name: string): Promise<LmdbStore> =>
  openLmdbStore({ path: join(folder, name), clock: Date.now });

/** What the cursors of this directory begin with. */
const readOrigin = async (sql: EmbeddedSql['sql']): Promise<string> =>
  (await sql<{ origin: string }[]>`select origin from lineage`)[0]?.origin ?? 'none';

const messageOf = (task: Promise<unknown>): Promise<string> =>
  task.then(
    () => 'it was done',
    (error: Error) => error.message,
  );

test('a new directory has 16 shards, and cursors that name it', () =>
  openSql(async ({ sql }) => {
    const hot = await openHot('new');
    await prepareStores({ sql, hot });

    assert.equal([await readShardCount(sql), hot.countShards()], [16, 16]);
    assert.match(await readOrigin(sql), /^[0-9a-f]{8}$/);
    await hot.close();
  }));

test('a hot store with counters in another number of shards is refused; an empty one is not', async () => {
  for (const [count, other] of [
    [newShardCount, oldShardCount],
    [oldShardCount, newShardCount],
  ] as const) {
    const name = `hot-${count}`;
    const hot = await openHot(name);
    assert.equal(await hot.listShardCounts(), []);
    await takeShardCount(hot, other);
    await takeShardCount(hot, count);
    await hot.publish([{ shard: toShard(15), generation: 1 }]);
    await hot.close();

    const again = await openHot(name);
    assert.equal(await again.listShardCounts(), [count]);
    const refused = await messageOf(takeShardCount(again, other));
    assert.match(refused, `in SQL has ${other} shards, but the hot store holds counters in ${count} shards`);
    assert.is(again.countShards(), newShardCount, 'unchanged');
    await takeShardCount(again, count);
    assert.is((await again.readGenerations()).length, count);
    await again.close();
  }
});

test.run();
